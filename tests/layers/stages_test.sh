#!/bin/bash
# Tests tests/stages.sh: a failure counts as failed, and everything that is skipped is in the closing lines with its reason.
set -u
# shellcheck source=tests/stages.sh
. "$(dirname "$0")/../stages.sh"
trap 'rm -rf "$logs"' EXIT
good() { echo "all is well"; }
partly() { echo "SKIPPED: a small disk: only root can mount one"; echo "the rest holds"; }
absent() { echo "SKIPPED: Slurm is not installed"; return 77; }
wordless() { return 77; }
broken() { echo "FAULT: something"; return 1; }
units() {
  printf '%s\n' '[==========] Running 3 test(s).' '[ RUN      ] one' '[       OK ] one' '[ RUN      ] two' \
    'SKIPPED: no time zones here' '[  SKIPPED ] two' '[ RUN      ] three' '[  SKIPPED ] three' '[==========] 3 test(s) run.' \
    '[  PASSED  ] 1 test(s).' '[  SKIPPED ] 2 test(s), listed below:' '[  SKIPPED ] two' >"$logs/ctest"
  skipped_cases "$logs/ctest"
  echo "100% tests passed"
}
run() { for name in good partly absent wordless units "$@"; do perform "$name" "$name"; verdict "$name"; done; closing_line; }
expect() { grep -qxE "$1" "$2" || { echo "the closing lines do not have: $1"; cat "$2"; exit 1; }; }

out=$(mktemp)
(logs=$(mktemp -d); run) >"$out" || { echo "a run without failures fails"; cat "$out"; exit 1; }
expect 'ok +partly +[0-9]+ s +[0-9]+ cpu  the rest holds' "$out"
expect 'skipped: partly: a small disk: only root can mount one' "$out"
expect 'skipped: absent: Slurm is not installed' "$out"
expect 'skipped: wordless: it does not say why' "$out"
expect 'skipped: units: two: no time zones here' "$out"
expect 'skipped: units: three: it does not say why' "$out"
expect '3 passed, 0 failed, 5 skipped' "$out"
if (logs=$(mktemp -d); run broken) >"$out"; then echo "a run with a failure passes"; exit 1; fi
expect 'failed: broken; logs in .*' "$out"
expect '    \| FAULT: something' "$out"
expect '3 passed, 1 failed, 5 skipped' "$out"
rm -rf "$(sed -n 's/^failed: .*logs in //p' "$out")" "$out"
echo "the closing lines are complete"
