#!/bin/bash
# Stops a Grid Engine lab: its daemons by their recorded pids. Can be repeated.
#   deploy/gridengine-lab/down.sh DIR [--purge]      --purge also removes DIR
set -uo pipefail
if [ $# -lt 1 ] || { [ -n "${2:-}" ] && [ "$2" != --purge ]; }; then sed -n '3p' "$0" | cut -c3- >&2; exit 2; fi
[ -d "$1" ] || { echo "$1 does not exist"; exit 0; }
lab=$(cd "$1" && pwd -P) || exit 1
runs() { [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
if [ -f "$lab/pids" ]; then
  while read -r pid name; do
    grep -qs "sge_$name" "/proc/$pid/cmdline" || continue
    for shepherd in $(pgrep -P "$pid" sge_shepherd); do pkill -KILL -P "$shepherd"; kill -KILL "$shepherd"; done 2>/dev/null
    kill -TERM "$pid" 2>/dev/null
    for _ in $(seq 50); do runs "$pid" || break; sleep 0.1; done
    runs "$pid" && kill -KILL "$pid"
  done < <(tac "$lab/pids")
  rm -f "$lab/pids"
fi
[ "${2:-}" = --purge ] && rm -rf "$lab"
echo down
