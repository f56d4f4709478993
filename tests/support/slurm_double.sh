#!/bin/sh
# Substitutes for Slurm's commands: called as BASE/bin/{sbatch,squeue,scontrol,sacct,scancel}, controlled by files in BASE.
#   jobs/<id>       one job: shell assignments name= state= reason= exit= start= end= uid= (else the caller's) listed= (no: not in squeue) known= (no: nowhere)
#               script= (else of this site's shared folder)
#   nodes partitions reservations config qos accounting   the output of scontrol show and sacct; without `accounting`: disabled
#   down            the controller does not respond
#   hung.<program>  that program never ends
#   slow.<program>  that program answers once the file is gone, and makes went.<program>
#   out.<program>, err.<program>, rc.<program>  output and exit code in place of its own (out can be missing)
#   accept          sbatch submits the job all the same
#   twice           and submits it twice
# Every call is a line in `calls`. Tests call these programs thousands of times: what the shell can do itself starts no program.
base=${0%/bin/*}
program=${0##*/}
line=$program
for word in "$@"; do line="$line $word"; done
printf '%s\n' "$line" >>"$base/calls"
export -p >"$base/env.$program"
read -r caller <"$base/uid"

complain() { printf '%s: error: %s\n' "$program" "$1" >&2; exit 1; }
value() { # --key of the arguments
  for word in $all; do case $word in "$1="*) printf '%s' "${word#*=}"; return ;; esac; done
}
all=$*

submit() {
  until mkdir "$base/lock" 2>/dev/null; do :; done
  id=$(($(cat "$base/next" 2>/dev/null || echo 100) + 1))
  echo $id >"$base/next"
  printf "name='%s'\nstate=PENDING\nreason=Priority\nexit=0:0\nstart=N/A\nend=N/A\nlisted=yes\nknown=yes\n" "$(value --job-name)" >"$base/jobs/$id"
  rmdir "$base/lock"
}

if [ "$program" = sbatch ]; then
  if [ ! -e "$base/down" ] && { [ -e "$base/accept" ] || { [ ! -e "$base/rc.sbatch" ] && [ ! -e "$base/hung.sbatch" ]; }; }; then
    submit
    if [ -e "$base/twice" ]; then submit; fi
  fi
fi
if [ -e "$base/slow.$program" ]; then
  sh -c 'echo $$ >>"$1/hung"; exec tail -f /dev/null' slow "$base" & waits=$!
  while [ -e "$base/slow.$program" ]; do sleep 0.01; done
  kill "$waits"
  : >"$base/went.$program"
fi
[ -e "$base/hung.$program" ] && echo $$ >>"$base/hung" && exec tail -f /dev/null
if [ -e "$base/rc.$program" ]; then
  [ -e "$base/out.$program" ] && cat "$base/out.$program"
  [ -e "$base/err.$program" ] && cat "$base/err.$program" >&2
  read -r rc <"$base/rc.$program"
  exit "$rc"
fi
if [ -e "$base/down" ] && [ "$program" != sacct ]; then
  case "$program $1" in
    "scontrol ping") echo "Slurmctld(primary) at here is DOWN"; exit 1 ;;
    sbatch*) complain "Batch job submission failed: Unable to contact slurm controller (connect failure)" ;;
    *) complain "Unable to contact slurm controller (connect failure)" ;;
  esac
fi

case $program in
  sbatch) echo "$id" ;;
  squeue)
    case $all in
      *Command:[0-9]*) width=${all##*Command:}; width=${width%%[!0-9]*} ;;
      *) width= ;;
    esac
    for file in "$base"/jobs/*; do
      [ -e "$file" ] || continue
      uid= script=
      . "$file"
      [ "$listed" = yes ] || continue
      if [ -n "$width" ]; then
        printf "%-56s|%-$width.${width}s|%s|\n" "$name" "${script:-$base/shared/bin/helio-batch-1.sh}" "${uid:-$caller}"
        continue
      fi
      nodes=
      [ "$state" != RUNNING ] || nodes=n1
      printf '%-56s|%-40s|%-40s|%-40s|%-40s|%s|%s|1|1|%s|%s|main|cpu=1|%s|(null)|%s|\n' "$name" gres:gpu:h100:2 N/A N/A "$reason" \
        "${file##*/}" "$state" "$start" "$end" "$nodes" "${uid:-$caller}"
    done ;;
  sacct)
    [ -e "$base/accounting" ] || { echo "Slurm accounting storage is disabled" >&2; exit 1; }
    exec cat "$base/accounting" ;;
  scontrol)
    case $all in
      ping) echo "Slurmctld(primary) at here is UP" ;;
      *"show node") exec cat "$base/nodes" ;;
      *"show partition") exec cat "$base/partitions" ;;
      *"show reservation") exec cat "$base/reservations" ;;
      *"show assoc_mgr flags=qos"*) [ ! -e "$base/qos" ] || exec cat "$base/qos" ;;
      *"show config") [ ! -e "$base/config" ] || exec cat "$base/config" ;;
      *"show job "*)
        file=$base/jobs/${all##* }
        known=no
        uid=
        [ -e "$file" ] && . "$file"
        [ "$known" = yes ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
        echo "JobId=${file##*/} JobName=$name UserId=somebody(${uid:-$caller}) GroupId=root(0) MCS_label=N/A Priority=1 JobState=$state" \
          "Reason=$reason Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=$exit StartTime=$start EndTime=$end Partition=main" ;;
    esac ;;
  scancel)
    id=${all##* }
    [ -e "$base/jobs/$id" ] || complain "Kill job error on job id $id: Invalid job id specified"
    . "$base/jobs/$id"
    [ "$name" = "$(value --name)" ] || exit 0
    case $all in
      *--signal=*) exit 0 ;;
      *--state=PENDING*) [ "$state" = PENDING ] || exit 0 ;;
    esac
    sed -i 's/^state=.*/state=CANCELLED/' "$base/jobs/$id" ;;
esac
