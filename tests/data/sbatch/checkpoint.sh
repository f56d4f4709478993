#!/bin/bash
#SBATCH --job-name=checkpoint
#SBATCH --signal=B:USR1@60
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --time=00:05:00

save() { echo "saving, restart ${SLURM_RESTART_COUNT:-0}"; exit 0; }
trap save USR1
for step in 1 2 3; do
  sleep 0.3 &
  wait $!
  echo "step $step"
done
