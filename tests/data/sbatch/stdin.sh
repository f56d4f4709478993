#!/bin/sh
#SBATCH -J from-stdin
#SBATCH -t 5
# Submitted as: sbatch <stdin.sh. The job's own standard input is empty.
if read -r line; then
  echo "found a line: $line"
else
  echo "standard input is empty"
fi
wc -c </dev/stdin
