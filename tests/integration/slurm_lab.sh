#!/bin/bash
# The lab of real Slurm clusters works as its users expect: jobs get GPUs, gangs span nodes, daemons die and return
# on command, and nothing is left at the end. Exit 77 if Slurm is not installed.
#   tests/integration/slurm_lab.sh
NEEDS=(ss)
# shellcheck source=tests/integration/slurm.sh
. "$(dirname "$0")/slurm.sh"
trap '"$tools/down.sh" "$lab" --purge >/dev/null 2>&1 || true; "$tools/down.sh" "$work/own/lab" --purge >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
on() { local cluster=$1; shift; SLURM_CONF=$lab/$cluster/slurm.conf timeout 60 "$@"; }
cluster() { "$tools/cluster.sh" "$lab" "$@"; }
born() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" && $1 != "X" { print $20 }'; } # nothing for a zombie
soon() { within 30 "$@"; } # WHAT COMMAND…
completed() { [ "$(on "$1" squeue -h -t all -j "$2" -o %T)" = COMPLETED ]; }
job_ends_well() { # CLUSTER SBATCH_ARGUMENTS…   (sbatch --wait looks too seldom)
  local name=$1 id
  shift
  id=$(on "$name" sbatch --parsable -t 1 -D "$work" "$@") || return 1
  soon "job $id of $name ends well" completed "$name" "$id"
}

# ---- up ------------------------------------------------------------------------------------------------------

