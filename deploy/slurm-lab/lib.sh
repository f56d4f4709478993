# shellcheck shell=bash
# Shared by up.sh, down.sh and cluster.sh; sourced, with the variable `lab` set to the lab's folder (absolute).
#
# The names of the daemons (deploy/daemons.sh) are munged, mariadbd, slurmdbd, slurmctld-eu, slurmd-eu-n1.
# $lab/settings holds the options and findings of up.sh; every later command reads it.

# shellcheck source=deploy/daemons.sh
. "$(dirname "${BASH_SOURCE[0]}")/../daemons.sh"

cluster_names=(eu us asia sa af oc)

log_of() { # NAME: the output of the daemon
  case $1 in
    slurmctld-*) echo "$lab/${1#slurmctld-}/log/slurmctld.log" ;;
    slurmd-*) local node=${1#slurmd-}; echo "$lab/${node%-n*}/log/$node.err" ;;
    *) echo "$lab/log/$1.log" ;;
  esac
}
start() { # NAME COMMAND…
  local name=$1 as_localhost=()
  shift
  # shellcheck disable=SC2016
  [ "$own_hostname" = no ] || as_localhost=(unshare --uts sh -c 'hostname localhost && exec "$@"' lab)
  launch "$name" env -u SLURM_CONF "${as_localhost[@]}" "$@"
}
start_ctld() { start "slurmctld-$1" slurmctld -D -f "$lab/$1/slurm.conf"; }
# Its MySQL library reads the socket path only from here, and slurmdbd.conf is beside the given slurm.conf.
start_dbd() { start slurmdbd env MYSQL_UNIX_PORT="$lab/mariadb/socket" SLURM_CONF="$lab/dbd/slurm.conf" slurmdbd -D; }
start_slurmd() { start "slurmd-$1" slurmd -D -f "$lab/${1%-n*}/slurm.conf" -N "$1"; }

nodes_of() { sed -n 's/^NodeName=\([^ ]*\) .*/\1/p' "$lab/$1/slurm.conf"; } # CLUSTER

ctld_answers() { SLURM_CONF=$lab/$1/slurm.conf timeout 3 scontrol ping | grep -q ' is UP'; }
# A controller that has recovered its state trusts its nodes for a while, so the node itself is queried too.
node_listens() {
  local port
  port=$(sed -n "s/^NodeName=$1 .* Port=\([0-9]*\) .*/\1/p" "$lab/${1%-n*}/slurm.conf")
  ss -Hltn "sport = :$port" | grep -q .
}
node_ready() { # NODE
  node_listens "$1" &&
    SLURM_CONF=$lab/${1%-n*}/slurm.conf timeout 3 sinfo -h -N -n "$1" -o '%T' | grep -qxE 'idle|mixed|allocated|completing'
}

# The processes of jobs are not recorded anywhere. A step daemon keeps its node's log open, and its processes are its
# descendants. A process without its step daemon still has the environment of a job: SLURMD_NODENAME distinguishes it from
# a shell that only uses the cluster.
step_daemons() { # PATTERN of node names
  local file pid comm
  for file in /proc/[0-9]*/comm; do
    { read -r comm <"$file"; } 2>/dev/null || continue
    pid=${file#/proc/}
    pid=${pid%/comm}
    [[ $comm == slurmstepd* ]] && [ -n "$(find "/proc/$pid/fd" -lname "$lab/*/log/$1.log" -print -quit 2>/dev/null)" ] && echo "$pid"
  done
  return 0
}
job_processes() { # PATTERN of node names: pids of step daemons, of all below them, and of orphans
  local file line pid conf node grew=1
  local -A parent=() found=()
  for pid in $(step_daemons "$1"); do found[$pid]=1; done
  for file in /proc/[0-9]*/stat; do
    { read -r line <"$file"; } 2>/dev/null || continue
    pid=${line%% *}
    line=${line##*) }
    [ "${line%% *}" != Z ] || continue
    line=${line#* }
    parent[$pid]=${line%% *}
  done
  for file in $(grep -lzs '^SLURMD_NODENAME=' /proc/[0-9]*/environ); do
    conf=$(grep -zs '^SLURM_CONF=' "$file" | tr -d '\0')
    node=$(grep -zs '^SLURMD_NODENAME=' "$file" | tr -d '\0')
    pid=${file#/proc/}
    # shellcheck disable=SC2053
    [[ $conf == "SLURM_CONF=$lab/"* && ${node#*=} == $1 ]] && found[${pid%/environ}]=1
  done
  while [ "$grew" = 1 ]; do
    grew=0
    for pid in "${!parent[@]}"; do
      [ -z "${found[$pid]:-}" ] && [ -n "${found[${parent[$pid]}]:-}" ] && found[$pid]=1 grew=1
    done
  done
  for pid in "${!found[@]}"; do [ -n "${parent[$pid]:-}" ] && [ "$pid" != $$ ] && echo "$pid"; done
  return 0
}
kill_jobs() { # PATTERN of node names: repeats until nothing is left, because processes may fork meanwhile
  local pids
  for _ in $(seq 100); do
    pids=$(job_processes "$1")
    [ -n "$pids" ] || return 0
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null
    sleep 0.02
  done
  return 1
}

end_lab() { # controllers first: they would restart the jobs of a stopping node elsewhere
  # shellcheck disable=SC2046
  { stop TERM $(recorded 'slurmctld-*'); stop TERM $(recorded 'slurmd-*'); }
  kill_jobs '*' || echo "${0##*/}: job processes are left: $(job_processes '*' | tr '\n' ' ')" >&2
  stop TERM slurmdbd
  stop TERM mariadbd
  stop TERM munged
}
