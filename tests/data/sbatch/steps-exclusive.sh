#!/bin/bash
#SBATCH --job-name=steps
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --time=10

for i in 1 2 3 4; do
  srun --exclusive --nodes=1 --ntasks=1 bash -c "sleep 0.2; echo step $i" >"step-$SLURM_JOB_ID-$i.out" &
done
wait
cat step-"$SLURM_JOB_ID"-?.out
rm -f step-"$SLURM_JOB_ID"-?.out
