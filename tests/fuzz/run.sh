#!/bin/bash
# Builds the fuzzers (clang) and runs each for a while over its corpus. Exit 1 at the first crash, whose input is kept.
#   tests/fuzz/run.sh [SECONDS_EACH]      default 20
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 2
seconds=${1:-20}
cmake --preset fuzz -DHELIO_TESTS=ON >/dev/null || exit 1
targets=$(cd tests/fuzz && ls fuzz_*.c | sed 's/\.c$//')
cmake --build build-fuzz --target $targets || exit 1
failed=0
for target in $targets; do
  corpus=$(mktemp -d)
  [ -d "tests/fuzz/corpus/$target" ] && cp -r "tests/fuzz/corpus/$target/." "$corpus/"
  [ "$target" = fuzz_spec ] && cp examples/*.yaml "$corpus/"
  [ "$target" = fuzz_slurm ] && cp tests/data/slurm/*.txt "$corpus/"
  [ "$target" = fuzz_sbatch ] && cp tests/data/sbatch/*.sh "$corpus/"
  mkdir -p build-fuzz/crashes
  if ASAN_OPTIONS=detect_leaks=0 "build-fuzz/tests/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="build-fuzz/crashes/$target-" -print_final_stats=1 "$corpus" >"build-fuzz/$target.log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$target.log") runs, no crash"
  else
    tail -n 40 "build-fuzz/$target.log"
    failed=1
  fi
  rm -rf "$corpus"
done
[ "$failed" = 0 ] && echo "$(echo "$targets" | wc -l) fuzzers, $seconds s each, no crash"
exit "$failed"
