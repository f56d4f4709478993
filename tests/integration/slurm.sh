# Real Slurm clusters for tests in shell (deploy/slurm-lab): sourced, after NEEDS=(programs) if a test needs further programs.
# It sets $top, $tools, $work and $lab, which the test has to bring up; exit 77 without Slurm.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts that source it use these
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tools=$top/deploy/slurm-lab
PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd munged sbatch ${NEEDS[@]+"${NEEDS[@]}"}; do
  command -v "$program" >/dev/null || { echo "SKIPPED: real Slurm: $program is not installed (deploy/packages/install.sh slurm)"; exit 77; }
done
for name in $(compgen -e); do case $name in SLURM*|SBATCH*|SRUN*) unset "$name" ;; esac; done # when run inside a job

work=$(mktemp -d)
lab=$work/lab
chmod 755 "$work"
checks=0
ok() { checks=$((checks + 1)); }
fail() { echo "$(basename "$0" .sh): $*"; exit 1; } # scripts that print more define their own
within() { # SECONDS WHAT COMMAND…
  local seconds=$1 what=$2 end=$((SECONDS + $1))
  shift 2
  until "$@" >/dev/null 2>&1; do [ "$SECONDS" -lt "$end" ] || fail "not within $seconds s: $what"; sleep 0.1; done
}
