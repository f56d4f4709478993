#!/bin/bash
#SBATCH --job-name=train-after
#SBATCH --time=5
#SBATCH --kill-on-invalid-dep=yes
echo trained
