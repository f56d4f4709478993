#!/bin/bash
#SBATCH --job-name=late
# comments and blank lines do not end the header

   # nor does an indented comment
#SBATCH --time=10
 #SBATCH --job-name=indented-is-a-comment
##SBATCH --job-name=two-marks-are-a-comment
echo first command
#SBATCH --job-name=too-late
#SBATCH --no-such-option
echo "name $SLURM_JOB_NAME"
