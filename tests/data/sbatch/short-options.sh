#!/bin/bash
#SBATCH -Jshort -n4 -c2 -t10 -pmain
#SBATCH -N1 --mem-per-cpu=10 -oshort-%j.out
echo "tasks $SLURM_NTASKS, CPUs each $SLURM_CPUS_PER_TASK, nodes $SLURM_JOB_NUM_NODES"
