# shellcheck shell=bash
# Shared by up.sh, down.sh and cluster.sh; sourced, with the variable `lab` set to the lab's folder (absolute).
#
# Every daemon has a name (munged, mariadbd, slurmdbd, slurmctld-eu, slurmd-eu-n1) and, while it should run, a file
# $lab/run/NAME with its pid and start time: a pid alone may meanwhile belong to another process.
# $lab/settings holds the options and findings of up.sh; every later command reads it.

cluster_names=(eu us asia sa af oc)

fail() { echo "${0##*/}: $*" >&2; exit 1; }

born() { # PID: prints its start time; fails if the process does not exist or is a zombie
  local line
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  line=${line##*) } # the command's name is in brackets and may contain anything
  # shellcheck disable=SC2086
  set -- $line
  [ "$1" != Z ] && [ "$1" != X ] && echo "${20}"
}
pid_of() { # NAME: prints the pid of the daemon if it is still the process that was started
  local pid start
  { read -r pid start <"$lab/run/$1"; } 2>/dev/null || return 1
  [ "$(born "$pid")" = "$start" ] && echo "$pid"
}
recorded() { # PATTERN: the names of the recorded daemons, running or not
  local file
  # shellcheck disable=SC2086
  for file in "$lab"/run/$1; do [ -f "$file" ] && basename "$file"; done
  return 0
}
any_alive() { local name; for name in $(recorded '*'); do pid_of "$name" >/dev/null && return 0; done; return 1; }

log_of() { # NAME: the output of the daemon
  case $1 in
    slurmctld-*) echo "$lab/${1#slurmctld-}/log/slurmctld.log" ;;
    slurmd-*) local node=${1#slurmd-}; echo "$lab/${node%-n*}/log/$node.err" ;;
    *) echo "$lab/log/$1.log" ;;
  esac
}
start() { # NAME COMMAND…
  local name=$1 as_localhost=() pid
  shift
  # shellcheck disable=SC2016
  printf '=== %s started at %(%FT%T)T\n' "$name" -1 >>"$(log_of "$name")"
  [ "$own_hostname" = no ] || as_localhost=(unshare --uts sh -c 'hostname localhost && exec "$@"' lab)
  (cd / && exec env -u SLURM_CONF setsid "${as_localhost[@]}" "$@") </dev/null >>"$(log_of "$name")" 2>&1 9>&- &
  pid=$!
  echo "$pid $(born "$pid")" >"$lab/run/$name"
}
start_ctld() { start "slurmctld-$1" slurmctld -D -f "$lab/$1/slurm.conf"; }
# Its MySQL library reads the socket path only from here, and slurmdbd.conf is beside the given slurm.conf.
start_dbd() { start slurmdbd env MYSQL_UNIX_PORT="$lab/mariadb/socket" SLURM_CONF="$lab/dbd/slurm.conf" slurmdbd -D; }
start_slurmd() { start "slurmd-$1" slurmd -D -f "$lab/${1%-n*}/slurm.conf" -N "$1"; }

watched='*' # daemons whose end fails the current command
check_daemons() { # fails, with the end of the log, if one of them has ended
  local name
  for name in $(recorded "$watched"); do
    pid_of "$name" >/dev/null && continue
    rm -f "$lab/run/$name"
    echo "--- the end of $(log_of "$name"):" >&2
    tac "$(log_of "$name")" | sed '/^=== /q' | head -n 15 | tac >&2
    fail "$name has ended unexpectedly; see the log above"
  done
}
wait_for() { # SECONDS WHAT COMMAND…: until the command succeeds
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    check_daemons
    [ "$SECONDS" -lt "$end" ] || fail "still waiting for $what; logs are in $lab/*/log and $lab/log"
    sleep 0.05
  done
}
ctld_answers() { SLURM_CONF=$lab/$1/slurm.conf timeout 3 scontrol ping | grep -q ' is UP'; }
# A controller that has recovered its state trusts its nodes for a while, so the node itself is queried too.
node_listens() {
  local port
  port=$(sed -n "s/^NodeName=$1 .* Port=\([0-9]*\) .*/\1/p" "$lab/${1%-n*}/slurm.conf")
  ss -Hltn "sport = :$port" | grep -q .
}
node_ready() { # NODE
  node_listens "$1" &&
    SLURM_CONF=$lab/${1%-n*}/slurm.conf timeout 3 sinfo -h -N -n "$1" -p main -o '%T' | grep -qxE 'idle|mixed|allocated|completing'
}

stop() { # SIGNAL NAME…: all at once, then waits; after 10 s the rest is killed
  local signal=$1 name pid until
  shift
  for name in "$@"; do # a paused process handles no signal until it continues
    if pid=$(pid_of "$name"); then kill -"$signal" "$pid" 2>/dev/null; kill -CONT "$pid" 2>/dev/null || true; fi
  done
  until=$((SECONDS + 10))
  for name in "$@"; do
    while pid=$(pid_of "$name"); do
      [ "$SECONDS" -lt "$until" ] || kill -KILL "$pid" 2>/dev/null
      sleep 0.02
    done
    rm -f "$lab/run/$name"
  done
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
