#!/bin/bash
# The console blocks of docs/sites/slurm.md, run beside a quickstart with a real cluster (deploy/slurm-lab).
#   tests/integration/slurm_docs.sh BUILD_DIR          exit 77 without Slurm
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: slurm_docs.sh BUILD_DIR}" && pwd)
command -v sbatch >/dev/null || { echo "SKIPPED: Slurm is not installed; deploy/packages/install.sh slurm"; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
down() {
  "$top/deploy/slurm-lab/down.sh" "$work/lab" >/dev/null 2>&1 || true
  "$top/deploy/quickstart.sh" --purge --state "$work/state" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap down EXIT
mkdir "$work/site" "$work/shared" "$work/etc"
NODES=2 DBD=1 "$top/deploy/slurm-lab/up.sh" "$work/lab" 1 >"$work/lab.log" 2>&1 || { cat "$work/lab.log"; exit 1; }
"$top/deploy/quickstart.sh" --state "$work/state" --build "$build" </dev/null >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log"; exit 1; }
endpoint=$(sed -n 's/^ *broker: *\["\(tcp:[^"]*\)".*/\1/p' "$work"/state/*/site.yaml "$work"/state/*.yaml "$work"/state/*/*.yaml 2>/dev/null | head -n 1)
key=$(sed -n 's/^ *broker_key: *"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$work"/state/*/site.yaml "$work"/state/*.yaml "$work"/state/*/*.yaml 2>/dev/null | head -n 1)
HELIO_BROKER=$(cat "$work/state/client/url") HELIO_TOKEN_FILE=$work/state/client/token PATH="$work/state/bin:$build:$PATH" NO_COLOR=1 \
  "$top/tests/support/console_blocks.py" --in "$work/site" \
  --replace "/etc/heliostat/broker.pub=\"$key\"" --replace "/etc/heliostat=$work/etc" --replace "/var/lib/heliostat=$work/site/state" \
  --replace "tcp://broker.example:7443=$endpoint" --replace "/shared/heliostat=$work/shared" \
  --replace "/etc/slurm/slurm.conf=$work/lab/eu/slurm.conf" "$top/docs/sites/slurm.md"
