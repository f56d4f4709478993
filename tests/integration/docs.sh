#!/bin/bash
# Console blocks of the documentation are executed: each ```console block of README.md and docs/*.md that begins with
# "$ " lines is run line by line against a running quickstart; a line that follows must appear in the output,
# where "…" stands for anything. Blocks marked ```console skip are shown only.
#   tests/integration/docs.sh BUILD_DIR
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: docs.sh BUILD_DIR}" && pwd)
state=$(mktemp -d)/state
chmod 755 "$(dirname "$state")"
trap '"$top/deploy/quickstart.sh" --purge --state "$state" >/dev/null 2>&1 || true; rm -rf "$(dirname "$state")"' EXIT
"$top/deploy/quickstart.sh" --state "$state" --build "$build" </dev/null >"$(dirname "$state")/up.log" 2>&1 || { tail -n 20 "$(dirname "$state")/up.log"; exit 1; }
HELIO_BROKER=$(cat "$state/client/url") HELIO_TOKEN_FILE=$state/client/token PATH="$state/bin:$PATH" NO_COLOR=1 \
  python3 - "$top" <<'PY'
import os, re, subprocess, sys, glob
top = sys.argv[1]
os.chdir(top)
ran = faults = 0
for path in ["README.md"] + sorted(glob.glob("docs/*.md")):
    for block in re.findall(r"^```console\n(.*?)^```", open(path).read(), re.M | re.S):
        command, expected = None, []
        steps = []
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps and line.strip():
                steps[-1][1].append(line.rstrip())
        for command, expected in steps:
            done = subprocess.run(["bash", "-c", command], text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
            ran += 1
            for want in expected:
                pattern = ".*".join(re.escape(" ".join(part.split())) for part in want.split("…"))
                if not any(re.search(pattern, " ".join(line.split())) for line in done.stdout.splitlines()):
                    faults += 1
                    print(f"{path}: `{command}` does not print: {want}\n--- it prints:\n{done.stdout[:1500]}")
                    break
print(f"{ran} commands of the documentation, {faults} faults")
sys.exit(1 if faults or not ran else 0)
PY
