#!/bin/bash
# Starts a whole federation on this machine: PostgreSQL, a broker, six sites on four continents with declared GPUs, some
# jobs, and the plan of a job that may wait for solar power.
#
#   deploy/quickstart.sh            installs missing packages (Debian 12), builds, starts the federation, runs examples/*.yaml and
#                                   leaves the federation running; run again, it restarts all programs while jobs continue, and
#                                   runs the examples again
#   deploy/quickstart.sh --check    the same without a terminal, then stops everything; exits with 0 only if every job ended as
#                                   expected
#   deploy/quickstart.sh --down     cancels all open jobs and stops everything that it started, and whatever was started by hand with the
#                                   settings in its state directory
#   deploy/quickstart.sh --purge    the same, and removes the state directory
#   --state DIR                     state directory; default for root /var/lib/heliostat-quickstart, for other users
#                                   ~/.local/state/heliostat-quickstart
#   --build DIR                     use the programs in this build directory instead of building
#   --port N                        ports N (HTTP) and N+1 (sites) of the broker; default: those that it had before, or two free ones
#                                   from 7480 on
#
# It does not start where its ports or its state directory are in use by other programs, and names them.
# Apart from installing packages and building in build-release, the script changes only its state directory. All programs listen on 127.0.0.1.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
mode=up
state=
build=
port=
if [ "$(id -u)" = 0 ]; then default_state=/var/lib/heliostat-quickstart; else default_state=${XDG_STATE_HOME:-$HOME/.local/state}/heliostat-quickstart; fi
while [ $# -gt 0 ]; do
  case $1 in
    --check) mode=check ;;
    --down) mode=down ;;
    --purge) mode=purge ;;
    --state) state=${2:?--state needs a folder}; shift ;;
    --build) build=${2:?--build needs a folder}; shift ;;
    --port) port=${2:?--port needs a number}; shift ;;
    -h|--help) sed -n '2,/^set /{/^#/p}' "$0" | cut -c3-; exit 0 ;;
    *) echo "quickstart: unknown option '$1'; see --help" >&2; exit 2 ;;
  esac
  shift
