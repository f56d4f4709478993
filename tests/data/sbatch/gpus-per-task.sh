#!/bin/bash
#SBATCH --job-name=ranks
#SBATCH --output=%x-%j.out
#SBATCH --ntasks=2
#SBATCH --gpus-per-task=1
#SBATCH --time=00:10:00

srun bash -c 'echo "rank $SLURM_PROCID sees $(tr "," "\n" <<<"$CUDA_VISIBLE_DEVICES" | grep -c .) of the GPUs"' | sort
