#!/bin/bash
# What the README's Install block builds: every program that is installed, and no test.
#   tests/layers/install.sh SOURCE_DIR
set -euo pipefail
cd "${1:?usage: install.sh SOURCE_DIR}"
preset=$(sed -n '/^## Install/,/^## /s/.*cmake --preset \([a-z]*\).*/\1/p' README.md)
[ -n "$preset" ] || { echo "README.md: its Install block names no preset"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --preset "$preset" -B "$folder" >"$folder/log" 2>&1 || { tail -n 20 "$folder/log"; exit 1; }
for program in helio helio-broker helio-agent helio-shim helio-simulate; do
  grep -q "^build $program: C_EXECUTABLE_LINKER" "$folder/build.ninja" || { echo "the preset $preset does not build $program"; exit 1; }
done
tests=$(grep -c '^build tests/.*_LINKER' "$folder/build.ninja" || true)
[ "$tests" = 0 ] || { echo "the preset $preset builds tests: $tests targets"; exit 1; }
# And it is the same without a preset, as package builders configure.
cmake -S . -B "$folder/plain" -G Ninja >"$folder/log" 2>&1 || { tail -n 20 "$folder/log"; exit 1; }
grep -q '^HELIO_TESTS:BOOL=OFF$' "$folder/plain/CMakeCache.txt" || { echo "without a preset, the tests are built"; exit 1; }
