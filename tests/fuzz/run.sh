#!/bin/bash
# Builds the fuzzers (clang) and runs each for a while over its corpus. Exit 1 if one crashes; its input is kept.
#   tests/fuzz/run.sh [SECONDS_EACH]      default 20
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 2
seconds=${1:-20}
cmake --preset fuzz -DHELIO_TESTS=ON >/dev/null || exit 1
targets=$(cd tests/fuzz && ls fuzz_*.c | sed 's/\.c$//')
cmake --build build-fuzz --target $targets || exit 1
fuzz() { # TARGET: 0 = no crash; what is to be said is in its log's last lines
  local target=$1 corpus status=0
  corpus=$(mktemp -d)
  [ -d "tests/fuzz/corpus/$target" ] && cp -r "tests/fuzz/corpus/$target/." "$corpus/"
  [ "$target" = fuzz_spec ] && cp examples/*.yaml "$corpus/"
  [ "$target" = fuzz_slurm ] && cp tests/data/slurm/*.txt "$corpus/"
  [ "$target" = fuzz_sbatch ] && cp tests/data/sbatch/*.sh "$corpus/"
  if ASAN_OPTIONS=detect_leaks=0 "build-fuzz/tests/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="build-fuzz/crashes/$target-" -print_final_stats=1 "$corpus" >"build-fuzz/$target.log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$target.log") runs, no crash"
  else
    status=1
    tail -n 40 "build-fuzz/$target.log"
  fi
  rm -rf "$corpus"
  return "$status"
}
mkdir -p build-fuzz/crashes
failed=0 running=0
for target in $targets; do # two at a time
  if [ "$running" = 2 ]; then wait -n || failed=1; running=1; fi
  fuzz "$target" &
  running=$((running + 1))
done
for ((; running > 0; running--)); do wait -n || failed=1; done
[ "$failed" = 0 ] && echo "$(wc -w <<<"$targets") fuzzers, $seconds s each, no crash"
exit "$failed"
