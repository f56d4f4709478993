#!/usr/bin/env python3
"""coverage.py -- lists functions by the lines that no test reached, from a tree that was built with --coverage and then tested.

    coverage.py BUILD [FOLDER…]             one line for each function: lines and branches not reached, and their total
    coverage.py --lines BUILD [FOLDER…]     the lines themselves

A reached line is not necessarily a tested line: the list has code whose faults no test can detect, and no more."""
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def reports(build):
    """The output of gcov for each object file, executed or not."""
    notes = sorted(path.resolve() for path in build.rglob("*.gcno") if "/tests/" not in str(path.relative_to(build)))
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(notes), 64):
            subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--hash-filenames", *notes[at:at + 64]], cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            for path in pathlib.Path(folder).glob("*.gz"):
                yield json.loads(gzip.decompress(path.read_bytes()))
                path.unlink()


def join(build, folders):
    """(file, function) -> {line: [times reached, branches, branches not taken]}; a header counts once."""
    found = collections.defaultdict(dict)
    for report in reports(build):
        for file in report["files"]:
            path = (pathlib.Path(report["current_working_directory"]) / file["file"]).resolve()
            if not path.is_relative_to(ROOT) or not any(path.is_relative_to(ROOT / folder) for folder in folders):
                continue
            for line in file["lines"]:
                taken = [branch["count"] > 0 for branch in line["branches"]]
                at = found[str(path.relative_to(ROOT)), line.get("function_name", "")].setdefault(line["line_number"], [0, taken])
                at[0] += line["count"]
                at[1] = [a or b for a, b in zip(at[1], taken)]
    return found


def main():
    words = [word for word in sys.argv[1:] if word != "--lines"]
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    folders = words[1:] or ["federation", "broker", "site-agent", "client", "simulator"]
    rows = []
    for (file, function), lines in join(pathlib.Path(words[0]), folders).items():
        missed = sorted(number for number, (count, _) in lines.items() if not count)
        branches = [taken for _, branch in lines.values() for taken in branch]
        rows.append((len(missed), branches.count(False), len(lines), len(branches), f"{file}:{min(lines)}", function, file, missed))
    for row in sorted(rows, key=lambda row: (-row[0], -row[1], row[4])):
        if not row[0] and not row[1]:
            continue
        print("%4d of %4d lines, %4d of %4d branches  %s %s" % (row[0], row[2], row[1], row[3], row[4], row[5]))
        text = (ROOT / row[6]).read_text().splitlines() if "--lines" in sys.argv else []
        for number in row[7] if text else []:
            print(f"    {number:5d} {text[number - 1]}")
    print("%d of %d lines, %d of %d branches were not reached" % tuple(sum(row[i] for row in rows) for i in (0, 2, 1, 3)))


if __name__ == "__main__":
    main()
