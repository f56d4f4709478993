#!/bin/bash
# Runs a unit test that has a seeded bug compiled in, and passes only if one of its cases fails. A program that cannot start,
# is killed or has no cases has not caught the bug. Later cases may never end, since the bug is still there: they are ended.
set -u
program=${1:?usage: caught.sh PROGRAM}
# A seeded bug can leave processes behind. In a separate namespace of process ids, if that is allowed, they end with the test.
alone=(unshare --pid --fork --mount-proc --kill-child)
"${alone[@]}" true 2>/dev/null || alone=()
output=$(timeout --kill-after=5 240 "${alone[@]}" "$program" 2>&1) # ctest gives it 300 s
status=$?
cases=$(sed -nE 's/^\[  FAILED  \] ([a-z0-9_]+)$/\1/p' <<<"$output" | sort -u | xargs)
if [ "$status" -ne 0 ] && [ -n "$cases" ]; then
  echo "the seeded bug was caught by $cases"
  exit 0
fi
tail -n 40 <<<"$output"
echo "the seeded bug was not caught (exit $status)"
exit 1