done
state=${state:-$default_state}
case $state in /*) ;; *) state=$PWD/$state ;; esac # settings name files in it
elsewhere= # a state directory other than the default must be named again
[ "$state" = "$default_state" ] || elsewhere=" --state $state"

say() { printf '\n\033[1m── %s\033[0m\n' "$*" | { [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && cat || sed 's/\x1b\[[0-9;]*m//g'; }; }
fail() { echo "quickstart: $*" >&2; exit 1; }

# ---- processes: each in its own session, stopped by pid, and only if the pid still belongs to it ----------------------

start_time() { awk '{ sub(/^.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null; }
alive() { # NAME: the recorded process exists, is the one that was started, and is not a zombie
  local pid born
  [ -f "$state/run/$1.pid" ] || return 1
  read -r pid born <"$state/run/$1.pid" # states of older versions have both numbers in one file
  [ -n "$born" ] || born=$(cat "$state/run/$1.born" 2>/dev/null)
  [ -n "$born" ] && [ "$(start_time "$pid")" = "$born" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null
}
start() { # NAME COMMAND…: logs to $state/log/NAME.log
  local name=$1
  shift
  setsid "$@" </dev/null >>"$state/log/$name.log" 2>&1 9>&- &
  record "$name" $!
}
record() { # NAME PID: NAME.pid has the pid alone, for `kill $(cat NAME.pid)`
  start_time "$2" >"$state/run/$1.born" || true
  echo "$2" >"$state/run/$1.pid"
}
forget() { rm -f "$state/run/$1.pid" "$state/run/$1.born"; }
stop() { # NAME [SIGNAL]
  alive "$1" || { forget "$1"; return 0; }
  local pid _
  read -r pid _ <"$state/run/$1.pid"
  kill -"${2:-TERM}" "$pid" 2>/dev/null || true
  for _ in $(seq 100); do alive "$1" || break; sleep 0.1; done
  if alive "$1"; then kill -KILL "$pid" 2>/dev/null || true; fi
  forget "$1"
}

# ---- what else uses the state directory, or its ports --------------------------------------------------------------

command_of() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | cut -c -160; }
is_ours() { # PID: this script started it
  local pid_file
  for pid_file in "$state"/run/*.pid; do
    if [ -f "$pid_file" ] && [ "$(cut -d' ' -f1 "$pid_file")" = "$1" ] && alive "$(basename "$pid_file" .pid)"; then return 0; fi
  done
  return 1
}
uses_state() { # PID: it is a broker or an agent with settings in the state directory
  local words=() word
  { mapfile -d '' -t words <"/proc/$1/cmdline"; } 2>/dev/null || return 1
  case ${words[0]-} in */helio-broker | helio-broker | */helio-agent | helio-agent) ;; *) return 1 ;; esac
  for word in "${words[@]:1}"; do
    case $word in *.yaml) ;; *) continue ;; esac
    case $(cd "/proc/$1/cwd" 2>/dev/null && realpath -m -- "${word#--config=}" 2>/dev/null) in "$(realpath -m -- "$state")"/*) return 0 ;; esac
  done
  return 1
}
strangers() { # the pids of those that somebody started by hand
  local folder pid
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    if uses_state "$pid" && ! is_ours "$pid"; then echo "$pid"; fi
  done
}
shims() { # the pids of those that run jobs of sites in the state directory
  local folder words word here
  here=$(realpath -m -- "$state")
  for folder in /proc/[0-9]*; do
    words=()
    { mapfile -d '' -t words <"$folder/cmdline"; } 2>/dev/null || continue
    case ${words[0]-} in */helio-shim | helio-shim) ;; *) continue ;; esac
    for word in "${words[@]}" "$(readlink "$folder/cwd" 2>/dev/null)"; do
      case $word in "$state"/* | "$here"/*) echo "${folder#/proc/}"; break ;; esac
    done
  done
}
# A shim that gets SIGTERM ends its job, with its grace time; with SIGUSR2, at once. The guardian beside a shim has the same command line, and
# outlives a shim that was killed until nothing of the attempt is left: it is never killed itself.
end_shims() {
  local left signal pid _
  left=$(shims)
  [ -n "$left" ] || return 0
  echo "ending the jobs that no broker could cancel (processes $(echo $left))"
  for signal in TERM USR2 KILL; do
    for pid in $left; do
      [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = helio-guardian ] || { kill -$signal "$pid" && kill -CONT "$pid"; } 2>/dev/null || true
    done
    for _ in $(seq $([ $signal = TERM ] && echo 150 || echo 50)); do left=$(shims); [ -n "$left" ] || return 0; sleep 0.1; done
  done
  fail "still running: process $(echo $left)"
}
holder() { # PORT: who listens there, as far as this user can see
  local hex inode pid=
  hex=$(printf ':%04X' "$1")
  inode=$(awk -v port="$hex" '$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  [ -z "$inode" ] || pid=$(find /proc/[0-9]*/fd -lname "socket:\[$inode\]" -print -quit 2>/dev/null | cut -d/ -f3)
  if [ -n "$pid" ]; then echo "process $pid ($(command_of "$pid"))"; else echo "a process of another user"; fi
}
is_open() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
port_of() { sed -n "s|^$1: .*127\.0\.0\.1:\([0-9]*\)\$|\1|p" "$state/broker.yaml" 2>/dev/null || true; } # SETTING
# A second broker on the same database would stand by, and the agents would follow the first: so nothing starts beside it.
refuse_company() {
  local pid at
  for pid in $(strangers); do
    fail "process $pid ($(command_of "$pid")) was started by hand with the settings in $state: end it (kill $pid), or stop all with deploy/quickstart.sh --down$elsewhere"
  done
  http_port=${port:-$(port_of listen_http)}
  site_port=${port:+$((port + 1))}
  site_port=${site_port:-$(port_of listen_sites)}
  for at in $http_port $site_port; do
    if alive broker && { [ "$at" = "$(port_of listen_http)" ] || [ "$at" = "$(port_of listen_sites)" ]; }; then continue; fi
    ! is_open "$at" || fail "port $at is in use by $(holder "$at"): end it, or choose other ports with --port N"
  done
}

# One at a time in a state directory. The lock ends with this script: what it starts does not inherit it.
only_here() {
  exec 9>>"$state/.quickstart-lock"
  flock -n 9 || fail "another quickstart (process $(cat "$state/.quickstart-lock")) works in $state: wait until it has ended"
  echo $$ >"$state/.quickstart-lock"
}

