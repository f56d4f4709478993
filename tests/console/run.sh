#!/bin/bash
# The console: its parts without a browser, its built files made anew byte for byte, its pages in a headless Chromium.
#   tests/console/run.sh BUILD_DIR
# Without npm's registry, or without Chromium, it is skipped; the broker serves console/dist all the same.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: run.sh BUILD_DIR}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "SKIPPED: $1"; exit 77; }

needs() { # LIST COMMAND…: the commands, else the packages of that list
  local list=$1
  shift
  command -v "$@" | wc -l | grep -qx $# || "$top/deploy/packages/install.sh" "$list" >"$work/apt" 2>&1 ||
    skip "the console: the packages of deploy/packages/$list.txt cannot be installed here: $(tail -n 1 "$work/apt")"
}
needs node node npm
needs console chromium

# The lockfile names versions and hashes, and no host: whichever registry npm is set up for serves them.
! grep -nE '"resolved"|https?://[^"]*(registry|\.tgz)' "$top/console/package-lock.json" ||
  { echo "console/package-lock.json names a registry: console/.npmrc prevents that"; exit 1; }
mkdir -p "$work/console" "$work"/tests/{console,golden}
cp "$top"/console/{package.json,package-lock.json,.npmrc,build.js} "$work/console/" && cp -r "$top/console/src" "$work/console/src"
# What the cases read, beside the libraries that the sources need.
cp -r "$top/tests/console/unit" "$work/tests/console/unit" && cp -r "$top/tests/golden/explain" "$work/tests/golden/explain"
npm ping --fetch-retries 1 --fetch-timeout 10000 >"$work/npm" 2>&1 ||
  skip "the console: npm's registry is not reachable: $(tail -n 1 "$work/npm")"
(cd "$work/console" && npm ci --no-progress --ignore-scripts >"$work/npm" 2>&1) || { cat "$work/npm"; echo "npm ci fails"; exit 1; }

# No colours and no progress: the log is read by people.
node --test --test-reporter=tap "$work"/tests/console/unit/*.test.mjs >"$work/unit" || { grep -v '^ok' "$work/unit"; exit 1; }
echo "$(grep -c '^ok' "$work/unit") cases without a browser"

(cd "$work/console" && node build.js "$work/dist")
diff -rq "$top/console/dist" "$work/dist" || { echo "console/dist is not what its sources make: cd console && npm ci && npm run build"; exit 1; }
echo "console/dist is what its sources make, byte for byte"

HELIO_MODULES=$work/console/package.json "$top/tests/console/pages.py" --build "$build"