if EXTRA='NoSuchKey=1' "$tools/up.sh" "$work/broken" 1 >"$work/out" 2>&1; then fail "it comes up with a broken slurm.conf"; fi
grep -q 'slurmctld-eu has ended' "$work/out" && grep -q NoSuchKey "$work/out" || { cat "$work/out"; fail "a controller that dies is not reported with its log"; }
ok
began=$EPOCHREALTIME
if SHAPE_us='h100:4 h100' "$tools/up.sh" "$work/broken" 2 >"$work/out" 2>&1; then fail "a node without a number of GPUs is accepted"; fi
grep -q "SHAPE_us: 'h100' is no node" "$work/out" || { cat "$work/out"; fail "a wrong shape is not reported"; }
ok
NODES=2 SHAPE_asia='h100:4@32 a100:2,l4:2@16' "$tools/up.sh" "$lab" 3 >"$work/out" || fail "up failed"
took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
[ "$(grep -cE 'SLURM_CONF=.* 2 node\(s\)  (16|8) GPUs' "$work/out")" = 3 ] || { cat "$work/out"; fail "up does not name its three clusters"; }
recorded=$(cat "$lab"/run/*)
[ "$(wc -l <<<"$recorded")" = 10 ] || fail "of 10 daemons these are recorded: $(ls "$lab/run")"
if "$tools/up.sh" "$lab" 3 >"$work/out" 2>&1; then fail "a second up is not refused"; fi
grep -q 'is up already' "$work/out" || { cat "$work/out"; fail "a second up is refused for the wrong reason"; }
ok

# Every TCP socket on which a recorded process listens, by the ports of the configuration.
ports=$(sed -n 's/^SlurmctldPort=//p; s/^NodeName=.* Port=\([0-9]*\) .*/\1/p' "$lab"/*/slurm.conf)
listeners() { ss -Hltn | awk '{ print $4 }' | grep -E ":($(tr '\n' '|' <<<"$ports" | sed 's/|$//'))\$" || true; }
[ "$(listeners | wc -l)" = 9 ] || fail "not 9 open ports: $(listeners | tr '\n' ' ')"
! listeners | grep -qv '^127\.0\.0\.1:' || fail "open to others: $(listeners | tr '\n' ' ')"
ok

# ---- jobs ----------------------------------------------------------------------------------------------------

for name in eu us asia; do
  job_ends_well "$name" --gres=gpu:2 -o "$work/gpu-$name" --wrap 'echo "$SLURM_CLUSTER_NAME $CUDA_VISIBLE_DEVICES"'
done
for name in eu us asia; do [ "$(cat "$work/gpu-$name")" = "$name 0,1" ] || fail "a job with two GPUs on $name sees: $(cat "$work/gpu-$name")"; ok; done
job_ends_well eu -N 2 -n 2 --gres=gpu:8 -o "$work/gang" --wrap 'srun sh -c "echo \$SLURMD_NODENAME \$CUDA_VISIBLE_DEVICES"'
[ "$(sort "$work/gang" | tr '\n' ';')" = "eu-n1 0,1,2,3,4,5,6,7;eu-n2 0,1,2,3,4,5,6,7;" ] || fail "a gang of two nodes prints: $(cat "$work/gang")"
ok

[ "$(on asia sinfo -h -N -p main -o '%N %c %G' | tr '\n' ';')" = "asia-n1 32 gpu:h100:4;asia-n2 16 gpu:a100:2,gpu:l4:2;" ] ||
  fail "nodes of a given shape are: $(on asia sinfo -h -N -p main -o '%N %c %G')"
job_ends_well asia --gres=gpu:l4:2 -o "$work/l4" --wrap 'echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"'
[ "$(cat "$work/l4")" = "asia-n2 2,3" ] || fail "a job with two GPUs of a type sees: $(cat "$work/l4")"
ok

# ---- faults --------------------------------------------------------------------------------------------------

# One job, with a process that leaves its session and one with an empty environment.
job=$(on us sbatch --parsable -t 9 -D "$work" -o "$work/long" --wrap 'setsid sleep 1001 & echo $!; env -i /bin/sleep 1002 & echo $!; echo $$; wait')
running() { [ "$(on us squeue -h -j "$job" -o %T)" = RUNNING ] && [ "$(wc -l <"$work/long")" = 3 ]; }
soon "the long job runs" running
touch "$work/mark" # a controller keeps what it has accepted in memory for some seconds: a kill before would lose the job
saved() { [ "$lab/us/state/job_state" -nt "$work/mark" ]; }
soon "the controller has saved its state" saved
cluster us kill9-ctld
status=0
cluster us status >"$work/out" || status=$?
{ [ "$status" = 3 ] && grep -q '^slurmctld-us .*down' "$work/out"; } || { cat "$work/out"; fail "status $status after kill9-ctld"; }
cluster us start-ctld
running || fail "the job did not outlive its controller"
if cluster us start-ctld 2>/dev/null; then fail "a second controller is not refused"; fi
ok
cluster us pause-ctld
grep -q '^slurmctld-us .*paused' <<<"$(cluster us status || true)" || fail "pause-ctld does not pause"
cluster us cont-ctld
soon "the controller goes on" running
ok
cluster us kill9-slurmd n2
cluster us start-slurmd us-n2
cluster us status >"$work/out" || { cat "$work/out"; fail "not everything runs after start-slurmd"; }
job_ends_well us -w us-n2 -o /dev/null --wrap /bin/true
ok

# ---- down ----------------------------------------------------------------------------------------------------

recorded+=$'\n'$(cat "$lab"/run/*)
while read -r pid; do recorded+=$'\n'"$pid $(born "$pid")"; done <"$work/long"
cluster us pause-ctld # down must not wait for it
"$tools/down.sh" "$lab" >/dev/null || fail "down failed"
while read -r pid start; do [ "$(born "$pid")" != "$start" ] || fail "process $pid outlived down"; done <<<"$recorded"
[ -z "$(listeners)" ] || fail "ports are still open: $(listeners | tr '\n' ' ')"
"$tools/down.sh" "$lab" >/dev/null || fail "a second down fails"
"$tools/down.sh" "$lab" --purge >/dev/null
[ ! -e "$lab" ] || fail "--purge leaves $lab"
ok

also=
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
  mkdir "$work/own"
  chown nobody "$work/own"
  as_nobody() { (cd "$work/own" && runuser -u nobody -- env PATH="$PATH" "$@"); }
  if as_nobody bash "$tools/up.sh" "$work/own/lab" 1 >"$work/out" 2>&1; then
    as_nobody env SLURM_CONF="$work/own/lab/eu/slurm.conf" sbatch -Q -t 1 --gres=gpu:1 -D "$work/own" -o "$work/own/job" --wrap 'id -un; echo $CUDA_VISIBLE_DEVICES'
    printed() { [ "$(tr '\n' ' ' <"$work/own/job")" = "nobody 0 " ]; }
    soon "a job of an unprivileged lab sees its user and GPU" printed
    as_nobody bash "$tools/down.sh" "$work/own/lab" --purge >/dev/null || fail "an unprivileged lab does not come down"
    also=", and unprivileged"
    ok
  elif grep -q "must mean 127.0.0.1" "$work/out"; then
    also=" (not unprivileged: the host's name is not 127.0.0.1)"
  else
    cat "$work/out"
    fail "an unprivileged lab does not come up"
  fi
fi
echo "$checks checks: three real Slurm clusters of two nodes up in $took s, GPUs, gangs, faults, down without a trace$also"
