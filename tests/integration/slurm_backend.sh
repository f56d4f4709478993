#!/bin/bash
# The backend `slurm` with a real cluster: a journal that is gone or old, start, log, stop, limits, actions of an administrator, a controller that dies, a
# node that dies, and an agent that is killed with SIGKILL at the worst moments. Every job appends a line to a file when
# it runs, which reveals a second run. Exit 77 without Slurm.
#   tests/integration/slurm_backend.sh BUILD_DIR
# shellcheck source=tests/integration/slurm.sh
. "$(dirname "$0")/slurm.sh"
driver=$(cd "${1:?usage: slurm_backend.sh BUILD_DIR}" && pwd)/tests/slurm_driver
driver_pid=
cleanup() {
  [ -z "$driver_pid" ] || kill -9 "$driver_pid" 2>/dev/null || true
  "$tools/down.sh" "$lab" --purge >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT
NODES=2 GPUS=4 CPUS=16 DBD=${DBD:-0} "$tools/up.sh" "$lab" 1 >"$work/up.log" 2>&1 || { cat "$work/up.log"; exit 1; }
export SLURM_CONF=$lab/eu/slurm.conf
mkdir -m 755 "$work/shared" "$work/bin"
mkdir "$work/ran" "$work/flags"
chmod 777 "$work/ran" "$work/flags"
user=$(id -un)
[ "$(id -u)" != 0 ] || user=nobody
touch "$work/events"

fail() {
  echo "slurm_backend: $*"
  echo "--- events"; cat "$work/events"
  echo "--- queue"; timeout 20 squeue -t all -o '%i %j %T %r' || true
  for file in "$work"/shared/attempts/*/slurm.log; do [ ! -s "$file" ] || { echo "--- $file"; tail -5 "$file"; }; done
  exit 1
}
soon() { within 60 "$@"; ok; } # WHAT COMMAND…
# A wrapper of sbatch: `before` delays it until `go` exists, `after` never returns its output.
cat >"$work/bin/sbatch" <<WRAP
#!/bin/bash
if [ -e $work/flags/before ]; then touch $work/flags/waits; until [ -e $work/flags/go ]; do sleep 0.05; done; fi
PATH=/usr/local/bin:/usr/bin:/bin answer=\$(/usr/bin/env -u LD_PRELOAD sbatch "\$@" 2>&1); code=\$?
if [ -e $work/flags/after ]; then touch $work/flags/answered; exec tail -f /dev/null; fi
[ \$code = 0 ] && echo "\$answer" || echo "\$answer" >&2
exit \$code
WRAP
chmod 755 "$work/bin/sbatch"

begin() { # a new agent
  rm -f "$work/in"
  mkfifo "$work/in"
  "$driver" "$work/shared" "$SLURM_CONF" "$user" "$work/bin" <"$work/in" >>"$work/events" 2>>"$work/errors" &
  driver_pid=$!
  disown "$driver_pid"
  exec 7>"$work/in"
}
crash() { # the agent is killed
  kill -9 "$driver_pid"
  driver_pid=
  exec 7>&-
}
say() { echo "$*" >&7; }
job() { # NAME LINES…: a job file that says that it ran
  local name=$1
  shift
  { echo '#!/bin/sh'; echo "echo x >>$work/ran/$name"; printf '%s\n' "$@"; } >"$work/$name.sh"
  echo "$work/$name.sh"
}
heard() { grep -q -E -- "$1" "$work/events"; }
times() { [ "$(cat "$work/ran/$1" 2>/dev/null | wc -l)" = "$2" ]; }
is() { [ "$(timeout 20 squeue -h -t all -j "$1" -o %T)" = "$2" ]; }
name_of() { basename "$(echo "$work"/shared/attempts/helio-*-"$1")"; }
id_of() { timeout 20 squeue -h -t all -n "$(name_of "$1")" -o %i | head -1; }
queued() { [ -n "$(id_of "$1")" ]; }

begin
# ---- the journal is gone, or an older copy: what runs is found by its folder or by its mark in the queue, what waits is withdrawn,
# ---- and what is not this site's is left alone. Folders are never forgotten here, so epochs are told anew after each start.
mark() { seen=$(wc -l <"$work/events"); }
anew() { tail -n "+$((seen + 1))" "$work/events" | grep -q -E -- "$1"; }
without_folder() { rm -r "$work/shared/attempts/$(name_of "$1")"; }
until_told() { job "$1" "until [ -e $work/flags/$1 ]; do sleep 0.2; done" "exit $2"; } # NAME EXIT_CODE
say start 64 2 1 600 "$(until_told known 7)"
say start 65 1 1 600 "$(until_told unknown 8)"
soon "it runs" times known 1
soon "it runs" times unknown 1
say start 66 3 2 600 "$(job knownwaits 'exit 5')"
say start 67 3 2 600 "$(job unknownwaits 'exit 0')"
soon "one waits" queued 66
soon "one waits" queued 67
mkdir -m 755 -p "$work/other/bin"
printf '#!/bin/sh\nexec sleep 300\n' >"$work/other/bin/helio-batch.sh"
name=$(name_of 64)
strangers=()
submit_as() { # USER EPOCH: a batch script that is not this site's, with an attempt's name
  local as=(env)
  [ "$1" = "$(id -un)" ] || as=(runuser -u "$1" -- env PATH="$PATH" SLURM_CONF="$SLURM_CONF")
  (cd /; "${as[@]}" sbatch --parsable -o /dev/null -J "${name%-64}-$2" --time=5 "$work/other/bin/helio-batch.sh")
}
strangers=("$(submit_as "$user" 68)") # another site's, of the same user
[ "$user" = "$(id -un)" ] || strangers+=("$(submit_as "$(id -un)" 64)" "$(submit_as "$(id -un)" 68)") # and another user's
for id in "${strangers[@]}"; do soon "a stranger's job runs" is "$id" RUNNING; done
ids=([66]=$(id_of 66) [67]=$(id_of 67))
mark
crash
begin # with a journal that knows two of the four
say survey
say adopt 64
say adopt 66
soon "what the journal knows is found" anew '^started 64 '
soon "and what it does not know" anew '^started 65 '
soon "what it does not know and waits is withdrawn" anew '^failed-to-start 67 .*Withdrawn: the agent lost its journal'
soon "it leaves Slurm's queue" is "${ids[67]}" CANCELLED
soon "all is known" anew '^survey complete'
is "${ids[66]}" PENDING || fail "what the journal knows and waits was touched"
touch "$work/flags/known" "$work/flags/unknown"
soon "its end is seen" anew '^ended 64 .*exit=7'
soon "its end is seen" anew '^ended 65 .*exit=8'
soon "what waited runs then" anew '^ended 66 .*exit=5'
say start 60 1 1 600 "$(until_told found 6)"
say start 61 1 1 600 "$(job folderless 'exec sleep 300')"
soon "it runs" times found 1
soon "it runs" times folderless 1
soon "it is said to run" heard '^started 60 '
soon "it is said to run" heard '^started 61 '
say start 62 4 2 600 "$(job inqueue 'exit 0')"
say start 63 4 2 600 "$(job inqueueless 'exit 0')"
soon "one waits" queued 62
soon "one waits" queued 63
ids=([62]=$(id_of 62) [63]=$(id_of 63))
mark
crash
without_folder 61
without_folder 63
begin
say survey
soon "what runs is found" anew '^started 60 '
soon "what runs is found by its mark" anew '^started 61 '
soon "what waits is withdrawn" anew '^failed-to-start 62 .*Withdrawn: the agent lost its journal'
soon "it leaves Slurm's queue" is "${ids[62]}" CANCELLED
soon "so does what waits without a folder" is "${ids[63]}" CANCELLED
within 120 "that is over" anew '^vanished 63 '
soon "all is known" anew '^survey complete'
touch "$work/flags/found"
soon "its end is seen" anew '^ended 60 .*exit=6'
say stop 61 kill
within 120 "what has no folder can be stopped" anew '^(ended|vanished) 61 '
anew '^[a-z-]+ 68 ' && fail "a stranger's job was taken for an attempt"
for id in "${strangers[@]}"; do is "$id" RUNNING || fail "the job of a stranger was touched"; done
scancel "${strangers[@]}"
for name in found folderless known unknown; do times $name 1 || fail "$name ran twice after the journal was lost"; done
for name in inqueue inqueueless unknownwaits; do times $name 0 || fail "$name ran although it was withdrawn"; done
times knownwaits 2 || fail "a gang that waited over the loss did not run once on each node"

# ---- the life of an attempt, and its output
say start 1 2 1 600 "$(job plain 'id -un' 'echo gpus=$HELIO_GPUS' 'exit 3')"
soon "an end with its exit code" heard '^ended 1 .*exit=3 stopped=0 limit=0 started=1'
heard '^started 1 ' || fail "STARTED was not reported"
say log 1
soon "the log" heard '^gpus=2$'
heard "^$user\$" || fail "it did not run as $user"

# ---- channels: commands with and without a terminal and a port, on either node, as the job's user; and their end
# An echo on each node, at a port of its own, which it writes into a file.
listen='perl -MSocket -e '"'"'socket(S, 2, 1, 0); bind(S, pack_sockaddr_in(0, inet_aton("127.0.0.1"))); listen(S, 5);
my ($port) = unpack_sockaddr_in(getsockname(S)); open(F, ">", "$ARGV[0].new"); print F $port; close(F);
rename("$ARGV[0].new", $ARGV[0]); while (accept(C, S)) { while (sysread(C, $_, 4096)) { syswrite(C, $_) } close(C) }'"'"
say start 90 2 2 600 "$(job inside "$listen $work/flags/port.\$HELIO_NODE_RANK &" 'export LATER=1' 'exec sleep 300')"
soon "the job runs" heard '^started 90 '
soon "on both nodes" times inside 2
say open 1 90 1 command sh -c 'echo+$(id+-un)+$HELIO_NODE_RANK+$CUDA_VISIBLE_DEVICES+$LATER;read+x;echo+got+$x+>&2;exit+5'
soon "a command on the second node" heard "^channel 1 output \"?$user 1 0,1"
say input 1 a word
soon "its input, its error stream" heard '^channel 1 error .*got a word'
soon "its exit code" heard '^channel-end 1 rc=OK exit=5 text=$'
grep -q '^channel 1 .*connected' "$work/events" && fail "the client sees what the shim tells the agent"
say open 2 90 0 terminal
say input 2 'stty size; tty; echo $TERM-$((6 * 7))'
soon "a shell on a terminal" heard '^channel 2 .*33 99'
soon "of its own" heard '^channel 2 .*xterm-42'
say resize 2 44 111
say input 2 'stty size; exit 6'
soon "the size follows" heard '^channel 2 .*44 111'
soon "its end" heard '^channel-end 2 rc=OK exit=6'
for rank in 0 1; do
  soon "it listens" test -s "$work/flags/port.$rank"
  say open "$((3 + rank))" 90 "$rank" port "$(cat "$work/flags/port.$rank")"
  soon "the port of node $rank" heard "^channel $((3 + rank)) none"
  say input "$((3 + rank))" "over $rank"
  soon "is answered" heard "^channel $((3 + rank)) output .*over $rank"
  say end "$((3 + rank))"
  soon "and ends with it" heard "^channel-end $((3 + rank)) rc=OK"
done
say open 5 90 0 port 1
soon "a port of nobody" heard '^channel-end 5 rc=NOT_FOUND .*text=no process of the job listens on port 1$'
say open 6 90 2 command true
soon "a node that it does not have" heard '^channel-end 6 rc=NOT_FOUND .*no node 2'
say open 7 90 0 command sh -c 'trap+""+HUP+TERM;setsid+sleep+98765+&+echo+left;while+:;do+sleep+1;done'
soon "a command that ignores every polite signal" heard '^channel 7 output .*left'
say close 7
soon "a close ends it and what it left" bash -c '! pgrep -f "^sleep 98765"'
say open 8 90 0 command sleep 300
soon "one is open" heard '^channel 8 none'
say stop 90 kill
soon "the attempt's end" heard '^ended 90 .*stopped=1'
soon "is that of its channels" heard '^channel-end 8 '
say open 9 90 0 command true
say start 91 1 1 600 "$(job steps "srun --overlap --ntasks=1 $listen $work/flags/port.step &" 'exec sleep 300')" launch=batch
soon "a script runs" heard '^started 91 '
soon "a step of it listens" test -s "$work/flags/port.step"
say open 10 91 0 port "$(cat "$work/flags/port.step")"
soon "and is one of the job's processes" heard '^channel 10 none'
say stop 91 kill
soon "its end" heard '^ended 91 .*stopped=1'
soon "an attempt that has ended" heard '^channel-end 9 rc=NOT_FOUND .*text=the attempt has ended'

# ---- two nodes, a limit, a refusal, an option that is not passed on
say start 2 1 2 600 "$(job gang 'exit 0')"
say start 3 0 1 2 "$(job limit 'exec sleep 300')"
say start 4 9 1 600 "$(job toobig 'exit 0')"
say start 5 0 1 600 "$(job option 'exit 0')" requeue=
soon "two nodes" heard '^ended 2 .*exit=0'
times gang 2 || fail "a gang of two nodes did not run twice"
soon "a limit" heard '^ended 3 .*exit=124 .*limit=1'
soon "a refusal" heard '^failed-to-start 4 .*SubmitRefused: Requested node configuration'
soon "an option" heard '^failed-to-start 5 .*BadOption: --requeue'

# ---- stops: polite, immediate, and of a pending attempt
say start 10 0 1 600 "$(job polite "trap 'echo polite >>$work/ran/polite; exit 0' TERM" 'sleep 300 & wait')"
say start 11 0 1 600 "$(job hard "trap '' TERM" 'while :; do sleep 1; done')"
soon "they run" heard '^started 10 '
soon "they run" heard '^started 11 '
soon "they do run" times polite 1
say stop 10 grace
soon "a polite stop" heard '^ended 10 .*stopped=1'
times polite 2 || fail "the polite stop gave no grace"
say stop 11 kill
soon "a kill" heard '^ended 11 .*stopped=1'
say start 12 4 2 600 "$(job fills 'exec sleep 300')"
soon "the cluster is full" heard '^started 12 '
say start 13 1 1 600 "$(job waits 'exit 0')"
soon "one waits" queued 13
id=$(id_of 13)
say stop 13 grace
soon "a stop of what is pending" heard '^ended 13 .*stopped=1 .*started=0'
soon "its job goes" is "$id" CANCELLED
times waits 0 || fail "an attempt that was stopped before its start has run"

# ---- actions of an administrator
say start 14 1 1 600 "$(job pending 'exit 0')"
soon "one waits" queued 14
scancel "$(id_of 14)"
soon "a pending one is cancelled by hand" heard '^failed-to-start 14 .*SiteCancelled'
scontrol requeue "$(id_of 12)" 2>/dev/null && fail "an attempt can be requeued"
scancel "$(id_of 12)"
soon "a running one is cancelled by hand" heard '^vanished 12 .*run_ms=[1-9].*SiteCancelled'

# ---- observations: the queue's reasons, suspension, drained nodes, and other users' jobs with attempts' names
say start 15 4 2 600 "$(job all 'exec sleep 300')"
soon "the cluster is full" heard '^started 15 '
say start 16 4 2 600 "$(job behind 'exit 6')"
soon "what it waits for is said" heard '^waiting 16 .*WaitsInCluster: (Resources|Priority)'
scontrol suspend "$(id_of 15)"
soon "a suspended one is said to be" heard '^suspended 15 .*SiteSuspended'
scontrol resume "$(id_of 15)"
soon "and to run again" heard '^resumed 15 '
scontrol suspend "$(id_of 15)"
soon "suspended" is "$(id_of 15)" SUSPENDED
sleep 2
say stop 15 grace
soon "a suspended one can be stopped" heard '^ended 15 .*stopped=1'
soon "the one behind it runs" heard '^ended 16 .*exit=6'
for node in eu-n1 eu-n2; do scontrol update NodeName=$node State=DRAIN Reason=test; done
say start 17 1 1 600 "$(job drained 'exit 0')"
soon "one waits before drained nodes" queued 17
soon "it is taken back" heard '^failed-to-start 17 .*Withdrawn: the cluster has too few nodes'
soon "and leaves Slurm's queue" is "$(id_of 17)" CANCELLED
for node in eu-n1 eu-n2; do scontrol update NodeName=$node State=RESUME; done
times drained 0 || fail "a withdrawn attempt has run"
say start 18 1 1 60000 "$(job toolong 'exit 0')" partition=debug
soon "what can never start is refused" heard '^failed-to-start 18 .*SubmitRefused: .*PartitionTimeLimit'
if [ "$(id -u)" = 0 ]; then # as root there are two users: the jobs', and ours
  prefix=$(name_of 16)
  foreign=${prefix%-16}-19
  (cd /; sbatch --parsable -o /dev/null -J "$foreign" --time=5 --wrap 'sleep 200') >"$work/foreign"
  soon "the other one's job runs" is "$(cat "$work/foreign")" RUNNING
  say start 19 1 1 600 "$(job mine 'exit 4')"
  soon "another user's job of the name is in nobody's way" heard '^ended 19 .*exit=4'
  is "$(cat "$work/foreign")" RUNNING || fail "another user's job was touched"
  scancel "$(cat "$work/foreign")"
fi

# ---- the agent is killed while a job runs, and is away when it ends
say start 20 1 1 600 "$(job runs "until [ -e $work/ran/go ]; do sleep 0.2; done" 'exit 7')"
soon "it runs" heard '^started 20 '
crash
begin
say adopt 20
touch "$work/ran/go" # not before: an end that was told may be told again by the one who comes after
soon "it is found again" heard '^ended 20 .*exit=7'
times runs 1 || fail "a job ran twice over a restart"

# ---- the agent is killed: sbatch succeeded, but the agent did not get its output
touch "$work/flags/after"
say start 21 1 1 600 "$(job lostanswer 'sleep 2' 'exit 8')"
soon "the controller has it" test -e "$work/flags/answered"
crash
rm "$work/flags/after" "$work/flags/answered"
begin
say start 21 1 1 600 "$work/lostanswer.sh"
soon "the job is found by its name" heard '^ended 21 .*exit=8'
times lostanswer 1 || fail "a job ran twice after its number was lost"

# ---- the agent is killed before sbatch has reached the controller; it does so after the new agent's look-up
touch "$work/flags/before"
say start 22 1 1 600 "$(job late 'exit 9')"
soon "sbatch is on its way" test -e "$work/flags/waits"
crash
rm "$work/flags/before"
begin
say adopt 22
soon "it is absent" heard '^absent 22 '
touch "$work/flags/go"
soon "the late job comes" queued 22
soon "and ends at once" is "$(id_of 22)" COMPLETED
times late 0 || fail "a late job ran although its attempt was absent"
say start 22 1 1 600 "$work/late.sh"
soon "it is started anew" heard '^ended 22 .*exit=9'
times late 1 || fail "it did not run once"

# ---- the controller is killed: an end is still reported, a stop waits, and no attempt is lost
say start 30 1 1 600 "$(job outage 'sleep 4' 'exit 5')"
say start 31 1 1 600 "$(job outlives 'exec sleep 300')"
soon "they run" heard '^started 30 '
soon "they run" heard '^started 31 '
soon "the controller has saved them" test "$lab/eu/state/job_state" -nt "$work/outlives.sh"
sleep 6 # and again, with their start
"$tools/cluster.sh" "$lab" eu kill9-ctld
soon "an end without a controller" heard '^ended 30 .*exit=5'
say stop 31 kill
say start 32 1 1 600 "$(job after 'exit 0')"
"$tools/cluster.sh" "$lab" eu start-ctld
soon "the stop is said when there is somebody to hear it" heard '^ended 31 .*stopped=1'
soon "what was handed in meanwhile runs" heard '^ended 32 .*exit=0'
times after 1 || fail "it did not run once"
heard '^(vanished|absent) 3[012] ' && fail "an outage was taken for an end"

# ---- the shim is killed; the node is killed
say start 40 1 1 600 "$(job orphan 'exec sleep 300')"
soon "it runs" heard '^started 40 '
scancel --batch --signal=KILL "$(id_of 40)"
soon "its shim is killed" heard '^vanished 40 '
say start 41 1 1 600 "$(job node 'exec sleep 300')"
soon "it runs" heard '^started 41 '
node=$(timeout 20 squeue -h -j "$(id_of 41)" -o %N)
"$tools/cluster.sh" "$lab" eu kill9-node "$node" >/dev/null
soon "its node is killed" heard '^vanished 41 .*NodeFailed'

for n in $(seq 50); do
  [ "$(grep -c -E "^(ended|vanished|failed-to-start) $n " "$work/events")" -le 1 ] || fail "attempt $n ended twice"
done
[ ! -s "$work/errors" ] || { cat "$work/errors"; fail "the driver complained"; }
echo "slurm_backend: $checks checks passed"
