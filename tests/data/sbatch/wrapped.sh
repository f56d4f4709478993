#!/bin/sh
# This script was created by sbatch --wrap.

echo wrapped; exit 0
