#!/usr/bin/python3 -P
"""Reads every source as a compiler would and generates no code: what the compiler warns of is an error.

    tests/warnings.py --build build-clang    a build tree that was configured with -DHELIO_WERROR=ON, and need not be built
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ARGUMENTS_WITH_A_FILE = {"-o", "-MF", "-MT"}


def reading(command):
    """The command line without what writes files, and without a cache of compiled objects before it."""
    words, out = iter(shlex.split(command)), []
    for word in words:
        if word in ARGUMENTS_WITH_A_FILE:
            next(words)
        elif word != "-MD" and not (not out and os.path.basename(word) == "ccache"):
            out.append(word)
    return [*out, "-fsyntax-only"]


def commands(build):
    """Every source of the tree once for each set of settings; seeded bugs are not read."""
    found = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if "-DHELIO_MUTANT_" not in entry["command"] and not pathlib.Path(entry["file"]).is_relative_to(build.resolve()):
            found.add((entry["directory"], tuple(reading(entry["command"]))))
    return sorted(found)


def read(command):
    directory, words = command
    done = subprocess.run(words, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="FOLDER")
    args = parser.parse_args()
    todo = commands(args.build)
    if not todo:
        sys.exit(f"{args.build}/compile_commands.json names no source: configure it with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, output in pool.map(read, todo):
            failed += status != 0
            sys.stdout.write(output)
    print(f"{len(todo)} sources were read, {failed} with warnings")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
