#!/bin/bash -l
#SBATCH --job-name=login
#SBATCH --time=10
#SBATCH --get-user-env
shopt -q login_shell && echo "a login shell"
