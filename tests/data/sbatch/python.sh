#!/usr/bin/env python3
#SBATCH --job-name=python
#SBATCH --time=10
#SBATCH --cpus-per-task=2
"""A script of another language: its comments hold the directives."""
import os
import sys

print("cpus", os.environ.get("SLURM_CPUS_PER_TASK"), "arguments", sys.argv[1:])
