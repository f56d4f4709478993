#!/bin/bash
#SBATCH --job-name=modules
#SBATCH --account=physics
#SBATCH --time=10

# Not every machine has modules.
if command -v module >/dev/null 2>&1; then
  module purge
  module load cuda/12.2 python/3.11
fi
[ -f "$HOME/no-such-venv/bin/activate" ] && source "$HOME/no-such-venv/bin/activate"
python3 -c 'import sys; print("python", sys.version_info.major)'
