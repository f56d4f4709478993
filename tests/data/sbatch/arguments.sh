#!/bin/bash
#SBATCH --job-name=arguments
#SBATCH --time=10

# Called as: sbatch arguments.sh --epochs 3 "two words" "it's" '$HOME'
echo "$# arguments"
for argument in "$@"; do
  printf '<%s>\n' "$argument"
done
