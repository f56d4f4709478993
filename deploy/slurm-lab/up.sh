#!/bin/bash
# Starts N real, independent Slurm clusters on this machine, with declared GPUs, all on 127.0.0.1, without systemd.
#
#   deploy/slurm-lab/up.sh DIR N        N = 1..6 clusters: eu us asia sa af oc
#   deploy/slurm-lab/down.sh DIR        stops them; --purge also removes DIR
#   deploy/slurm-lab/cluster.sh DIR CLUSTER …   kills, pauses and starts single daemons
#
# Use one:  SLURM_CONF=DIR/eu/slurm.conf sbatch --gres=gpu:2 …
# Partitions: main (default), urgent (higher priority), debug (at most 10 minutes); all on every node of the cluster.
#
# Environment:
#   NODES=1         nodes (slurmd) of each cluster, 1..16; they are called eu-n1, eu-n2, …
#   CPU_NODES=0     the last of them that have no GPUs; they make up the partition cpu, and are in no other
#   GPUS=8          GPUs of each node, 0..64          GPU_TYPE=h100   their type
#   CPUS=64         declared CPUs of each node
#   SHAPE_eu=       the nodes of that cluster, one word each, instead of the four above: their GPUs as in slurm.conf, and '@' with their
#                   CPUs if these are others. SHAPE_eu='h100:4@32 a100:2,l4:2 8 -' has GPUs of one type, of two, without a type, and none
#                   a100_1g.5gb:7 are slices, as far as a name goes
#   SHARDS_eu=0     shares (the resource shard) of each GPU of that cluster, on the nodes without slices
#   DBD=0           1: also starts slurmdbd on a private MariaDB; the clusters are registered, gres/gpu is accounted
#   PREEMPT=off     what a job in urgent does to jobs in main: off | cancel | requeue
#   BASE_PORT=      first of the N*(NODES+1)+1 ports; by default a free range is searched
#   KILL_WAIT=5     seconds between TERM and KILL of a job's processes
#   MIN_JOB_AGE=60  seconds for which a finished job is still shown
#   EXTRA=          more lines for slurm.conf, separated by '\n'; @DIR@ is the cluster's directory. They override the lab's lines.
#
# DIR/<cluster>/{slurm.conf,gres.conf,log/,state/,spool/}, DIR/run/ (pids), DIR/settings. A later up.sh in the same DIR finds
# the state of the clusters as after a power failure. For root everything runs as root, otherwise as the caller.
# Packages: deploy/packages/install.sh slurm
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=deploy/slurm-lab/lib.sh
. "$here/lib.sh"

