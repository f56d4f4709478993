#!/bin/bash
#SBATCH --job-name=mail
#SBATCH --mail-type=END,FAIL,TIME_LIMIT_90
#SBATCH --mail-user=nobody@localhost
#SBATCH --time=10
echo "told when it is over"