# PostgreSQL refuses to run as root; as root, use the account that its package created.
as_pg() { if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }
pg_bin() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

down() { # [keep]: leaves jobs running
  [ -d "$state/run" ] || return 0
  local by_hand pid
  by_hand=$(strangers)
  if [ "${1:-}" != keep ] && [ -x "$state/bin/helio" ] && { alive broker || [ -n "$by_hand" ]; }; then # jobs outlive their agent by design: cancel them first
    local open state_of
    open=$(for state_of in queued held offered accepted starting running suspended suspect; do client ls --all --state $state_of -o name 2>/dev/null; done || true)
    [ -z "$open" ] || { echo "cancelling $(wc -l <<<"$open") jobs that are still open"; client cancel $open >/dev/null 2>&1 || true; client wait $open --timeout 10s >/dev/null 2>&1 || true; }
  fi
  local pid_file
  for pid_file in "$state"/run/site-*.pid; do [ ! -f "$pid_file" ] || stop "$(basename "$pid_file" .pid)"; done
  stop broker
  for pid in $by_hand; do
    record by-hand "$pid"
    echo "stopping process $pid, which was started by hand: $(command_of "$pid")"
    stop by-hand
  done
  [ "${1:-}" = keep ] || end_shims
  if [ -f "$state/pg/data/postmaster.pid" ]; then as_pg "$(pg_bin)/pg_ctl" -D "$state/pg/data" -m fast -w stop >/dev/null 2>&1 || true; fi
}
manage() { # COMMAND…: of helio-broker, quiet unless it fails
  "$state/bin/helio-broker" "$@" --config "$state/broker.yaml" >>"$state/log/migrate.log" 2>&1 ||
    { tail -n 1 "$state/log/migrate.log" >&2; fail "helio-broker $1 failed; its log is $state/log/migrate.log"; }
}
client() { HELIO_TOKEN_FILE="$state/client/token" HELIO_BROKER="$(cat "$state/client/url")" "$state/bin/helio" "$@"; }

case $mode in down | purge) [ ! -f "$state/.heliostat-quickstart" ] || only_here ;; esac
if [ "$mode" = down ]; then
  [ -d "$state" ] || fail "nothing runs there: $state does not exist; name the state directory with --state DIR"
  down; echo "stopped; the state is in $state (--purge removes it)"; exit 0
fi
if [ "$mode" = purge ]; then
  down
  case $state in /|"$HOME"|"") fail "refusing to remove '$state'" ;; esac
  [ ! -d "$state" ] || [ -f "$state/.heliostat-quickstart" ] || fail "$state was not created by this script and is not removed"
  rm -rf "$state"
  echo "stopped and removed $state"
  exit 0
fi

