#!/bin/bash
# Injects faults into one cluster of a running Slurm lab. Returns when the command has taken effect; recorded pids stay correct.
#
#   deploy/slurm-lab/cluster.sh DIR CLUSTER COMMAND
#     status              one line per daemon: running, paused or down; exit 0 if all are running, otherwise 3
#     kill9-ctld          kills the controller; jobs continue
#     start-ctld          restarts it and waits until it answers
#     pause-ctld          SIGSTOP: it accepts connections and never answers
#     cont-ctld           SIGCONT
#     kill9-slurmd NODE   kills the node's daemon; its jobs continue
#     kill9-node NODE     the same, and kills all processes of its jobs: the machine has failed
#     start-slurmd NODE   restarts it and waits until the controller (if it runs) sees the node
#     kill9-dbd, start-dbd   the same for slurmdbd, which all clusters of a lab share
#   NODE is eu-n1 or n1.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=deploy/slurm-lab/lib.sh
. "$here/lib.sh"
case ${1:-} in -h|--help) usage; exit 0 ;; esac
if [ $# -lt 3 ] || [ $# -gt 4 ]; then usage >&2; exit 2; fi

[ -f "$1/.slurm-lab" ] || fail "$1 is not a lab"
lab=$(cd "$1" && pwd -P)
cluster=$2
command=$3
PATH=$PATH:/usr/sbin:/sbin
# shellcheck source=/dev/null
. "$lab/settings"
[ -n "$cluster" ] && [ -f "$lab/$cluster/slurm.conf" ] || fail "$lab has no cluster '$cluster'"
node=
case $command in
  *-slurmd|*-node)
    node=${4:?this command needs a node, such as $cluster-n1}
    node=$cluster-${node#"$cluster-"}
    grep -q "^NodeName=$node " "$lab/$cluster/slurm.conf" || fail "$cluster has no node '$node'" ;;
  *) [ $# = 3 ] || { usage >&2; exit 2; } ;;
esac
exec 9>>"$lab/.lock"
flock -w 60 9 || fail "another command is running on $lab"

needs_munge() { pid_of munged >/dev/null || fail "$lab is down; deploy/slurm-lab/up.sh starts it"; }
status() {
  local name pid state all=0
  for name in "slurmctld-$cluster" $(nodes_of "$cluster" | sed 's/^/slurmd-/'); do
    state=$(state_of "$name")
    pid=$(pid_of "$name") || pid=-
    printf '%-20s %-8s %s\n' "$name" "$pid" "$state"
    [ "$state" = running ] || all=3
  done
  return "$all"
}

case $command in
  status) status ;;
  kill9-ctld) signal 0 "slurmctld-$cluster"; stop KILL "slurmctld-$cluster" ;;
  start-ctld)
    [ "$(state_of "slurmctld-$cluster")" = down ] || fail "slurmctld-$cluster is $(state_of "slurmctld-$cluster") already"
    needs_munge
    watched=slurmctld-$cluster
    start_ctld "$cluster"
    wait_for 30 "the controller of $cluster" ctld_answers "$cluster" ;;
  pause-ctld)
    signal STOP "slurmctld-$cluster"
    until [ "$(state_of "slurmctld-$cluster")" != running ]; do sleep 0.01; done ;;
  cont-ctld) signal CONT "slurmctld-$cluster" ;;
  kill9-slurmd) signal 0 "slurmd-$node"; stop KILL "slurmd-$node" ;;
  kill9-node)
    stop KILL "slurmd-$node"
    kill_jobs "$node" || fail "processes are left: $(job_processes "$node" | tr '\n' ' ')" ;;
  start-slurmd)
    [ "$(state_of "slurmd-$node")" = down ] || fail "slurmd-$node is $(state_of "slurmd-$node") already"
    needs_munge
    watched=slurmd-$node
    start_slurmd "$node"
    if [ "$(state_of "slurmctld-$cluster")" = running ]; then wait_for 30 "$node" node_ready "$node"; fi ;;
  kill9-dbd) signal 0 slurmdbd; stop KILL slurmdbd ;;
  start-dbd)
    [ "$dbd" = 1 ] || fail "$lab has no slurmdbd; up.sh starts one with DBD=1"
    [ "$(state_of slurmdbd)" = down ] || fail "slurmdbd is $(state_of slurmdbd) already"
    needs_munge
    watched=slurmdbd
    start_dbd
    SLURM_CONF=$lab/$cluster/slurm.conf wait_for 30 slurmdbd timeout 3 sacctmgr -n list cluster ;;
  *) usage >&2; exit 2 ;;
esac
