#!/bin/bash
# The systemd units are sound, and stopping an agent can never end its jobs.   tests/integration/units.sh BUILD
set -euo pipefail
build=$(cd "${1:?usage: units.sh BUILD}" && pwd)
command -v systemd-analyze >/dev/null || { echo "SKIPPED: systemd-analyze is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for unit in helio-broker helio-agent; do
  # the programs where they were built, so that the check finds them
  sed "s|^ExecStart=.*/\(helio-[a-z]*\)|ExecStart=$build/\1|;/^Documentation=/d" "$build/systemd/$unit.service" >"$work/$unit.service"
  complaints=$(systemd-analyze verify "$work/$unit.service" 2>&1 | grep -F "$unit" || true)
  [ -z "$complaints" ] || { echo "$complaints"; exit 1; }
done
grep -qx 'KillMode=process' "$build/systemd/helio-agent.service"
echo "2 units verified; stopping the agent ends the agent alone"