[ -z "$port" ] || { [ "$port" -ge 1 ] && [ "$port" -le 65534 ]; } 2>/dev/null || fail "--port: a number from 1 to 65534, not '$port'"
refuse_company
[ -d "$state" ] || { mkdir -p "$state" && touch "$state/.heliostat-quickstart"; }
only_here
for file in "$top"/deploy/quickstart/sites/*.yaml; do # before anything is stopped
  name=$(basename "$file" .yaml)
  grep -qx "name: $name" "$file" || fail "$file must contain the line 'name: $name': the file name is the name of the site"
done

# ---- packages and programs -----------------------------------------------------------------------------------

say "Packages"
"$top/deploy/packages/install.sh" build run 9>&-
echo "all installed"

if [ -z "$build" ]; then
  say "Build"
  build=$top/build-release
  (cd "$top" && cmake --preset release >/dev/null 2>&1 && cmake --build "$build" --target helio-broker helio-agent helio-shim helio helio-simulate) |
    { if [ -t 1 ]; then cat; else tail -n 1; fi; }
fi
for program in helio-broker helio-agent helio-shim helio helio-simulate; do [ -x "$build/$program" ] || fail "$build/$program is missing: build first"; done

# A second run replaces the programs of the first; jobs outlive them. A check needs all GPUs, so it stops the jobs too.
if [ "$mode" = up ]; then down keep; else down; fi
mkdir -p "$state"/{run,log,bin,client,pg}
touch "$state/.heliostat-quickstart"
chmod 755 "$state"
for program in helio-broker helio-agent helio-shim helio helio-simulate; do install -m 755 "$build/$program" "$state/bin/$program"; done

free_port() { # FIRST: the first free port from FIRST on
  local port=$1
  while is_open "$port"; do port=$((port + 1)); done
  echo "$port"
}

random_word() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# ---- PostgreSQL ----------------------------------------------------------------------------------------------

say "PostgreSQL"
pg_port=$(free_port 25480)
[ "$(id -u)" != 0 ] || chown postgres "$state/pg"
# Jobs run on this machine and can reach all of its ports, so the database requires a password. The broker's role owns its database and
# no more; what only a superuser can do, this script does, as the role postgres. States of older versions know one role, helio.
password_file=$state/pg.pass
admin_file=$state/pg.admin.pass
fresh_password=
if [ ! -s "$password_file" ]; then
  fresh_password=$(random_word)
  (umask 077 && echo "*:*:*:helio:$fresh_password" >"$password_file")
fi
if [ ! -f "$state/pg/data/PG_VERSION" ]; then
  (umask 077 && random_word >"$state/pg/password" && echo "*:*:*:postgres:$(cat "$state/pg/password")" >"$admin_file")
  [ "$(id -u)" != 0 ] || chown postgres "$state/pg/password"
  as_pg "$(pg_bin)/initdb" -D "$state/pg/data" -U postgres -A scram-sha-256 --pwfile="$state/pg/password" -E UTF8 --locale=C.UTF-8 -k \
    >"$state/log/initdb.log" 2>&1 || { tail -n 5 "$state/log/initdb.log"; fail "initdb failed"; }
  rm -f "$state/pg/password"
  fresh_password=
fi
{ as_pg tee "$state/pg/data/postgresql.auto.conf" >/dev/null; } <<CONF
listen_addresses = '127.0.0.1'
port = $pg_port
unix_socket_directories = ''
CONF
pg_start() { as_pg "$(pg_bin)/pg_ctl" -D "$state/pg/data" -l "$state/pg/log" -w -t 120 start >/dev/null 2>&1 9>&-; }
for _ in 1 2 3 4 5; do # another program may take the port in the meantime
  pg_start && break
  { [ ! -e "$state/pg/data/postmaster.pid" ] && tail -n 5 "$state/pg/log" | grep -q "could not bind"; } || { tail -n 5 "$state/pg/log"; fail "PostgreSQL did not start"; }
  pg_port=$(free_port $((pg_port + 1 + RANDOM % 50)))
  as_pg sed -i "s/^port = .*/port = $pg_port/" "$state/pg/data/postgresql.auto.conf"
done
database="host=127.0.0.1 port=$pg_port user=helio dbname=helio passfile=$password_file"
admin="host=127.0.0.1 port=$pg_port $([ -s "$admin_file" ] && echo "user=postgres passfile=$admin_file" || echo "user=helio passfile=$password_file")"
if [ -n "$fresh_password" ]; then # created by an older version, which required no password
  echo "alter role helio password '$fresh_password'" | psql -qX "$admin dbname=postgres"
  echo "host all all 127.0.0.1/32 scram-sha-256" | as_pg tee "$state/pg/data/pg_hba.conf" >/dev/null
  as_pg "$(pg_bin)/pg_ctl" -D "$state/pg/data" reload >/dev/null
fi
psql -qX -v ON_ERROR_STOP=1 "$admin dbname=postgres" <<SQL
select format('create role %I %s', r.name, r.login) from (values ('helio', 'login'), ('helio_owner', 'nologin'), ('helio_broker', 'nologin'),
  ('helio_reader', 'login')) r (name, login) where not exists (select from pg_roles where rolname = r.name) \gexec
alter role helio password '$(cut -d: -f5 "$password_file")';
select 'create database helio owner helio' where not exists (select from pg_database where datname = 'helio') \gexec
SQL
echo "127.0.0.1:$pg_port, fsync on"

# ---- broker --------------------------------------------------------------------------------------------------

