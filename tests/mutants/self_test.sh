#!/bin/bash
# Tests check.sh and caught.sh: each must fail on the faults that it should detect.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{federation,broker/core/deep,site-agent,client,simulator}
table() { printf '%s\n' "$@" >"$work/mutants.txt"; }
expect() { # WORDS WHAT: the check fails and says WORDS
  if "$here/check.sh" "$work" "$work/mutants.txt" >"$work/out" 2>&1 || ! grep -qF "$1" "$work/out"; then
    echo "check.sh did not notice $2"; cat "$work/out"; exit 1
  fi
}
source=$work/broker/core/deep/a.c
echo '#ifdef HELIO_MUTANT_one' >"$source"
table '# a table' 'one | sim | a bug'
"$here/check.sh" "$work" "$work/mutants.txt" >"$work/out" 2>&1 || { echo "a good table is refused:"; cat "$work/out"; exit 1; }
table 'one | sim | a bug' 'two | sim | a bug'; expect "two: mutants.txt has a row, but no source has the guard" "a row without a guard"
table 'zero | sim | a bug'; expect "one: broker/core/deep/a.c has the guard, but no row" "a guard without a row"
table 'one | a bug'; expect "not 'mutant | caught by | the bug'" "a row without a catcher"
table 'one | sim | a bug' 'one | sim | a bug'; expect "one stands twice" "a row that stands twice"
table 'one | sim | a bug'
echo '#if defined(HELIO_MUTANT_one) && X' >"$source"; expect "a guard stands alone on its line" "a guard that is not found by its line"

printf '#!/bin/sh\necho "[  FAILED  ] some_case"\nexit 1\n' >"$work/failing"
printf '#!/bin/sh\necho "[  PASSED  ] 3 test(s)."\n' >"$work/passing"
printf '#!/bin/sh\necho "cannot start"\nexit 1\n' >"$work/broken"
chmod +x "$work"/{failing,passing,broken}
"$here/caught.sh" "$work/failing" >/dev/null || { echo "caught.sh did not notice a case that failed"; exit 1; }
for program in passing broken; do
  if "$here/caught.sh" "$work/$program" >/dev/null; then echo "caught.sh accepts a program that is $program"; exit 1; fi
done
echo "both fail when they should"
