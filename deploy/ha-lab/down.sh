#!/bin/bash
# Stops the lab: its daemons by their recorded pids, and their PostgreSQL. Can be repeated.
#   deploy/ha-lab/down.sh DIR [--purge]      --purge also removes DIR
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=deploy/ha-lab/lib.sh
. "$here/lib.sh"
case ${1:-} in -h|--help) usage; exit 0 ;; esac
purge=${2:-}
if [ $# -lt 1 ] || [ $# -gt 2 ] || { [ -n "$purge" ] && [ "$purge" != --purge ]; }; then usage >&2; exit 2; fi

if [ ! -d "$1" ]; then echo "$1 does not exist"; exit 0; fi
lab=$(cd "$1" && pwd -P) || exit 1
[ -f "$lab/.ha-lab" ] || fail "$lab is not a lab"
exec 9>>"$lab/.lock"
flock -w 90 9 || fail "another command is running on $lab"
if [ -f "$lab/settings" ]; then
  # shellcheck source=/dev/null
  . "$lab/settings"
  end_lab
fi
if [ "$purge" = --purge ]; then
  rm -rf "$lab" || exit 1
  echo "down, $lab removed"
else
  echo "down; its data and logs are in $lab"
fi