say "Broker"
http_port=${http_port:-$(free_port 7480)}
site_port=${site_port:-$(free_port $((http_port + 1)))}
[ -f "$state/broker.key" ] || "$state/bin/helio-broker" keygen "$state/broker.key" >"$state/broker.pub"
cat >"$state/broker.yaml" <<CONF
database: "$database"
listen_http: 127.0.0.1:$http_port
listen_sites: tcp://127.0.0.1:$site_port
key_file: $state/broker.key
CONF
manage migrate
manage tenant add demo --home brisbane
# The login for reading figures: a password makes it usable. Its limits, and privileges of every login, are a superuser's to set.
reader_file=$state/reader.pass
[ -s "$reader_file" ] || (umask 077 && echo "*:*:*:helio_reader:$(random_word)" >"$reader_file")
psql -qX -v ON_ERROR_STOP=1 "$admin dbname=helio" >/dev/null <<SQL
alter role helio_reader password '$(cut -d: -f5 "$reader_file")';
select helio.reader_limits('helio_reader') \gexec
select helio.missing_privilege_checks() \gexec
SQL
reader="host=127.0.0.1 port=$pg_port user=helio_reader dbname=helio passfile=$reader_file"
echo "http://127.0.0.1:$http_port" >"$state/client/url"
if [ ! -s "$state/client/token" ]; then
  (umask 077 && "$state/bin/helio-broker" token add --tenant demo --user "$(id -un)" --role admin --config "$state/broker.yaml" >"$state/client/token" 2>>"$state/log/migrate.log")
fi

