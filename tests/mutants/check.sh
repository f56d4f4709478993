#!/bin/bash
# Compares the table of mutants with the guards in the sources: each guard is in the table, each row has a guard.
set -u
top=${1:?usage: check.sh SOURCE_DIR [TABLE]}
table=$(realpath "${2:-$(dirname "$0")/mutants.txt}")
cd "$top" || exit 2
faults=0
fault() { echo "$1"; faults=$((faults + 1)); }

rows=$(grep -v '^#' "$table" | sed 's/ *|.*//')
guards=$(grep -rhoE 'HELIO_MUTANT_[a-z_]+' federation broker site-agent client simulator --include='*.[ch]' --include='*.def' |
  sed 's/^HELIO_MUTANT_//' | sort -u)
for name in $(comm -23 <(echo "$guards") <(sort -u <<<"$rows")); do
  fault "$name: $(grep -rlE "HELIO_MUTANT_$name\$" federation broker site-agent client simulator | xargs) has the guard, but no row of mutants.txt runs it"
done
for name in $(comm -13 <(echo "$guards") <(sort -u <<<"$rows")); do fault "$name: mutants.txt has a row, but no source has the guard"; done
[ "$rows" = "$(sort -u <<<"$rows")" ] || fault "mutants.txt: the rows are not sorted, or one stands twice"
while IFS= read -r line; do fault "mutants.txt: not 'mutant | caught by | the bug': $line"; done \
  < <(grep -v '^#' "$table" | grep -vE '^[a-z_]+ \| [a-z0-9_ ,]+ \| [^|]+$')
# The sources of a mutant are recompiled, so its guard must be alone on its line of a .c file.
while IFS= read -r place; do fault "$place: a guard stands alone on its line of a .c file, as #ifdef or #ifndef"; done \
  < <(grep -rnE 'HELIO_MUTANT_' federation broker site-agent client simulator --include='*.[ch]' --include='*.def' |
    grep -vE '^[^:]+\.c:[0-9]+:#ifn?def HELIO_MUTANT_[a-z_]+$')
echo "$(wc -l <<<"$guards") guards, $(wc -l <<<"$rows") rows, $faults faults"
[ "$faults" -eq 0 ]
