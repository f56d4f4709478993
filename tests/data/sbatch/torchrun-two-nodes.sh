#!/bin/bash
#SBATCH --job-name=ddp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=8
#SBATCH --time=0-00:10
#SBATCH --output=ddp-%j.out

export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29500
export WORLD_SIZE=$((SLURM_NNODES * 8))

# stands in for: srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=8 --rdzv-endpoint=$MASTER_ADDR:$MASTER_PORT train.py
srun --label bash -c 'test -n "$MASTER_ADDR" && echo "node $SLURM_NODEID of $SLURM_NNODES, world $WORLD_SIZE, port $MASTER_PORT"' | sort
