#!/bin/bash
#SBATCH --job-name=prepare
#SBATCH --time=5
# The first of two: jid=$(sbatch --parsable chain-prepare.sh); sbatch --dependency=afterok:$jid chain-train.sh
sleep 1
echo prepared
