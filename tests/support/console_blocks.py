#!/usr/bin/env python3
"""Runs the console blocks of documents, so that what they show stays true.

    tests/support/console_blocks.py [--in DIR] [--replace FROM=TO]… FILE…

A ```console block's lines that begin with "$ " are commands, run in order by bash in DIR; a line that follows one must
appear in its output, where "…" stands for anything. "$ command &" runs on until the end of the document. Blocks marked
```console skip are shown only. A block ```LANGUAGE FILE with a file's name is written to DIR/FILE first. --replace puts
what a test has in the place of what a reader would have (paths, addresses), in commands, files and expectations.
"""
import argparse, os, re, signal, subprocess, sys

parser = argparse.ArgumentParser()
parser.add_argument("--in", dest="folder", default=".")
parser.add_argument("--replace", action="append", default=[])
parser.add_argument("files", nargs="+")
args = parser.parse_args()
replacements = [pair.split("=", 1) for pair in args.replace]


def placed(text):
    for old, new in replacements:
        text = text.replace(old, new)
    return text


def steps_of(block):
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and line.strip():
            steps[-1][1].append(line.rstrip())
    return steps


def missing(expected, output):
    """The first expected line that no line of the output matches; None when all do."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    for want in expected:
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in want.split("…"))
        if not any(re.search(pattern, line) for line in lines):
            return want
    return None


ran = faults = 0
for path in args.files:
    behind = []
    for head, block in re.findall(r"^```([^\n]*)\n(.*?)^```", placed(open(path).read()), re.M | re.S):
        words = head.split()
        if len(words) == 2 and words[0] != "console":
            with open(os.path.join(args.folder, words[1]), "w") as f:
                f.write(block)
        for command, expected in steps_of(block) if words == ["console"] else []:
            ran += 1
            if command.endswith("&"):
                log = open(os.path.join(args.folder, f"background-{len(behind)}.log"), "w+")
                behind.append(subprocess.Popen(["bash", "-c", "exec " + command[:-1]], cwd=args.folder, stdin=subprocess.DEVNULL,
                                               stdout=log, stderr=subprocess.STDOUT, start_new_session=True))
                continue
            done = subprocess.run(["bash", "-c", command], text=True, cwd=args.folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
            want = missing(expected, done.stdout)
            if want is not None:
                faults += 1
                print(f"{path}: `{command}` does not print: {want}\n--- it prints:\n{done.stdout[:3000]}")
    for process in behind:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
print(f"{ran} commands of the documentation, {faults} faults")
sys.exit(1 if faults or not ran else 0)