# One site for each file in deploy/quickstart/sites: NAME.yaml with `name: NAME`. Their GPUs are declared: jobs see them as CUDA_VISIBLE_DEVICES.
# `agent.users` in STATE/NAME/site.yaml lists further users; the next run keeps those lines. The carbon intensity is a
# typical day, shifted to the dates from yesterday to 14 days ahead: past hours are history, future hours the forecast.
sites=()
for file in "$top"/deploy/quickstart/sites/*.yaml; do
  name=$(basename "$file" .yaml)
  sites+=("$name")
done
without_feed=$(cd "$top/deploy/quickstart/sites" && grep -L @FEED@ -- *.yaml | sed 's/\.yaml$//' | tr '\n' ' ')
series() {
  local day
  echo "time,$(head -n 1 "$top/deploy/quickstart/typical_day.csv" | cut -d, -f2-)"
  for day in $(seq -1 14); do
    awk -F, -v OFS=, -v date="$(date -u -d "$day days" +%F)" \
      'NR > 1 { $1 = sprintf("%sT%02d:00:00Z", date, $1); print }' "$top/deploy/quickstart/typical_day.csv"
  done
}
series >"$state/typical_day.csv"
if [ "$(id -u)" = 0 ]; then job_user=nobody; else job_user=$(id -un); fi
users_of() { # FILE: the lines of `users`, as the operator left them
  [ ! -f "$1" ] || awk '/^  users:/ { take = 1; print; next } take && /^(   |  -|[[:space:]]*(#|$))/ { print; next } { take = 0 }' "$1"
}
site() { # NAME
  local users
  mkdir -p "$state/$1"
  users=$(users_of "$state/$1/site.yaml")
  [ -n "$users" ] || users="  users: [{tenant: demo, user: \"*\", unix: $job_user}]"
  [ -f "$state/$1/agent.key" ] || "$state/bin/helio-agent" keygen "$state/$1/agent.key" >"$state/$1/agent.pub"
  manage site add "$1" "$(tail -n 1 "$state/$1/agent.pub")"
  { echo "# Made by deploy/quickstart.sh at each run from deploy/quickstart/sites/$1.yaml. Of changes here only those of \`users\` are kept."
    sed "s|@FEED@|$state/typical_day.csv|" "$top/deploy/quickstart/sites/$1.yaml" && cat; } >"$state/$1/site.yaml.new" <<CONF
  state_dir: $state/$1/state
  broker: ["tcp://127.0.0.1:$site_port"]
  broker_key: "$(tail -n 1 "$state/broker.pub")"
  key_file: $state/$1/agent.key
  shim: $state/bin/helio-shim
  # A trial: the jobs of all users at all sites run as one account, and are not separated. Else: docs/tenants.md
$users
CONF
  if [ -f "$state/$1/site.yaml" ] && ! diff -q <(grep -Ev '^(#|  broker:)' "$state/$1/site.yaml") <(grep -Ev '^(#|  broker:)' "$state/$1/site.yaml.new") >/dev/null; then
    mv "$state/$1/site.yaml" "$state/$1/site.yaml.former"
    echo "$state/$1/site.yaml is made anew; the former one, which differs, is site.yaml.former. Change deploy/quickstart/sites/$1.yaml instead."
  fi
  mv "$state/$1/site.yaml.new" "$state/$1/site.yaml"
}
for name in "${sites[@]}"; do site "$name"; done

[ "$mode" != check ] || trap down EXIT # also after a failure
log_before=$(stat -c %s "$state/log/broker.log" 2>/dev/null || echo 0)
start broker "$state/bin/helio-broker" run --config "$state/broker.yaml"
since=$(date -u +%FT%T.%3NZ) # the broker's data about sites survives a restart
# At once: the agents keep what they run alive whichever broker leads, and dial until it does.
for name in "${sites[@]}"; do start "site-$name" "$state/bin/helio-agent" --config "$state/$name/site.yaml"; done
said() { tail -c +$((log_before + 1)) "$state/log/broker.log"; }
is_ready() { alive broker && grep -q ' leading ' <<<"$(said)" && curl -fs -o /dev/null "http://127.0.0.1:$http_port/readyz"; } # and no stranger
for _ in $(seq 150); do
  is_ready && break
  alive broker || { tail -n 5 "$state/log/broker.log"; fail "the broker ended; its log is $state/log/broker.log"; }
  sleep 0.1
done
said=$(said)
if grep -q ' standby ' <<<"$said" && ! grep -q ' leading ' <<<"$said"; then
  tail -n 5 <<<"$said"
  fail "another broker leads this database, and this one stands by until that one ends; broker and agents run on: deploy/quickstart.sh --down stops them"
fi
is_ready || { tail -n 5 <<<"$said"; fail "the broker is not ready after 15 s; its log is $state/log/broker.log"; }
echo "http://127.0.0.1:$http_port, sites at tcp://127.0.0.1:$site_port"

say "Sites: helio sites, helio gpus"
late() { # the sites that are not ready or, if they have a feed, have not published the hours ahead: a line each, with the reason
  local told
  told=$(psql -qXAt "$database" -c "select coalesce(string_agg(distinct site, ' '), '') from helio_report.forecast_latest where source = 'typical-day' and time > now()")
  { client sites -o json 2>/dev/null || echo '[]'; } | jq -r --arg told "$told $without_feed" --arg since "$since" --arg sites "${sites[*]}" \
    '. as $shown | $sites | split(" ")[] as $name | ($shown | map(select(.site == $name)) | first) as $s |
     if $s == null then "\($name): the broker does not list it"
     elif $s.state != "ready" or ($s.last_seen // "") <= $since then "\($name): \($s.state)\(if $s.refused then "; refused: " + $s.refused else "" end)"
     elif ($name | IN($told | split(" ")[])) | not then "\($name): ready, without a forecast yet"
     else empty end'
}
# Where a leader and its agents were killed, the next leader admits other agents with their keys after silent_after (60 s).
wait_s=75
until=$((SECONDS + wait_s))
while missing=$(late); [ -n "$missing" ] && [ $SECONDS -lt $until ]; do
  for name in "${sites[@]}"; do alive "site-$name" || { tail -n 5 "$state/log/site-$name.log"; fail "the agent of $name ended; its log is $state/log/site-$name.log"; }; done
  sleep 0.2
done
client sites
echo
client gpus
[ -z "$missing" ] || { echo; echo "$missing"; fail "after $wait_s s not all sites are ready with a forecast; logs are in $state/log"; }

say "The day ahead, every third hour: g CO2e/kWh (SQL: helio_report.forecast_latest)"
psql -qXAt "$database" <<'SQL'
with ahead as (
    select site, time, value from helio_report.forecast_latest
    where signal = 'carbon_g_per_kwh' and time >= date_trunc('hour', now(), 'UTC') and time < date_trunc('hour', now(), 'UTC') + interval '24 hours'
        and mod(extract(hour from time - date_trunc('hour', now(), 'UTC'))::int, 3) = 0
)
select rpad('', 10) || string_agg(lpad(to_char(time at time zone 'UTC', 'HH24"Z"'), 6), '' order by time)
from (select distinct time from ahead) as hours
union all
(select rpad(site, 10) || string_agg(lpad(round(value)::text, 6), '' order by time) from ahead group by site order by site);
SQL

# ---- jobs ----------------------------------------------------------------------------------------------------

say "Jobs: helio submit examples/*.yaml"
declare -A expected=([hello]=succeeded [cpu]=succeeded [gang]=succeeded [array]=succeeded [choose]=succeeded [rigid]=succeeded [fail]=failed [timeout]=timeout)
declare -A ids=()
for file in "$top"/examples/*.yaml; do
  name=$(basename "$file" .yaml)
  [ "$name" != green ] || continue # may wait for hours: only planned, below
  [ -n "${expected[$name]:-}" ] || fail "examples/$name.yaml has no expected end in this script"
  ! grep -q '^ *flexible:' "$file" || fail "examples/$name.yaml is flexible, so its end is unknown; only green.yaml may be flexible"
  ids[$name]=$(client submit "$file" -o name)
done
bad=0
for name in "${!ids[@]}"; do
  code=0
  client wait "${ids[$name]}" --timeout 120s >/dev/null 2>&1 || code=$?
  [ "$code" != 8 ] || { echo "$name did not end within 120 s"; bad=1; }
done
for name in $(printf '%s\n' "${!ids[@]}" | sort); do
  IFS=$'\t' read -r got where < <(client show "${ids[$name]}" -o json | jq -r '[.state, .site // (.tasks // [] | map(.site) | unique | join(", "))] | @tsv')
  if [ "$got" = "${expected[$name]}" ]; then mark=✔; else mark=✗ bad=1 got="$got, not ${expected[$name]}"; fi
  printf '%s %-8s %-10s %-11s %s\n' "$mark" "$name" "$got" "${where:--}" "$(sed -n '1s/^# \([^.]*\.\).*/\1/p' "$top/examples/$name.yaml")"
