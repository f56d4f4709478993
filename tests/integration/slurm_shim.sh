#!/bin/bash
# helio-shim in the batch step of real Slurm jobs: the environment of ranks on one node and on two, a batch script that calls
# srun, stops by the agent and by an administrator, a limit, a folder that is already claimed. Exit 77 without Slurm.
#   tests/integration/slurm_shim.sh BUILD_DIR
# shellcheck source=tests/integration/slurm.sh
. "$(dirname "$0")/slurm.sh"
shim=$(cd "${1:?usage: slurm_shim.sh BUILD_DIR}" && pwd)/helio-shim
trap '"$tools/down.sh" "$lab" --purge >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
NODES=2 GPUS=4 CPUS=16 KILL_WAIT=${KILL_WAIT:-5} "$tools/up.sh" "$lab" 1 >"$work/up.log" 2>&1 || { cat "$work/up.log"; exit 1; }
export SLURM_CONF=$lab/eu/slurm.conf
mkdir -p "$work/attempts" "$work/out"
printf '#!/bin/sh\nexec "$1" --slurm "$2"\n' >"$work/wrapper"

fail() {
  echo "slurm_shim: $*"
  for file in "$f"/log "$f"/slurm.log "$f"/done "$f"/rank-*/done; do [ ! -s "$file" ] || { echo "--- $file"; cat "$file"; }; done
  exit 1
}
soon() { within 40 "$@"; } # WHAT COMMAND…
f=
prepare() { # NAME NODES RUN [PLAN_LINE…]: as the agent does; $f is the folder
  f=$work/attempts/$1
  mkdir -m 700 "$f"
  printf '%s' "$3" >"$f/run"
  chmod 500 "$f/run"
  : >"$f/report"
  printf 'PATH=/usr/bin:/bin\0HOME=%s\0USER=%s\0HELIO_OUTPUT_DIR=%s\0' "$HOME" "$(id -un)" "$work/out" >"$f/env"
  {
    printf 'uid=%s\ngid=%s\nuser=%s\nworkdir=%s\nlease=\nmark=HELIO_OUTPUT_DIR=%s\n' "$(id -u)" "$(id -g)" "$(id -un)" "$work/out" "$work/out"
    printf 'time_limit_ms=0\ngrace_ms=3000\nlog_max_bytes=1000000\ncheckpoint_signal=0\nlauncher=slurm\nnodes=%s\n' "$2"
    shift 3
    [ $# = 0 ] || printf '%s\n' "$@"
    echo end=1
  } >"$f/plan"
}
submit() { # SBATCH_ARGUMENTS…: sets $id
  id=$(CANARY=1 timeout 60 sbatch --parsable --job-name="${f##*/}" --no-requeue --export=NONE --time=2 --chdir=/ --output="$f/slurm.log" --open-mode=append "$@" \
    "$work/wrapper" "$shim" "$f")
}
state() { timeout 20 squeue -h -t all -j "$id" -o %T; }
over() { case $(state) in COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY) ;; *) return 1 ;; esac; }
is() { [ "$(state)" = "$1" ]; }
says() { grep -q -- "$2" "$f/$1" 2>/dev/null || fail "$1 does not say: $2"; }
silent() { if grep -q -- "$2" "$f/$1" 2>/dev/null; then fail "$1 says: $2"; fi; }

# ---- one node ------------------------------------------------------------------------------------------------

prepare one 1 'env | sort; exit 3'
submit --gres=gpu:2
soon "the job of one node" over
is FAILED || fail "a job that exits with 3 is $(state) to Slurm"
says done '^exit_code=3$'; says done '^stopped=0$'
says log '^HELIO_GPUS=2$'; says log '^CUDA_VISIBLE_DEVICES=0,1$'; says log '^HELIO_HOSTS=eu-n1$'; says log "^SLURM_JOB_ID=$id\$"
says log "^SLURM_CONF=$SLURM_CONF\$"; says claim "^scheduler_id=$id\$"
silent log CANARY; silent log SLURM_EXPORT_ENV; silent log PYENV
scontrol -o show job "$id" | grep -q 'ExitCode=3:0' || fail "Slurm knows another exit code"
ok

submit --gres=gpu:1 # the same folder again
soon "the second job of one folder" over
is COMPLETED || fail "a second job of one attempt is $(state)"
[ "$(grep -c 'exists already' "$f/slurm.log")" = 1 ] || fail "it does not say once why"
[ "$(grep -c ^SLURM_JOB_ID= "$f/log")" = 1 ] || fail "it ran twice"
ok

# ---- two nodes -----------------------------------------------------------------------------------------------