case ${1:-} in -h|--help) usage; exit 0 ;; esac
[ $# = 2 ] || { usage >&2; exit 2; }

clusters=$2 nodes=${NODES:-1} gpus=${GPUS:-8} gpu_type=${GPU_TYPE:-h100} cpus=${CPUS:-64} dbd=${DBD:-0}
cpu_nodes=${CPU_NODES:-0} preempt=${PREEMPT:-off} base_port=${BASE_PORT:-} kill_wait=${KILL_WAIT:-5} min_job_age=${MIN_JOB_AGE:-60} extra=${EXTRA:-}
number N "$clusters" 1 6
number NODES "$nodes" 1 16
number CPU_NODES "$cpu_nodes" 0 $((nodes - 1))
number GPUS "$gpus" 0 64
number CPUS "$cpus" 1 1024
number DBD "$dbd" 0 1
number KILL_WAIT "$kill_wait" 1 3600
number MIN_JOB_AGE "$min_job_age" 2 86400
[ -z "$base_port" ] || number BASE_PORT "$base_port" 1024 65000
[[ $gpu_type =~ ^[A-Za-z][A-Za-z0-9_]{0,31}$ ]] || bad "GPU_TYPE is '$gpu_type'; it must be a word"
# The shape of each cluster: SHAPE_…, or by NODES, CPU_NODES, GPUS, GPU_TYPE.
shapes=() most_nodes=0 kind='([A-Za-z][A-Za-z0-9_.-]{0,39}:)?[1-9][0-9]?'
uniform=
for ((k = 1; k <= nodes; k++)); do
  if [ "$gpus" = 0 ] || [ "$k" -gt $((nodes - cpu_nodes)) ]; then uniform+=' -'; else uniform+=" $gpu_type:$gpus"; fi
done
for ((i = 0; i < clusters; i++)); do
  shape=SHAPE_${cluster_names[i]}
  shapes[i]=${!shape:-$uniform}
  read -ra shape_nodes <<<"${shapes[i]}"
  [ ${#shape_nodes[@]} -le 16 ] || bad "$shape has more than 16 nodes"
  [ ${#shape_nodes[@]} -le "$most_nodes" ] || most_nodes=${#shape_nodes[@]}
  for node in "${shape_nodes[@]}"; do
    [[ $node =~ ^(-|$kind(,$kind)*)(@[1-9][0-9]{0,2})?$ ]] || bad "$shape: '$node' is no node; say [TYPE:]GPUS[,TYPE:GPUS…][@CPUS], or - for none"
  done
done
gpus_of() { # NODE, as in a shape: the number of its GPUs
  local sum=0 one
  local -a each
  IFS=, read -ra each <<<"${1%@*}"
  for one in "${each[@]}"; do [ "$one" = - ] || sum=$((sum + ${one##*:})); done
  echo "$sum"
}
shards_of() { # CLUSTER NODE, as in a shape: the number of its shards
  local setting=SHARDS_$1
  case $2 in *.*|-*) echo 0 ;; *) echo $((${!setting:-0} * $(gpus_of "$2"))) ;; esac
}
for ((i = 0; i < clusters; i++)); do
  setting=SHARDS_${cluster_names[i]}
  number "$setting" "${!setting:-0}" 0 100
done
case $preempt in off|cancel|requeue) ;; *) bad "PREEMPT is '$preempt'; it must be off, cancel or requeue" ;; esac

PATH=$PATH:/usr/sbin:/sbin
programs=(slurmctld slurmd munged munge sbatch scontrol sinfo unshare setsid ss flock)
[ "$dbd" = 0 ] || programs+=(slurmdbd sacctmgr mariadbd mariadb-install-db mariadb)
for program in "${programs[@]}"; do
  command -v "$program" >/dev/null || fail "$program is not installed; try deploy/packages/install.sh slurm"
done

# ---- the folder ----------------------------------------------------------------------------------------------

case $1 in *[!A-Za-z0-9_./+-]*) bad "'$1': Slurm's configuration can only name folders of A-Z a-z 0-9 _ . / + -" ;; esac
if [ -d "$1" ] && [ ! -f "$1/.slurm-lab" ] && [ -n "$(ls -A "$1")" ]; then bad "$1 is not empty and is no lab"; fi
mkdir -p "$1"
lab=$(cd "$1" && pwd -P)
case $lab in *[!A-Za-z0-9_./+-]*) bad "'$lab': Slurm's configuration can only name folders of A-Z a-z 0-9 _ . / + -" ;; esac
[ ${#lab} -le 59 ] || bad "$lab is too long: paths of sockets are limited to 107 characters; use a path of at most 59"
chmod 755 "$lab"
touch "$lab/.slurm-lab"
exec 9>>"$lab/.lock"
flock -w 30 9 || fail "another command is running on $lab"
if any_alive; then fail "$lab is up already; deploy/slurm-lab/down.sh $lab stops it"; fi
began=$EPOCHREALTIME
mkdir -p "$lab"/{run,log,munge}
rm -f "$lab"/run/*

# ---- where it listens ----------------------------------------------------------------------------------------

# With NoInAddrAny a daemon listens on the address of its host name. If that is not 127.0.0.1, the daemons (and so the jobs)
# get the host name "localhost" in a separate namespace, if the kernel permits.
host=$(hostname)
own_hostname=no
if [ "$(getent ahostsv4 "$host" | awk 'NR == 1 { print $1 }')" != 127.0.0.1 ]; then
  unshare --uts sh -c 'hostname localhost' 2>/dev/null ||
    fail "the host name '$host' must mean 127.0.0.1 here: as root, put the line '127.0.0.1 $host' first into /etc/hosts"
  own_hostname=yes
  echo "up.sh: '$host' does not mean 127.0.0.1: the daemons run as host 'localhost'. For srun and salloc from outside a job put '127.0.0.1 $host' first into /etc/hosts" >&2
  host=localhost
fi
host=${host%%.*}

ports=$((clusters * (most_nodes + 1) + 1))
if [ -n "$base_port" ]; then
  if taken=$(taken_port "$base_port" "$ports"); then fail "port $taken is in use; the lab needs $base_port..$((base_port + ports - 1)), or omit BASE_PORT"; fi
else # below the kernel's ephemeral ports
  base_port=$(free_range "$ports" 12000 20000) || fail "found no $ports free ports between 12000 and 20000; set BASE_PORT"
fi
dbd_port=$((base_port + ports - 1))

cat >"$lab/settings" <<CONF
clusters=$clusters
dbd=$dbd
base_port=$base_port
own_hostname=$own_hostname
CONF

# ---- configuration -------------------------------------------------------------------------------------------

me=$(id -un)
write_slurm_conf() { # CLUSTER FIRST_PORT NODE…
  local cluster=$1 port=$2 dir=$lab/$1 list='' without='' node gres k=0 its_cpus
  shift 2
  cat <<CONF
ClusterName=$cluster
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
AuthInfo=socket=$lab/munge/socket,cred_expire=5
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/state/slurmctld.pid
SlurmdPidFile=$dir/spool/%n.pid
SlurmdLogFile=$dir/log/%n.log
SlurmctldDebug=info
SlurmdDebug=info
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
PropagateResourceLimits=NONE
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=2,bf_interval=5
GresTypes=gpu,shard
MinJobAge=$min_job_age
KillWait=$kill_wait
SlurmdTimeout=10
SlurmctldTimeout=10
InactiveLimit=0
WaitTime=0
JobRequeue=1
MaxJobCount=20000
MaxArraySize=20001
CONF
  if [ "$preempt" != off ]; then echo "PreemptType=preempt/partition_prio"; echo "PreemptMode=${preempt^^}"; fi
  if [ "$dbd" = 1 ]; then
    cat <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$dbd_port
AccountingStoragePass=$lab/munge/socket
AccountingStorageTRES=gres/gpu
CONF
  else
    echo "AccountingStorageType=accounting_storage/none" # with it, AccountingStorageTRES=gres/gpu would be fatal
  fi
  for shape in "$@"; do
    node=$cluster-n$((++k))
    its_cpus=$cpus gres=gpu:${shape%@*}
    [[ $shape != *@* ]] || its_cpus=${shape#*@}
    if [[ $shape == -* ]]; then without+=${without:+,}$node gres=; else list+=${list:+,}$node gres=" Gres=${gres//,/,gpu:}"; fi
    [ "$(shards_of "$cluster" "$shape")" = 0 ] || gres+=,shard:$(shards_of "$cluster" "$shape")
    echo "NodeName=$node NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + k)) CPUs=$its_cpus Boards=1 SocketsPerBoard=1 CoresPerSocket=$its_cpus ThreadsPerCore=1 RealMemory=512000$gres State=UNKNOWN"
  done
  [ -n "$list" ] || list=$without without=
  echo "PartitionName=main Nodes=$list Default=YES MaxTime=INFINITE PriorityTier=10 State=UP"
  echo "PartitionName=urgent Nodes=$list MaxTime=INFINITE PriorityTier=100 State=UP$([ "$preempt" = off ] || echo " PreemptMode=OFF")"
  echo "PartitionName=debug Nodes=$list MaxTime=10 PriorityTier=10 State=UP"
  [ -z "$without" ] || echo "PartitionName=cpu Nodes=$without MaxTime=INFINITE PriorityTier=10 State=UP"
  [ -z "$extra" ] || printf '%b\n' "${extra//@DIR@/$dir}"
}

# Lines for all nodes, whatever their names become, if they are alike.
write_gres_conf() { # CLUSTER NODE…
  local cluster=$1 k=0 first kind type last each
  local -a kinds
  shift
  each=$(printf '%s\n' "${@%@*}" | sort -u | wc -l)
  for shape in "$@"; do
    k=$((k + 1)) first=0
    [ "$each" != 1 ] || [ "$k" = 1 ] || break
    IFS=, read -ra kinds <<<"${shape%@*}"
    for kind in "${kinds[@]}"; do
      [ "$kind" != - ] || continue
      type=${kind%:*} last=$((first + ${kind##*:} - 1))
      [[ $kind == *:* ]] || type=
      echo "$([ "$each" = 1 ] || echo "NodeName=$cluster-n$k ")Name=gpu${type:+ Type=$type} File=$lab/$cluster/dev/gpu$([ "$first" = "$last" ] && echo "$first" || echo "[$first-$last]")"
      first=$((last + 1))
    done
    [ "$(shards_of "$cluster" "$shape")" = 0 ] ||
      echo "$([ "$each" = 1 ] || echo "NodeName=$cluster-n$k ")Name=shard Count=$(shards_of "$cluster" "$shape")"
  done
}

for ((i = 0; i < clusters; i++)); do
  name=${cluster_names[i]}
  dir=$lab/$name
  read -ra shape_nodes <<<"${shapes[i]}"
  mkdir -p "$dir"/{log,state,spool,dev}
  for ((k = 1; k <= ${#shape_nodes[@]}; k++)); do mkdir -p "$dir/spool/$name-n$k"; done
  write_slurm_conf "$name" $((base_port + i * (most_nodes + 1))) "${shape_nodes[@]}" >"$dir/slurm.conf"
  # Slurm ignores a count alone and refuses regular files: it needs devices, and /dev/null is a device.
  for node in "${shape_nodes[@]}"; do
    for ((g = $(gpus_of "$node") - 1; g >= 0; g--)); do ln -sfn /dev/null "$dir/dev/gpu$g"; done
  done
  write_gres_conf "$name" "${shape_nodes[@]}" >"$dir/gres.conf"
  echo "CgroupAutomount=no" >"$dir/cgroup.conf"
done

# ---- daemons -------------------------------------------------------------------------------------------------

# shellcheck disable=SC2154
trap 'status=$?; trap - EXIT; set +e; if [ "$status" != 0 ]; then end_lab; echo "up.sh: failed; all started daemons are stopped, the logs are kept" >&2; fi; exit "$status"' EXIT
[ -s "$lab/munge/key" ] || (umask 077 && head -c 128 /dev/urandom >"$lab/munge/key")
rm -f "$lab/munge/socket" "$lab/munge/socket.lock"
start munged munged -F --force --socket="$lab/munge/socket" --key-file="$lab/munge/key" --pid-file="$lab/munge/pid" \
  --seed-file="$lab/munge/seed" --log-file="$lab/munge/log" --num-threads=4
wait_for 10 munged munge -n -S "$lab/munge/socket"

if [ "$dbd" = 1 ]; then
  maria=$lab/mariadb
  (umask 077 && mkdir -p "$maria") # access to this directory is access to the database; it listens nowhere else
  if [ ! -f "$maria/ready" ]; then
    rm -rf "$maria/data"
    mariadb-install-db --no-defaults --user="$me" --datadir="$maria/data" --skip-test-db --skip-name-resolve >"$lab/log/mariadb-install.log" 2>&1 ||
      { tail -n 15 "$lab/log/mariadb-install.log" >&2; fail "mariadb-install-db failed"; }
    touch "$maria/ready"
  fi
  start mariadbd mariadbd --no-defaults --user="$me" --datadir="$maria/data" --socket="$maria/socket" --pid-file="$maria/pid" \
    --skip-networking --skip-grant-tables --innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=2
  wait_for 30 mariadbd mariadb --no-defaults -S "$maria/socket" -e 'create database if not exists slurm_acct_db'
  mkdir -p "$lab/dbd"
  (umask 077 && cat >"$lab/dbd/slurmdbd.conf") <<CONF
AuthType=auth/munge
AuthInfo=socket=$lab/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$dbd_port
SlurmUser=$me
LogFile=$lab/dbd/slurmdbd.log
PidFile=$lab/dbd/slurmdbd.pid
CommunicationParameters=NoInAddrAny
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
CONF
  start_dbd
  export SLURM_CONF=$lab/eu/slurm.conf
  wait_for 30 slurmdbd timeout 3 sacctmgr -n list cluster
  for ((i = 0; i < clusters; i++)); do
    sacctmgr -n list cluster format=cluster | grep -qw "${cluster_names[i]}" || sacctmgr -i add cluster "${cluster_names[i]}" >/dev/null
  done
  sacctmgr -n list account format=account | grep -qw lab || sacctmgr -i add account lab Description=lab Organization=lab >/dev/null
  sacctmgr -n list user format=user | grep -qw "$me" || sacctmgr -i add user "$me" Account=lab AdminLevel=Admin >/dev/null
  unset SLURM_CONF
fi

# Controllers first: a node without a controller retries only after a second.
for ((i = 0; i < clusters; i++)); do start_ctld "${cluster_names[i]}"; done
for ((i = 0; i < clusters; i++)); do
  wait_for 30 "the controller of ${cluster_names[i]}" ctld_answers "${cluster_names[i]}"
  for node in $(nodes_of "${cluster_names[i]}"); do start_slurmd "$node"; done
done
for ((i = 0; i < clusters; i++)); do
  for node in $(nodes_of "${cluster_names[i]}"); do wait_for 30 "$node" node_ready "$node"; done
done
trap - EXIT

for ((i = 0; i < clusters; i++)); do
  name=${cluster_names[i]}
  read -ra shape_nodes <<<"${shapes[i]}"
  sum=0
  for node in "${shape_nodes[@]}"; do sum=$((sum + $(gpus_of "$node"))); done
  printf '%-4s SLURM_CONF=%s  %d node(s)  %d GPUs\n' "$name" "$lab/$name/slurm.conf" "${#shape_nodes[@]}" "$sum"
done
awk -v a="$began" -v b="$EPOCHREALTIME" -v p="$base_port..$((base_port + ports - 1))" 'BEGIN { printf "up in %.1f s, ports %s of 127.0.0.1\n", b - a, p }'