done
echo "What rigid printed (helio logs): $(client logs "${ids[rigid]}")"

say "A job that may wait 12 hours: helio plan examples/green.yaml"
client plan "$top/examples/green.yaml"
planned() { # LABEL, a job on standard input: the cost of the chosen start
  client plan - -o json | jq -r --arg what "$1" '(.candidates | map(select(.start))[0]) as $c | .planned_at as $now |
    [$what, $c.site, (if $c.start == $now then "now" else $c.start[11:16] + "Z" end), $c.cost_usd, $c.carbon_g / 1000] | @tsv'
}
echo
{
  sed '/flexible:/d; s/goal: green/goal: green\n  sites: [brisbane]/' "$top/examples/green.yaml" | planned "home site, now"
  sed '/flexible:/d' "$top/examples/green.yaml" | planned "any site, now"
  planned "any site, within 12 hours" <"$top/examples/green.yaml"
} | awk -F '\t' 'NR == 1 { home = $5 }
  { printf "%-25s  %-10s  %-6s  $%.2f  %5.2f kg CO2e%s\n", $1, $2, $3, $4, $5, NR == 1 || !home ? "" : sprintf("  %+.0f %%", 100 * ($5 / home - 1)) }'

say "Why the same job without flexible ran where it did: helio explain ${ids[rigid]}"
client explain "${ids[rigid]}"
say "Usage: helio report"
client report

if [ "$mode" = check ]; then
  [ "$bad" = 0 ] || fail "not every job ended as expected; logs are in $state/log"
  echo
  echo "check passed"
  exit 0
fi
cat <<END

The federation is running:
  console           http://127.0.0.1:$http_port/       (sign in with the token in $state/client/token)
  API and metrics   http://127.0.0.1:$http_port        (/v1, /metrics, /readyz)
  PostgreSQL        psql "$reader"    (reads schema helio_report: docs/reference/views.md)
  logs              $state/log
  jobs              run as $job_user at every site: a trial. Jobs of one account are not separated (docs/tenants.md)
Use it:
  export HELIO_BROKER=http://127.0.0.1:$http_port HELIO_TOKEN_FILE=$state/client/token PATH=$state/bin:\$PATH
  helio run examples/hello.yaml; helio submit examples/green.yaml; helio ls; helio events -f
Stop it:  deploy/quickstart.sh --down$elsewhere      (--purge$elsewhere also removes its state)
END
exit "$bad"
