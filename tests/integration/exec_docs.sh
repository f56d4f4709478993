#!/bin/bash
# The console blocks of docs/sites/exec.md, run beside a quickstart with a real Grid Engine cell (deploy/gridengine-lab).
#   tests/integration/exec_docs.sh BUILD_DIR          exit 77 without Grid Engine
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: exec_docs.sh BUILD_DIR}" && pwd)
[ "$(id -u)" = 0 ] || { echo "SKIPPED: docs/sites/exec.md: the lab of Grid Engine needs root"; exit 77; }
command -v qconf >/dev/null || { echo "SKIPPED: docs/sites/exec.md: Grid Engine is not installed; deploy/packages/install.sh gridengine"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
down() {
  "$top/deploy/gridengine-lab/down.sh" "$work/cell" >/dev/null 2>&1 || true
  "$top/deploy/quickstart.sh" --purge --state "$work/state" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap down EXIT
mkdir "$work/site" "$work/shared" "$work/etc"
"$top/deploy/gridengine-lab/up.sh" "$work/cell" >"$work/cell.log" 2>&1 || { cat "$work/cell.log"; exit 1; }
port=$(sed -n 's/.*SGE_QMASTER_PORT=\([0-9]*\).*/\1/p' "$work/cell/env")
"$top/deploy/quickstart.sh" --state "$work/state" --build "$build" </dev/null >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log"; exit 1; }
endpoint=$(sed -n 's/^ *broker: *\["\(tcp:[^"]*\)".*/\1/p' "$work"/state/*/site.yaml "$work"/state/*.yaml "$work"/state/*/*.yaml 2>/dev/null | head -n 1)
key=$(sed -n 's/^ *broker_key: *"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$work"/state/*/site.yaml "$work"/state/*.yaml "$work"/state/*/*.yaml 2>/dev/null | head -n 1)
HELIO_BROKER=$(cat "$work/state/client/url") HELIO_TOKEN_FILE=$work/state/client/token PATH="$work/state/bin:$build:/usr/lib/gridengine:$PATH" NO_COLOR=1 \
  "$top/tests/support/console_blocks.py" --in "$work/site" \
  --replace "/etc/heliostat/broker.pub=\"$key\"" --replace "/etc/heliostat=$work/etc" --replace "/var/lib/heliostat=$work/site/state" \
  --replace "tcp://broker.example:7443=$endpoint" --replace "/shared/heliostat=$work/shared" --replace "/opt/sge=$work/cell/root" \
  --replace "6444=$port" --replace "6445=$((port + 1))" --replace "/usr/share/heliostat/adapters=$top/deploy/adapters" "$top/docs/sites/exec.md"
