#!/bin/bash
#SBATCH --job-name=single-gpu
#SBATCH --output=%x-%j.out
#SBATCH --error=%x-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --gres=gpu:1
#SBATCH --mem=100M
#SBATCH --time=00:10:00

echo "GPUs: $(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .)"
python3 - <<EOF
print("epoch 1 loss", round(1 / 3, 3))
EOF
