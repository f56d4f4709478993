#!/bin/bash
# Stops a Slurm lab: its daemons by their recorded pids, and remaining processes of its jobs. Can be repeated.
#   deploy/slurm-lab/down.sh DIR [--purge]      --purge also removes DIR
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=deploy/slurm-lab/lib.sh
. "$here/lib.sh"
case ${1:-} in -h|--help) sed -n '2,3p' "$0" | cut -c3-; exit 0 ;; esac
purge=${2:-}
if [ $# -lt 1 ] || [ $# -gt 2 ] || { [ -n "$purge" ] && [ "$purge" != --purge ]; }; then sed -n '3p' "$0" | cut -c3- >&2; exit 2; fi

if [ ! -d "$1" ]; then echo "$1 does not exist"; exit 0; fi
lab=$(cd "$1" && pwd -P) || exit 1
[ -f "$lab/.slurm-lab" ] || fail "$lab is not a lab"
exec 9>>"$lab/.lock"
flock -w 90 9 || fail "another command is running on $lab"
end_lab
if [ "$purge" = --purge ]; then
  rm -rf "$lab" || exit 1
  echo "down, $lab removed"
else
  echo "down; its state and logs are in $lab"
fi
