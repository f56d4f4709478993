#!/bin/bash
# The options of sim_faults by which a campaign can fail or be shared: a campaign that says "kept" must have looked.
set -u
sim=${1:?usage: options.sh SIM_FAULTS}
faults=0
fault() { echo "$1"; faults=$((faults + 1)); }

# Whoever shares the seeds, the totals are the same.
totals() { "$sim" --seeds 1..12 "$@" | sed -E 's/, [0-9.]+ s, [0-9.]+ seeds\/s//'; }
[ "$(totals)" = "$(totals --workers 3)" ] || fault "three workers found other totals than one"

"$sim" --seeds 1..2 --edges >/dev/null && fault "--edges: two worlds cannot take every edge"
output=$("$sim" --seeds 1..2 --faults) && fault "--faults: two worlds cannot have every fault"
[[ $output =~ " kinds of faults" ]] || fault "--faults does not say how many kinds struck"
[[ $output =~ "       0  " ]] || fault "--faults does not say which kinds did not strike"
"$sim" --seeds 1..2 >/dev/null || fault "two worlds without a condition fail"

# Two runs of a world that differ only in their generation are two worlds.
world() { "$sim" --seed 5 --hashes "$@" | grep -E '^5 [0-9a-f]{16} '; }
[ "$(world)" = "$(world --generation 8)" ] || fault "the newest generation is not the one of the default"
[ "$(world --generation 3)" != "$(world --generation 4)" ] || fault "--generation changes nothing"
"$sim" --seed 5 --generation 3 --trace | grep -q ' second ' && fault "a world of generation 3 has a second broker"
"$sim" --seed 5 --trace | grep -q ' second ' || fault "a world of generation 4 has no second broker"

for wrong in "--seeds 5..4" "--workers 0" "--seeds 5" "--nothing"; do
  # shellcheck disable=SC2086
  "$sim" $wrong >/dev/null 2>&1
  [ $? -eq 2 ] || fault "$wrong is accepted"
done
echo "the options of sim_faults: $faults faults"
[ "$faults" -eq 0 ]
