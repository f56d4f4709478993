#!/bin/bash
# What needs hours, beyond tests/run.sh: the campaign of chaos with a new seed each time, and the simulation with many seeds.
#
#   tests/soak.sh [--hours 2] [--seeds 200000] [--build build-release] [--known KIND,…]
#
# Both run at the same time. Every failed campaign keeps its folder and prints its seed; the exit status is 1 if any failed.
set -uo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 2
hours=2 seeds=200000 build=build-release known=
while [ $# -gt 1 ]; do
  case $1 in
    --hours) hours=$2 ;;
    --seeds) seeds=$2 ;;
    --build) build=$2 ;;
    --known) known=$2 ;;
    *) break ;;
  esac
  shift 2
done
if [ $# -gt 0 ]; then sed -n '4p' "$0" | cut -c3- >&2; exit 2; fi
logs=$(mktemp -d)
echo "logs are in $logs"

# Campaigns of ten minutes, until the time is over: each begins with an empty database, as a federation that just began.
chaos() {
  local end=$((SECONDS + hours * 3600)) bad=0 campaigns=0 seed status
  while [ "$SECONDS" -lt "$end" ]; do
    seed=$((RANDOM * 32768 + RANDOM))
    status=0
    nice tests/faults/chaos.py --build "$build" --minutes 10 --seed "$seed" --known "$known" >"$logs/chaos-$seed.log" 2>&1 || status=$?
    if [ "$status" = 77 ]; then grep '^SKIPPED: ' "$logs/chaos-$seed.log"; return 0; fi
    campaigns=$((campaigns + 1))
    echo "chaos $seed: $(grep -a ' submissions, ' "$logs/chaos-$seed.log" || tail -n 1 "$logs/chaos-$seed.log")"
    if [ "$status" != 0 ]; then bad=$((bad + 1)); grep -a '^VIOLATION ' "$logs/chaos-$seed.log" | grep -v ' (known): '; fi
  done
  echo "$campaigns campaigns of chaos, $bad failed"
  [ "$bad" = 0 ]
}

simulation() {
  nice "$build/tests/sim/sim_faults" --seeds "1..$seeds" --all --workers "$(nproc)" --edges --faults >"$logs/simulation.log" 2>&1
  local status=$?
  tail -n 3 "$logs/simulation.log"
  return "$status"
}

simulation &
beside=$!
trap 'kill "$beside" 2>/dev/null' EXIT
status=0
chaos || status=1
wait "$beside" || status=1
trap - EXIT
exit "$status"