prepare two 2 'echo "rank $HELIO_NODE_RANK of $HELIO_NODES on $HELIO_HOSTS: $CUDA_VISIBLE_DEVICES ($HELIO_GPUS) $SLURMD_NODENAME $(nproc)"; env | grep CANARY || true'
submit --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 --gres=gpu:2
soon "the job of two nodes" over
is COMPLETED || fail "it is $(state)"
for rank in 0 1; do says log "^rank $rank of 2 on eu-n1,eu-n2: 0,1 (2) eu-n$((rank + 1)) "; says "rank-$rank/done" '^exit_code=0$'; done
[ ! -e "$f/env" ] || fail "the environment's file is left"
silent log "^srun"; silent log CANARY=
ok

prepare gang 2 'trap "echo saved $HELIO_NODE_RANK; exit 9" TERM; [ "$HELIO_NODE_RANK" = 1 ] && { sleep 1; exit 7; }; while :; do sleep 0.1; done'
submit --nodes=2
soon "the gang that loses a rank" over
says done '^exit_code=7$'; says done '^stopped=0$'; says log '^saved 0$'
scontrol -o show job "$id" | grep -q 'ExitCode=7:0' || fail "Slurm knows another exit code"
ok

prepare polite 2 'trap "echo saved $HELIO_NODE_RANK; exit 5" TERM; echo ready $HELIO_NODE_RANK; while :; do sleep 0.1; done'
submit --nodes=2
soon "both ranks" bash -c "grep -q 'ready 0' $f/log && grep -q 'ready 1' $f/log"
scancel --batch --signal=TERM "$id"
soon "the end after a polite stop" over
says done '^stopped=1$'; says done '^exit_code=5$'; says log '^saved 0$'; says log '^saved 1$'
ok

prepare hard 2 'trap "" TERM; setsid sleep 300 & echo ready $HELIO_NODE_RANK $!; while :; do sleep 0.1; done' 
submit --nodes=2
soon "both ranks" bash -c "grep -q 'ready 0' $f/log && grep -q 'ready 1' $f/log"
echo kill >"$f/stop" # as the agent does before: otherwise the signal is the script's
scancel --batch --signal=USR2 "$id"
soon "the end after a kill" over
says done '^stopped=1$'; says done '^exit_code=137$'
for pid in $(sed -n 's/^ready . //p' "$f/log"); do [ ! -d "/proc/$pid" ] || grep -q 'State:.*Z' "/proc/$pid/status" 2>/dev/null || fail "process $pid lives on"; done
ok

# ---- a script for a batch system -----------------------------------------------------------------------------

prepare batch 2 '#!/bin/bash
echo "job $SLURM_JOB_NAME task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID in $PWD"
export MADE_HERE=1
srun --ntasks=2 bash -c '\''echo "step on $SLURMD_NODENAME made $MADE_HERE gpus $CUDA_VISIBLE_DEVICES"'\''
echo bad >&2
' 'batch_script=1' 'stdout_path=%x-%A_%a-%j.out' 'stderr_path=err/%u.txt'
printf 'HELIO_ARRAY_INDEX=4\0SLURM_ARRAY_TASK_ID=4\0SLURM_JOB_NAME=train\0' >>"$f/env"
mkdir "$work/out/err"
submit --nodes=2 --gres=gpu:1
soon "the batch script" over
is COMPLETED || fail "the batch script is $(state)"
cp "$work/out/train-${id}_4-$id.out" "$f/copy" || fail "no copy of its output"
cp "$work/out/err/$(id -un).txt" "$f/copy.err" || fail "no copy of its errors"
says copy "^job train task 4 of $id in $work/out\$"
for node in eu-n1 eu-n2; do says copy "^step on $node made 1 gpus 0\$"; done
says copy.err '^bad$'; silent copy bad; says log '^bad$'
ok

prepare nowhere 1 'echo ran' 'stdout_path=/no/such/place/x'
submit
soon "the job without a place for its output" over
says done '^failed=1$'; says done 'StartFailed: cannot open the job.s standard output'; is FAILED || fail "it is $(state)"
ok

# ---- stops by the site ---------------------------------------------------------------------------------------

prepare admin 1 'trap "echo saved; exit 6" TERM; echo ready; while :; do sleep 0.1; done'
submit
soon "the job" grep -q ready "$f/log"
scancel "$id"
soon "its end" over
is CANCELLED || fail "it is $(state)"
says done '^stopped=1$'; says done '^exit_code=6$'; says log '^saved$'
ok

prepare stubborn 1 'trap "" TERM; echo ready; while :; do sleep 0.1; done' # its grace is shorter than KillWait
submit
soon "the job" grep -q ready "$f/log"
scancel "$id"
soon "its end" over
says done '^stopped=1$'; says done '^exit_code=137$'
ok

