#!/bin/bash
#SBATCH --comment="50% of it: \"#1\" isn't a {comment}, [is] it?"   # this is one
#SBATCH --job-name='quoted-name' --time "10"
#SBATCH -o "quotes %j.out"
echo "a \"quoted\" \$HOME # and 'single'	tab \\ back"
