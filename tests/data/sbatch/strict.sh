#!/bin/bash
#SBATCH -J strict -t 10 -c 2

set -euo pipefail
trap 'echo "left with $?"' EXIT
work=$(mktemp -d)
printf '%s\n' b a c | sort >"$work/list"
paste -sd' ' "$work/list"
rm -r "$work"
: "${NOT_SET_ANYWHERE:=a default}"
echo "$NOT_SET_ANYWHERE"
