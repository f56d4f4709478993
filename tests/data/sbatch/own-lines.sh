#!/bin/bash
#SBATCH --job-name=own --gres=gpu:a100:4 --time=2:00:00
#SBATCH --partition=gpu
#HELIO kind: train
#HELIO gpu: [H100:4, A100:4]
#HELIO placement:
#HELIO   goal: green
#HELIO   sites: [eu-*, "!eu-test"]
#HELIO   flexible: 12h
#HELIO interconnect: nvlink
#HELIO slurm: {partition: long}
#HELIO checkpoint: {every: 30m}
echo "the same script under sbatch: these lines are comments there"
