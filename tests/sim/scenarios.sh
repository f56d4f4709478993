#!/bin/bash
# scenarios.sh HELIO_SIMULATE -- the scenario "small" of HELIO_SCENARIOS, a folder with make.py, bounds.py and score.py, which share
# no code with this project: every row must be possible by the bounds, and two runs must print the same.
set -euo pipefail
simulate=$(realpath "${1:?usage: scenarios.sh HELIO_SIMULATE}")
tools=${HELIO_SCENARIOS:-}
if [ ! -f "$tools/score.py" ]; then
  echo "SKIPPED: policies over real traces; HELIO_SCENARIOS names no folder with make.py, bounds.py and score.py"
  exit 77
fi
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
export PYTHONDONTWRITEBYTECODE=1
"$tools/make.py" small --out "$at" ${HELIO_DATA:+--data "$HELIO_DATA" --facts "$HELIO_DATA"}
"$tools/bounds.py" "$at/small" >/dev/null
cd "$at/small"
files=(--fleet fleet.yaml --jobs jobs.csv.gz --carbon carbon.csv.gz)
[ ! -f price.csv.gz ] || files+=(--price price.csv.gz)
policies=isolated,least-wait,cheapest,static-rank,greenest,balanced,fast,cheap,green
for run in 1 2; do "$simulate" "${files[@]}" --policy "$policies" --seed 1 -o json >"$run.json"; done
measured='"(wall_s|decisions_per_s)":' # seconds of this machine
diff <(grep -vE "$measured" 1.json) <(grep -vE "$measured" 2.json) || { echo "two runs differ"; exit 1; }
"$tools/score.py" . 1.json --check
