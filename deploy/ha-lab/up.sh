#!/bin/bash
# Starts a PostgreSQL that survives the loss of a machine: three members of etcd, and PostgreSQL under Patroni on two or
# three of these machines, one of them primary and one a synchronous standby; and haproxy, which leads to the primary.
#
#   deploy/ha-lab/up.sh DIR             prints two connection strings for a broker: with all members, and by haproxy
#   deploy/ha-lab/member.sh DIR …       kills, pauses, cuts off and promotes members
#   deploy/ha-lab/down.sh DIR           stops all; --purge also removes DIR
#
# Environment:
#   MEMBERS=3       machines with PostgreSQL, 2 or 3 (etcd always has three)
#   NETWORK=0       1: each machine has a network namespace and a cable of its own, which can be cut (needs root)
#   TTL=8 LOOP_WAIT=1 RETRY_TIMEOUT=3   Patroni's clocks, in seconds: TTL must be at least LOOP_WAIT + 2 * RETRY_TIMEOUT
#   BASE_PORT=      first of the 13 ports; by default a free range is searched
#
# Everything listens on 127.0.0.1, or on the private network. DIR/{log,run,settings,pgpass}, DIR/data-K (PostgreSQL). A
# later up.sh in the same DIR finds the data as after a power failure. For root the daemons run as user postgres, otherwise as
# the caller.
# Packages: deploy/packages/install.sh run ha
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=deploy/ha-lab/lib.sh
. "$here/lib.sh"

