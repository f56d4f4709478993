#!/bin/bash
# Installs the missing Debian packages of the named lists (build, run, test). Prints nothing if none is missing.
#   deploy/packages/install.sh build run
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { echo "usage: install.sh LIST… (of: $(cd "$here" && ls *.txt | sed 's/.txt//' | tr '\n' ' '))" >&2; exit 2; }

missing=()
for list in "$@"; do
  [ -f "$here/$list.txt" ] || { echo "install.sh: no package list '$list' in $here" >&2; exit 2; }
  while read -r package; do
    case $package in ''|'#'*) continue ;; esac
    # dpkg's status "installed"; virtual and removed packages have another one
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done <"$here/$list.txt"
done
[ ${#missing[@]} -gt 0 ] || exit 0

command -v apt-get >/dev/null || { echo "install.sh: this is not Debian; install the equivalents of: ${missing[*]}" >&2; exit 1; }
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "install.sh: run as root, or install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 9<&-; }
exec 9<"$here" # one at a time: apt waits for its packages' lock, but not for that of its lists
flock 9
if ! apt install --no-install-recommends "${missing[@]}"; then
  { apt update && apt install --no-install-recommends "${missing[@]}"; } || { tail -n 20 "$log" >&2; exit 1; }
fi
