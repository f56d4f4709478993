#!/bin/bash
#SBATCH --job-name=own --gres=gpu:h100:4 --time=2:00:00
#SBATCH --partition=urgent
#HELIO kind: train
#HELIO gpu: [H100:2, A100:4]
#HELIO placement:
#HELIO   goal: cheap
#HELIO   sites: ["*", "!us-test"]
#HELIO   max_cost: 400 USD
#HELIO on_site_loss: strict
#HELIO slurm: {partition: main}
#HELIO checkpoint: {every: 30m}
echo "to Slurm these lines are comments"
