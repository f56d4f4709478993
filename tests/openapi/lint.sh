#!/bin/bash
# docs/openapi.yaml passes the linter of @redocly/cli with the rules of redocly.yaml.
#   tests/openapi/lint.sh
# Without npm's registry, or with a node that is too old for the linter, it is skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "SKIPPED: the linter of docs/openapi.yaml: $1"; exit 77; }

command -v node npm | wc -l | grep -qx 2 || "$top/deploy/packages/install.sh" node >"$work/apt" 2>&1 ||
  skip "the packages of deploy/packages/node.txt cannot be installed here: $(tail -n 1 "$work/apt")"
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
  skip "it needs node 20.19 or later, and this is $(node --version)"
cp "$here"/{package.json,package-lock.json,.npmrc} "$work/"
npm ping --fetch-retries 1 --fetch-timeout 10000 >"$work/npm" 2>&1 || skip "npm's registry is not reachable: $(tail -n 1 "$work/npm")"
(cd "$work" && npm ci --no-progress --ignore-scripts >npm 2>&1) || { cat "$work/npm"; echo "npm ci fails"; exit 1; }
REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true NO_COLOR=1 "$work/node_modules/.bin/redocly" lint --config "$here/redocly.yaml" --format=stylish \
  "$top/docs/openapi.yaml" >"$work/lint" 2>&1 || { cat "$work/lint"; exit 1; }
grep -q 'valid' "$work/lint" || { cat "$work/lint"; echo "the linter says nothing of the document"; exit 1; }
echo "docs/openapi.yaml passes redocly $(node -p 'require(process.argv[1]).version' "$work/node_modules/@redocly/cli/package.json")"
