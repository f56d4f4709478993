#!/bin/bash
# The systemd units are valid, and stopping an agent can never end its jobs.   tests/integration/units.sh BUILD
set -euo pipefail
build=$(cd "${1:?usage: units.sh BUILD}" && pwd)
command -v systemd-analyze >/dev/null || { echo "SKIPPED: systemd-analyze is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for unit in helio-broker helio-agent helio-jobs helio-notify; do
  # the programs in the build folder, so that the check finds them
  sed "s|^ExecStart=[^ ]*/\(helio[a-z-]*\)|ExecStart=$build/\1|;/^Documentation=/d" "$build/systemd/$unit.service" >"$work/$unit.service"
  complaints=$(systemd-analyze verify "$work/$unit.service" 2>&1 | grep -F "$unit" || true)
  [ -z "$complaints" ] || { echo "$complaints"; exit 1; }
done
grep -qx 'KillMode=process' "$build/systemd/helio-agent.service"
grep -qx 'KillMode=process' "$build/systemd/helio-jobs.service"
# A group that the jobs run in has to be theirs to divide, and must not be the agent's, which is restarted.
grep -q '^Delegate=.*pids.*memory' "$build/systemd/helio-jobs.service"
if grep -q '^Delegate=' "$build/systemd/helio-agent.service"; then echo "helio-agent.service has groups of its own"; exit 1; fi

# The exposure that systemd-analyze computes, in tenths. The agent's is what is left after the exceptions that its unit lists.
exposure() {
  systemd-analyze security --offline=true --no-pager "$work/$1.service" | sed -n 's/.*exposure level for .*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p'
}
for row in helio-broker:25 helio-agent:45 helio-notify:25; do
  unit=${row%:*} most=${row#*:}
  score=$(exposure "$unit")
  [ "${score:?systemd-analyze gave no score for $unit}" -le "$most" ] || { echo "$unit: exposure $score tenths, at most $most"; exit 1; }
  echo "$unit: exposure $((10#$score / 10)).$((10#$score % 10))"
done
echo "4 units verified; stopping the agent ends the agent alone"
