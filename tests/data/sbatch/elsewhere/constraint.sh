#!/bin/bash
# For a cluster whose nodes have the feature `nvlink`.
#SBATCH --job-name=constraint
#SBATCH --partition=main
#SBATCH --gres=gpu:h100:2
#SBATCH --constraint=nvlink
#SBATCH --cpus-per-gpu=4
#SBATCH --mem-per-gpu=50M
#SBATCH --time=10

echo "two of them: $CUDA_VISIBLE_DEVICES" | sed 's/: [0-9]*,[0-9]*$/: yes/'
