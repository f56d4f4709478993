#!/bin/bash
#SBATCH --job-name=exit-3
#SBATCH --time=5
echo "about to fail" >&2
exit 3