case ${1:-} in -h|--help) usage; exit 0 ;; esac
[ $# = 1 ] || { usage >&2; exit 2; }
members=${MEMBERS:-3} network=${NETWORK:-0} base_port=${BASE_PORT:-}
ttl=${TTL:-8} loop_wait=${LOOP_WAIT:-1} retry_timeout=${RETRY_TIMEOUT:-3}
number MEMBERS "$members" 2 3
number NETWORK "$network" 0 1
number LOOP_WAIT "$loop_wait" 1 60
number RETRY_TIMEOUT "$retry_timeout" 3 60
number TTL "$ttl" $((loop_wait + 2 * retry_timeout)) 600
[ -z "$base_port" ] || number BASE_PORT "$base_port" 1024 65000
for program in etcd patroni patronictl haproxy psql curl setpriv setsid flock "$postgres_bin/postgres"; do
  command -v "$program" >/dev/null || fail "$program is not installed; try deploy/packages/install.sh run ha"
done

# ---- the folder ----------------------------------------------------------------------------------------------

case $1 in *[!A-Za-z0-9_./+-]*) bad "'$1': connection strings need a folder of A-Z a-z 0-9 _ . / + -" ;; esac
if [ -d "$1" ] && [ ! -f "$1/.ha-lab" ] && [ -n "$(ls -A "$1")" ]; then bad "$1 is not empty and is no lab"; fi
mkdir -p "$1"
lab=$(cd "$1" && pwd -P)
[ ${#lab} -le 80 ] || bad "$lab is too long: paths of sockets are limited to 107 characters; use a path of at most 80"
chmod 755 "$lab"
touch "$lab/.ha-lab"
exec 9>>"$lab/.lock"
flock -w 30 9 || fail "another command is running on $lab"
if any_alive; then fail "$lab is up already; deploy/ha-lab/down.sh $lab stops it"; fi
began=$EPOCHREALTIME
mkdir -p "$lab"/{run,log}
rm -f "$lab"/run/*

# A second start finds the ports of the first: etcd's members know one another by them.
if [ -f "$lab/settings" ]; then
  # shellcheck source=/dev/null
  . "$lab/settings"
else
  ports=$((4 * machines + 1))
  if [ -n "$base_port" ]; then
    if taken=$(taken_port "$base_port" "$ports"); then fail "port $taken is in use; the lab needs $ports from $base_port, or omit BASE_PORT"; fi
  else # below those of the Slurm lab
    base_port=$(free_range "$ports" 10100 12000) || fail "found no $ports free ports between 10100 and 12000; set BASE_PORT"
  fi
  prefix=ha$base_port-
  cat >"$lab/settings" <<CONF
members=$members
network=$network
base_port=$base_port
prefix=$prefix
CONF
fi

# ---- configuration -------------------------------------------------------------------------------------------

if [ "$network" = 1 ]; then # one bridge for all cables; the caller's end is 10.98.0.1
  ip link add "${prefix}0" type bridge
  ip addr add 10.98.0.1/24 dev "${prefix}0"
  ip link set "${prefix}0" up
  for ((k = 1; k <= machines; k++)); do
    ip netns add "$prefix$k"
    ip link add "$(device_of "$k")" type veth peer name uplink netns "$prefix$k"
    ip link set "$(device_of "$k")" master "${prefix}0" up
    ip -n "$prefix$k" addr add "$(address_of "$k")/24" dev uplink
    ip -n "$prefix$k" link set uplink up
    ip -n "$prefix$k" link set lo up
  done
fi

umask 077
[ -s "$lab/secret" ] || head -c 24 /dev/urandom | base64 | tr '+/' '-_' >"$lab/secret"
secret=$(cat "$lab/secret")
echo "*:*:*:postgres:$secret" >"$lab/pgpass"
for ((k = 1; k <= members; k++)); do
  cat >"$lab/patroni-$k.yaml" <<CONF
scope: helio
name: pg$k
log: {level: INFO}
restapi: {listen: "$(address_of "$k"):$(port_of rest "$k")", connect_address: "$(address_of "$k"):$(port_of rest "$k")"}
# Not etcd3: in Patroni 3.0.2 (Debian 12) that driver takes the leader's key from a new primary when an old one wakes, and
# commits that were confirmed are gone. Mended in 3.0.3. The driver of the older protocol writes only over its own name.
etcd: {hosts: [$(etcd_endpoints)]}
bootstrap:
  dcs:
    ttl: $ttl
    loop_wait: $loop_wait
    retry_timeout: $retry_timeout
    # Only a standby that confirmed every commit is promoted, so a promotion loses nothing. Not strict: while no standby is
    # there, the primary goes on alone, and none is promoted until it is back.
    synchronous_mode: true
    # A PostgreSQL that ended is not tried again where it was, if another member can go on.
    master_start_timeout: 0
    maximum_lag_on_failover: 16777216
    postgresql:
      use_pg_rewind: true
      parameters: {wal_log_hints: "on", max_connections: 120, shared_buffers: 64MB, wal_keep_size: 256MB}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, data-checksums]
postgresql:
  listen: $(address_of "$k"):$(port_of postgres "$k")
  connect_address: $(address_of "$k"):$(port_of postgres "$k")
  data_dir: $lab/data-$k
  bin_dir: $postgres_bin
  pgpass: $lab/pgpass-$k
  parameters: {unix_socket_directories: $lab/socket-$k, recovery_init_sync_method: syncfs}
  pg_hba: [host all all all scram-sha-256, host replication all all scram-sha-256]
  authentication:
    superuser: {username: postgres, password: $secret}
    replication: {username: replicator, password: $secret}
    rewind: {username: postgres, password: $secret}
CONF
  mkdir -p "$lab/socket-$k"
done
for ((k = 1; k <= machines; k++)); do mkdir -p "$lab/etcd-$k"; done
{
  cat <<CONF
global
    maxconn 400
defaults
    mode tcp
    timeout connect 2s
    timeout check 2s
    timeout client 1h
    timeout server 1h
listen primary
    bind 127.0.0.1:$(proxy_port)
    option httpchk OPTIONS /primary
    http-check expect status 200
    # A connection to a member that is no longer the primary ends, and its client looks for the new one.
    default-server inter 1s fastinter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
CONF
  for ((k = 1; k <= members; k++)); do
    echo "    server pg$k $(address_of "$k"):$(port_of postgres "$k") check port $(port_of rest "$k")"
  done
} >"$lab/haproxy.cfg"
umask 022
if [ "$(id -u)" = 0 ]; then
  chown postgres "$lab" "$lab/haproxy.cfg" "$lab"/socket-* "$lab"/etcd-* "$lab"/patroni-*.yaml
fi

# ---- daemons -------------------------------------------------------------------------------------------------

# shellcheck disable=SC2154
trap 'status=$?; trap - EXIT; set +e; if [ "$status" != 0 ]; then end_lab; echo "up.sh: failed; all started daemons are stopped, the logs are kept" >&2; fi; exit "$status"' EXIT
for ((k = 1; k <= machines; k++)); do start_etcd "$k"; done
etcd_answers() { ETCDCTL_API=3 curl -sf --max-time 2 -o /dev/null "http://$(address_of 1):$(port_of etcd 1)/health"; }
wait_for 30 etcd etcd_answers
for ((k = 1; k <= members; k++)); do start_patroni "$k"; done
wait_for 90 "a primary and its standbys" whole
start_haproxy
# Until its first checks, haproxy holds each member for the primary, and takes them in turn.
leads() { local k; for ((k = 1; k <= members; k++)); do psql -qXAtd "$(proxied)" -c 'select 1' || return 1; done; }
wait_for 15 haproxy leads
trap - EXIT

listed
proxied
awk -v a="$began" -v b="$EPOCHREALTIME" -v n="$members" 'BEGIN { printf "up in %.1f s, %d members\n", b - a, n }'