prepare slow 1 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
sed -i s/^grace_ms=.*/grace_ms=600000/ "$f/plan" # longer than KillWait: Slurm kills shim and all
submit
soon "the job" grep -q ready "$f/log"
scancel "$id"
soon "its end" over
is CANCELLED || fail "it is $(state)"
[ ! -e "$f/done" ] || fail "a shim that was killed wrote \`done\`"
ok

prepare saves 2 '#!/bin/bash
srun --ntasks=2 bash -c '\''trap "echo saved $SLURM_PROCID; exit 0" USR1; echo ready $SLURM_PROCID; while :; do sleep 0.1; done'\''
echo "the script goes on"; exit 8
' 'batch_script=1'
sed -i 's/^checkpoint_signal=.*/checkpoint_signal=10/;s/^grace_ms=.*/grace_ms=20000/' "$f/plan" # through srun to its tasks
submit --nodes=2
soon "both tasks" bash -c "grep -q 'ready 0' $f/log && grep -q 'ready 1' $f/log"
scancel --batch --signal=TERM "$id"
soon "its end" over
says log '^saved 0$'; says log '^saved 1$'; says log '^the script goes on$'; says done '^stopped=1$'; says done '^exit_code=8$'
ok

prepare gang-admin 2 'trap "echo saved; exit 6" TERM; echo ready $HELIO_NODE_RANK; while :; do sleep 0.1; done'
submit --nodes=2
soon "both ranks" bash -c "grep -q 'ready 0' $f/log && grep -q 'ready 1' $f/log"
scancel "$id"
soon "its end" over
is CANCELLED || fail "it is $(state)"
if [ -e "$f/done" ]; then says done '^stopped=1$'; fi # Slurm kills srun's tasks at once; then nobody wrote an end
ok

prepare limit 1 'sleep 300'
sed -i s/^time_limit_ms=.*/time_limit_ms=1500/ "$f/plan"
submit
soon "the limit" over
says done '^limit_reached=1$'; says done '^exit_code=124$'
scontrol -o show job "$id" | grep -q 'ExitCode=124:0' || fail "Slurm knows another exit code"
ok

prepare batch-kill 2 '#!/bin/bash
srun --ntasks=2 bash -c '\''trap "" TERM USR1 USR2; echo ready $SLURM_PROCID $$; while :; do sleep 0.1; done'\'' & sleep 300
' 'batch_script=1'
submit --nodes=2
soon "both tasks" bash -c "grep -q 'ready 0' $f/log && grep -q 'ready 1' $f/log"
echo kill >"$f/stop" # as the agent does before: otherwise the signal is the script's
scancel --batch --signal=USR2 "$id"
soon "its end mark" test -e "$f/done"
for pid in $(sed -n 's/^ready . //p' "$f/log"); do [ ! -d "/proc/$pid" ] || grep -q 'State:.*Z' "/proc/$pid/status" 2>/dev/null || fail "task $pid outlives \`done\`"; done
says done '^stopped=1$'; says done '^exit_code=137$'
ok

# ---- another user's job --------------------------------------------------------------------------------------

if [ "$(id -u)" = 0 ] && getent passwd nobody >/dev/null && command -v setpriv >/dev/null && setpriv --reuid nobody --clear-groups test -x "$shim"; then
  prepare other 2 'id -un; exit 2'
  sed -i "s/^uid=.*/uid=$(id -u nobody)/;s/^gid=.*/gid=$(id -g nobody)/;s/^user=.*/user=nobody/" "$f/plan"
  chown -R nobody "$f"
  id=$(setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups sbatch --parsable --nodes=2 --export=NONE --time=2 --chdir=/ --output="$f/slurm.log" \
    "$work/wrapper" "$shim" "$f")
  soon "the job of another user" over
  says done '^exit_code=2$'; [ "$(grep -c '^nobody$' "$f/log")" = 2 ] || fail "it does not run as its user"
  [ "$(stat -c %U "$f/done")" = nobody ] || fail "its status files are not its user's"
  prepare alien 1 'echo ran' # the plan says root, Slurm runs it as nobody
  chown -R nobody "$f"
  id=$(setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups sbatch --parsable --export=NONE --time=2 --chdir=/ --output="$f/slurm.log" "$work/wrapper" "$shim" "$f")
  soon "the job as the wrong user" over
  says done '^failed=1$'; says done 'runs the job as user'
  ok
else
  echo "not tried: a job of another user (needs root, nobody, and a build folder that nobody may enter)"
fi

left=$(pgrep -f "$work/attempts" || true)
[ -z "$left" ] || fail "processes are left: $left"
echo "$checks kinds of jobs under a real Slurm"
