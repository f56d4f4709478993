#!/bin/bash
#SBATCH --job-name=whole
#SBATCH --output=%x-%j.out
#SBATCH --exclusive
#SBATCH --gres=gpu:1
#SBATCH --time=00:10:00

echo "GPUs: $(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .), CPUs: $SLURM_CPUS_ON_NODE"
scontrol --oneliner show node "$SLURMD_NODENAME" --details | grep -o "GresUsed=gpu:h100:[0-9]*"
