#!/bin/bash
# The console blocks of README.md, docs/*.md, docs/runbooks/*.md and docs/sites/sbatch.md, run against a quickstart (tests/support/console_blocks.py).
#   tests/integration/docs.sh BUILD_DIR
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: docs.sh BUILD_DIR}" && pwd)
state=$(mktemp -d)/state
chmod 755 "$(dirname "$state")"
trap '"$top/deploy/quickstart.sh" --purge --state "$state" >/dev/null 2>&1 || true; rm -rf "$(dirname "$state")"' EXIT
"$top/deploy/quickstart.sh" --state "$state" --build "$build" </dev/null >"$(dirname "$state")/up.log" 2>&1 || { tail -n 20 "$(dirname "$state")/up.log"; exit 1; }
mkdir "$(dirname "$state")/at" # the documents' own files are written here, not among ours
ln -s "$top"/* "$(dirname "$state")/at"
cd "$top"
STATE=$state HELIO_BROKER=$(cat "$state/client/url") HELIO_TOKEN_FILE=$state/client/token PATH="$state/bin:$PATH" NO_COLOR=1 \
  tests/support/console_blocks.py --in "$(dirname "$state")/at" README.md docs/*.md docs/runbooks/*.md docs/sites/sbatch.md
