# shellcheck shell=bash
# Shared by up.sh, down.sh and member.sh; sourced, with the variable `lab` set to the lab's folder (absolute).
#
# Member K is a machine with the daemons etcd-K and patroni-K, which starts and ends PostgreSQL; haproxy stands beside them.
# $lab/settings holds the options and findings of up.sh; every later command reads it.

# shellcheck source=deploy/daemons.sh
. "$(dirname "${BASH_SOURCE[0]}")/../daemons.sh"
# shellcheck disable=SC2154
true "${lab-}" "${base_port-}" "${members-}" "${network-}" "${prefix-}" # come from the settings

machines=3 # of etcd: a majority outlives one; PostgreSQL runs on the first `members` of them
PATH=$PATH:/usr/sbin:/sbin
# shellcheck disable=SC2034
postgres_bin=${HELIO_PGBIN:-/usr/lib/postgresql/15/bin}

log_of() { echo "$lab/log/$1.log"; }
address_of() { if [ "$network" = 1 ]; then echo "10.98.0.$((10 + $1))"; else echo 127.0.0.1; fi; } # K
port_of() { # WHAT K: each member has ports of its own, so that all of them can share an address
  local -A offset=([postgres]=0 [rest]=1 [etcd]=2 [peers]=3)
  echo $((base_port + 4 * ($2 - 1) + offset[$1]))
}
proxy_port() { echo $((base_port + 4 * machines)); }
each_of() { # LAST FORMAT WHAT…: the format once for each machine, with its address and ports, separated by commas
  local k list='' what values
  for ((k = 1; k <= $1; k++)); do
    values=("$(address_of "$k")")
    for what in "${@:3}"; do values+=("$(port_of "$what" "$k")"); done
    # shellcheck disable=SC2059
    printf -v what "$2" "${values[@]}"
    list+=${list:+,}$what
  done
  echo "$list"
}
etcd_endpoints() { each_of "$machines" '%s:%s' etcd; }
# How a broker reaches whichever member is the primary: by their list, or by haproxy. connect_timeout is for one member.
login="dbname=postgres user=postgres passfile=%s/pgpass target_session_attrs=read-write connect_timeout=3"
# shellcheck disable=SC2059
listed() { printf "host=%s port=%s $login\n" "$(each_of "$members" %s)" "$(each_of "$members" '%.0s%s' postgres)" "$lab"; }
# shellcheck disable=SC2059
proxied() { printf "host=127.0.0.1 port=%s $login\n" "$(proxy_port)" "$lab"; }

# No daemon runs as root: PostgreSQL refuses to, and the others need no rights. setpriv becomes its command, so the recorded
# pid is the daemon's.
as_owner=()
[ "$(id -u)" != 0 ] || as_owner=(setpriv --reuid=postgres --regid=postgres --init-groups --reset-env)
on_machine() { [ "$network" = 0 ] || echo "nsenter --net=/run/netns/$prefix$1"; } # K: words that run a command there

start_etcd() { # K
  local k=$1 here
  here=$(address_of "$k")
  # shellcheck disable=SC2046
  launch "etcd-$k" $(on_machine "$k") "${as_owner[@]}" etcd --name "etcd-$k" --data-dir "$lab/etcd-$k" --logger zap --log-level warn \
    --listen-client-urls "http://$here:$(port_of etcd "$k")" --advertise-client-urls "http://$here:$(port_of etcd "$k")" \
    --listen-peer-urls "http://$here:$(port_of peers "$k")" --initial-advertise-peer-urls "http://$here:$(port_of peers "$k")" \
    --initial-cluster "$(for ((k = 1; k <= machines; k++)); do printf 'etcd-%s=http://%s:%s,' "$k" "$(address_of "$k")" "$(port_of peers "$k")"; done)" \
    --initial-cluster-token "$prefix" --enable-v2 # see up.sh
}
start_patroni() { # K
  # shellcheck disable=SC2046
  launch "patroni-$1" $(on_machine "$1") "${as_owner[@]}" patroni "$lab/patroni-$1.yaml"
}
start_haproxy() { launch haproxy "${as_owner[@]}" "$(command -v haproxy)" -db -f "$lab/haproxy.cfg"; }
ask() { curl -sf --max-time 2 -o /dev/null "http://$(address_of "$1"):$(port_of rest "$1")/$2"; } # K ROLE: of Patroni's REST API
primary() { # prints K
  local k
  for ((k = 1; k <= members; k++)); do if ask "$k" primary; then echo "$k"; return; fi; done
  return 1
}
has_sync_standby() { local k; for ((k = 1; k <= members; k++)); do if ask "$k" sync; then return; fi; done; return 1; }
whole() { # a primary, and all others stream from it
  local k
  primary >/dev/null && has_sync_standby || return 1
  for ((k = 1; k <= members; k++)); do ask "$k" primary || ask "$k" "replica?lag=16MB" || return 1; done
}

below() { # PID…: these processes and all their descendants
  local pid list=("$@") i
  for ((i = 0; i < ${#list[@]}; i++)); do
    # shellcheck disable=SC2013
    for pid in $(cat /proc/"${list[i]}"/task/*/children 2>/dev/null); do list+=("$pid"); done
  done
  echo "${list[@]}"
}
postmaster() { # K: the pid of its PostgreSQL, if it runs there
  local pid
  { read -r pid <"$lab/data-$1/postmaster.pid"; } 2>/dev/null || return 1
  [ "$(readlink "/proc/$pid/cwd")" = "$lab/data-$1" ] && echo "$pid"
}
processes() { # K: all processes of the machine
  local name pid found=()
  for name in "etcd-$1" "patroni-$1"; do if pid=$(pid_of "$name"); then found+=("$pid"); fi; done
  if pid=$(postmaster "$1"); then found+=("$pid"); fi
  [ ${#found[@]} = 0 ] || below "${found[@]}"
}
kill9_machine() { # K: repeats until nothing is left, because processes may fork meanwhile
  local pids
  for _ in $(seq 100); do
    pids=$(processes "$1")
    if [ -z "$pids" ]; then
      rm -f "$lab/run/etcd-$1" "$lab/run/patroni-$1" "$lab/data-$1/postmaster.pid"
      return 0 # in a trap `return` alone means the status before it
    fi
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null
    sleep 0.02
  done
  return 1
}
device_of() { echo "$prefix$1"; } # K: the end of its cable in the namespace of the caller

end_lab() { # Patroni ends its PostgreSQL; what it leaves is killed
  local k
  # shellcheck disable=SC2046
  { stop TERM $(recorded haproxy); stop TERM $(recorded 'patroni-*'); stop TERM $(recorded 'etcd-*'); }
  for ((k = 1; k <= machines; k++)); do
    kill9_machine "$k" || echo "${0##*/}: processes are left: $(processes "$k")" >&2
    [ "$network" = 0 ] || ip netns del "$prefix$k" 2>/dev/null || true
  done
  [ "$network" = 0 ] || ip link del "${prefix}0" 2>/dev/null || true
}
