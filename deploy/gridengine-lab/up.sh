#!/bin/bash
# Starts a real Grid Engine cell (Son of Grid Engine, from Debian) on this machine: one qmaster and one execution host, on
# 127.0.0.1 alone, as root, without systemd.
#
#   deploy/gridengine-lab/up.sh DIR      GPUS=8: the host's GPUs, a consumable called gpu   SLOTS=64   PORT=: the first of two ports
#   deploy/gridengine-lab/down.sh DIR    stops it; --purge also removes DIR
#
# Use it:  . DIR/env; qsub -terse -b y -l gpu=2 sleep 5
# Packages: deploy/packages/install.sh gridengine
set -euo pipefail
[ $# = 1 ] || { sed -n '2,9p' "$0" | cut -c3- >&2; exit 2; }
gpus=${GPUS:-8} slots=${SLOTS:-64} port=${PORT:-}
[ "$(id -u)" = 0 ] || { echo "gridengine-lab: needs root" >&2; exit 1; }
for program in qsub qconf qstat gcc; do
  command -v "$program" >/dev/null || { echo "gridengine-lab: $program is not installed; deploy/packages/install.sh gridengine" >&2; exit 1; }
done
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
lab=$(cd "$1" && pwd -P)
chmod 755 "$lab"
[ ! -e "$lab/pids" ] || { echo "gridengine-lab: $lab is up" >&2; exit 2; }
: >"$lab/pids"
if [ -z "$port" ]; then # below the kernel's own ports, and beside those of other tests
  for port in $(seq 17000 2 17998 | shuf); do
    if ! ss -Hltn "( sport = :$port or sport = :$((port + 1)) )" | grep -q .; then break; fi
  done
fi
host=$(hostname) base=/usr/lib/gridengine
root=$lab/root cell=$lab/root/default/common
gcc -shared -fPIC -O2 -D_GNU_SOURCE -o "$lab/loopback.so" "$here/loopback.c" -ldl
mkdir -p "$cell" "$lab/spool/qmaster/job_scripts" "$lab/spool/execd" "$lab/spooldb" "$root"/{bin,lib,utilbin}
ln -sfn /usr/share/gridengine/util "$root/util"
arch=$(/usr/share/gridengine/util/arch)
for kind in bin lib utilbin; do ln -sfn "$base" "$root/$kind/$arch"; done
cat >"$lab/env" <<EOF
export SGE_ROOT=$root SGE_CELL=default SGE_ARCH=$arch SGE_QMASTER_PORT=$port SGE_EXECD_PORT=$((port + 1)) SGE_CLUSTER_NAME=p$port
EOF
# shellcheck source=/dev/null
. "$lab/env"
export SGE_ND=1 # daemons stay in the foreground
cat >"$cell/bootstrap" <<EOF
admin_user              none
default_domain          none
ignore_fqdn             true
spooling_method         berkeleydb
spooling_lib            libspoolb
spooling_params         $lab/spooldb
binary_path             $base
qmaster_spool_dir       $lab/spool/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
jvm_threads             0
EOF
echo "$host" >"$cell/act_qmaster"
echo "p$port" >"$cell/cluster_name"
echo "$host localhost" >"$cell/host_aliases" # 127.0.0.1 resolves to localhost first, and Grid Engine insists on one name
sed -e "s#^execd_spool_dir.*#execd_spool_dir $lab/spool/execd#; s#^min_uid.*#min_uid 0#; s#^min_gid.*#min_gid 0#" \
  -e "s#^load_report_time.*#load_report_time 00:00:05#; s#^max_unheard.*#max_unheard 00:00:20#; s#^loglevel.*#loglevel log_info#" \
  -e "s#^reporting_params.*#reporting_params accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:01 joblog=false sharelog=00:00:00#" \
  /usr/share/gridengine/default-configuration >"$lab/conf"
if [ ! -e "$lab/spooldb/sge" ]; then
  {
    "$base/spoolinit" berkeleydb libspoolb "$lab/spooldb" init
    "$base/spooldefaults" configuration "$lab/conf"
    "$base/spooldefaults" complexes /usr/share/gridengine/util/resources/centry
    "$base/spooldefaults" usersets /usr/share/gridengine/util/resources/usersets
    "$base/spooldefaults" managers root
    "$base/spooldefaults" adminhosts "$host"
    "$base/spooldefaults" submithosts "$host"
  } >"$lab/init.log" 2>&1
fi
begin() { # NAME
  LD_PRELOAD=$lab/loopback.so setsid nohup "$base/sge_$1" </dev/null >>"$lab/$1.out" 2>&1 &
  echo "$! $1" >>"$lab/pids"
}
conf() { timeout 10 "$base/qconf" "$@" >>"$lab/init.log" 2>&1 || true; }
begin qmaster
for _ in $(seq 200); do timeout 3 "$base/qconf" -sh >/dev/null 2>&1 && break; sleep 0.1; done
"$base/qconf" -sh >/dev/null
"$base/qconf" -sc | grep -v '^#' >"$lab/complexes"
grep -q '^gpu ' "$lab/complexes" || { echo "gpu gpu INT <= YES YES 0 0" >>"$lab/complexes"; conf -Mc "$lab/complexes"; }
printf '%-22s%s\n' hostname "$host" load_scaling NONE complex_values "gpu=$gpus,slots=$slots" user_lists NONE xuser_lists NONE \
  projects NONE xprojects NONE usage_scaling NONE report_variables NONE >"$lab/host"
conf -Ae "$lab/host"
printf 'group_name @allhosts\nhostlist %s\n' "$host" >"$lab/hosts"
conf -Ahgrp "$lab/hosts"
# For jobs on several nodes: with one host, all of their ranks are there.
# shellcheck disable=SC2016
printf '%s %s\n' pe_name gang slots 999 user_lists NONE xuser_lists NONE start_proc_args /bin/true stop_proc_args /bin/true allocation_rule '$round_robin' \
  control_slaves TRUE job_is_first_task TRUE urgency_slots min accounting_summary TRUE qsort_args NONE >"$lab/pe"
conf -Ap "$lab/pe"
{
  printf '%s %s\n' qname main.q hostlist "$host" seq_no 0 processors UNDEFINED load_thresholds NONE suspend_thresholds NONE nsuspend 1 \
    suspend_interval 00:05:00 priority 0 min_cpu_interval 00:05:00 qtype BATCH ckpt_list NONE pe_list gang rerun FALSE slots "$slots" \
    tmpdir /tmp shell /bin/sh prolog NONE epilog NONE shell_start_mode unix_behavior starter_method NONE suspend_method NONE \
    resume_method NONE terminate_method NONE notify 00:00:05 owner_list NONE user_lists NONE xuser_lists NONE subordinate_list NONE \
    complex_values NONE projects NONE xprojects NONE calendar NONE initial_state default
  for limit in rt cpu fsize data stack core rss vmem; do printf 's_%s INFINITY\nh_%s INFINITY\n' $limit $limit; done
} >"$lab/queue"
conf -Aq "$lab/queue"
conf -as "$host"
"$base/qconf" -ssconf >"$lab/schedule"
sed -i 's/^schedule_interval.*/schedule_interval 0:0:1/; s/^flush_submit_sec.*/flush_submit_sec 1/; s/^flush_finish_sec.*/flush_finish_sec 1/' "$lab/schedule"
conf -Msconf "$lab/schedule"
begin execd
for _ in $(seq 300); do
  "$base/qhost" -h "$host" 2>/dev/null | awk -v host="$host" '$1 == host && $4 != "-" { found = 1 } END { exit !found }' && break
  sleep 0.1
done
echo "up: . $lab/env"
