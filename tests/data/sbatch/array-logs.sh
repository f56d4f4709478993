#!/bin/bash
#SBATCH -J sweep
#SBATCH --array=0-3%2
#SBATCH -o sweep-%A_%a.log
#SBATCH -t 5
#SBATCH -c 1

rates=(0.1 0.03 0.01 0.003)
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT: rate ${rates[$SLURM_ARRAY_TASK_ID]}"
sleep 1
