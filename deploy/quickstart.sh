#!/bin/bash
# Starts a whole federation on this machine: PostgreSQL, a broker, six sites on four continents with declared GPUs, some
# jobs, and the plan of a job that may wait for solar power.
#
#   deploy/quickstart.sh            installs missing packages (Debian 12), builds, starts the federation, runs examples/*.yaml and
#                                   leaves the federation running; run again, it restarts all programs while jobs continue
#   deploy/quickstart.sh --check    the same without a terminal, then stops everything; exits with 0 only if every job ended as
#                                   expected
#   deploy/quickstart.sh --down     cancels all open jobs and stops everything that it started
#   deploy/quickstart.sh --purge    the same, and removes the state directory
#   --state DIR                     state directory; default for root /var/lib/heliostat-quickstart, for other users
#                                   ~/.local/state/heliostat-quickstart
#   --build DIR                     use the programs in this build directory instead of building
#
# Apart from installing packages, the script changes only its state directory. All programs listen on 127.0.0.1.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
mode=up
state=
build=
if [ "$(id -u)" = 0 ]; then default_state=/var/lib/heliostat-quickstart; else default_state=${XDG_STATE_HOME:-$HOME/.local/state}/heliostat-quickstart; fi
while [ $# -gt 0 ]; do
  case $1 in
    --check) mode=check ;;
    --down) mode=down ;;
    --purge) mode=purge ;;
    --state) state=${2:?--state needs a folder}; shift ;;
    --build) build=${2:?--build needs a folder}; shift ;;
    -h|--help) sed -n '2,/^set /{/^#/p}' "$0" | cut -c3-; exit 0 ;;
    *) echo "quickstart: unknown option '$1'; see --help" >&2; exit 2 ;;
  esac
  shift
done
state=${state:-$default_state}

say() { printf '\n\033[1m── %s\033[0m\n' "$*" | { [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && cat || sed 's/\x1b\[[0-9;]*m//g'; }; }
fail() { echo "quickstart: $*" >&2; exit 1; }

# ---- processes: each in its own session, stopped by pid, and only if the pid still belongs to it ----------------------

start_time() { awk '{ sub(/^.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null; }
alive() { # NAME: the recorded process exists, is the one that was started, and is not a zombie
  local pid born
  [ -f "$state/run/$1.pid" ] || return 1
  read -r pid born <"$state/run/$1.pid"
  [ "$(start_time "$pid")" = "$born" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null
}
start() { # NAME COMMAND…: logs to $state/log/NAME.log
  local name=$1
  shift
  setsid "$@" </dev/null >>"$state/log/$name.log" 2>&1 &
  local pid=$!
  echo "$pid $(start_time $pid)" >"$state/run/$name.pid"
}
stop() { # NAME [SIGNAL]
  alive "$1" || { rm -f "$state/run/$1.pid"; return 0; }
  local pid _
  read -r pid _ <"$state/run/$1.pid"
  kill -"${2:-TERM}" "$pid" 2>/dev/null || true
  for _ in $(seq 100); do alive "$1" || break; sleep 0.1; done
  if alive "$1"; then kill -KILL "$pid" 2>/dev/null || true; fi
  rm -f "$state/run/$1.pid"
}

# PostgreSQL refuses to run as root; as root, use the account that its package created.
as_pg() { if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }
pg_bin() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

down() { # [keep]: leaves jobs running
  [ -d "$state/run" ] || return 0
  if [ "${1:-}" != keep ] && [ -x "$state/bin/helio" ] && alive broker; then # jobs outlive their agent by design: cancel them first
    local open state_of
    open=$(for state_of in queued held offered accepted starting running suspended suspect; do client ls --all --state $state_of -o name 2>/dev/null; done || true)
    [ -z "$open" ] || { echo "cancelling $(wc -l <<<"$open") jobs that are still open"; client cancel $open >/dev/null 2>&1 || true; client wait $open --timeout 10s >/dev/null 2>&1 || true; }
  fi
  local pid_file
  for pid_file in "$state"/run/site-*.pid; do [ ! -f "$pid_file" ] || stop "$(basename "$pid_file" .pid)"; done
  stop broker
  if [ -f "$state/pg/data/postmaster.pid" ]; then as_pg "$(pg_bin)/pg_ctl" -D "$state/pg/data" -m fast -w stop >/dev/null 2>&1 || true; fi
}
client() { HELIO_TOKEN_FILE="$state/client/token" HELIO_BROKER="$(cat "$state/client/url")" "$state/bin/helio" "$@"; }

if [ "$mode" = down ]; then down; echo "stopped; the state is in $state (--purge removes it)"; exit 0; fi
if [ "$mode" = purge ]; then
  down
  case $state in /|"$HOME"|"") fail "refusing to remove '$state'" ;; esac
  [ ! -d "$state" ] || [ -f "$state/.heliostat-quickstart" ] || fail "$state was not created by this script and is not removed"
  rm -rf "$state"
  echo "stopped and removed $state"
  exit 0
fi

# ---- packages and programs -----------------------------------------------------------------------------------

say "Packages"
"$top/deploy/packages/install.sh" build run
echo "all installed"

if [ -z "$build" ]; then
  say "Build"
  build=$top/build-release
  (cd "$top" && cmake --preset release >/dev/null 2>&1 && cmake --build "$build" --target helio-broker helio-agent helio-shim helio) |
    { if [ -t 1 ]; then cat; else tail -n 1; fi; }
fi
for program in helio-broker helio-agent helio-shim helio; do [ -x "$build/$program" ] || fail "$build/$program is missing: build first"; done

# A second run replaces the programs of the first; jobs outlive them. A check needs all GPUs, so it stops the jobs too.
if [ "$mode" = up ]; then down keep; else down; fi
mkdir -p "$state"/{run,log,bin,client,pg}
touch "$state/.heliostat-quickstart"
chmod 755 "$state"
for program in helio-broker helio-agent helio-shim helio; do install -m 755 "$build/$program" "$state/bin/$program"; done

free_port() { # FIRST: the first free port from FIRST on
  local port=$1
  while (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

# ---- PostgreSQL ----------------------------------------------------------------------------------------------

say "PostgreSQL"
pg_port=$(free_port 25480)
[ "$(id -u)" != 0 ] || chown postgres "$state/pg"
# Jobs run on this machine and can reach all of its ports, so the database requires a password.
password_file=$state/pg.pass
fresh_password=
if [ ! -s "$password_file" ]; then
  fresh_password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  (umask 077 && echo "*:*:*:helio:$fresh_password" >"$password_file")
fi
export PGPASSFILE=$password_file
if [ ! -f "$state/pg/data/PG_VERSION" ]; then
  (umask 077 && cut -d: -f5 "$password_file" >"$state/pg/password")
  [ "$(id -u)" != 0 ] || chown postgres "$state/pg/password"
  as_pg "$(pg_bin)/initdb" -D "$state/pg/data" -U helio -A scram-sha-256 --pwfile="$state/pg/password" -E UTF8 --locale=C.UTF-8 -k \
    >"$state/log/initdb.log" 2>&1 || { tail -n 5 "$state/log/initdb.log"; fail "initdb failed"; }
  rm -f "$state/pg/password"
  fresh_password=
fi
{ as_pg tee "$state/pg/data/postgresql.auto.conf" >/dev/null; } <<CONF
listen_addresses = '127.0.0.1'
port = $pg_port
unix_socket_directories = ''
CONF
pg_start() { as_pg "$(pg_bin)/pg_ctl" -D "$state/pg/data" -l "$state/pg/log" -w -t 120 start >/dev/null 2>&1; }
for _ in 1 2 3 4 5; do # another program may take the port in the meantime
  pg_start && break
  { [ ! -e "$state/pg/data/postmaster.pid" ] && tail -n 5 "$state/pg/log" | grep -q "could not bind"; } || { tail -n 5 "$state/pg/log"; fail "PostgreSQL did not start"; }
  pg_port=$(free_port $((pg_port + 1 + RANDOM % 50)))
  as_pg sed -i "s/^port = .*/port = $pg_port/" "$state/pg/data/postgresql.auto.conf"
done
database="host=127.0.0.1 port=$pg_port user=helio dbname=helio passfile=$password_file"
if [ -n "$fresh_password" ]; then # created by an older version, which required no password
  echo "alter role helio password '$fresh_password'" | psql -qX "host=127.0.0.1 port=$pg_port user=helio dbname=postgres"
  echo "host all all 127.0.0.1/32 scram-sha-256" | as_pg tee "$state/pg/data/pg_hba.conf" >/dev/null
  as_pg "$(pg_bin)/pg_ctl" -D "$state/pg/data" reload >/dev/null
fi
psql -qXAt "host=127.0.0.1 port=$pg_port user=helio dbname=postgres" -c "select 1 from pg_database where datname = 'helio'" | grep -q 1 ||
  createdb -h 127.0.0.1 -p "$pg_port" -U helio helio
echo "127.0.0.1:$pg_port, fsync on"

# ---- broker --------------------------------------------------------------------------------------------------

say "Broker"
http_port=$(free_port 7480)
site_port=$(free_port $((http_port + 1)))
[ -f "$state/broker.key" ] || "$state/bin/helio-broker" keygen "$state/broker.key" >"$state/broker.pub"
cat >"$state/broker.yaml" <<CONF
database: "$database"
listen_http: 127.0.0.1:$http_port
listen_sites: tcp://127.0.0.1:$site_port
key_file: $state/broker.key
CONF
"$state/bin/helio-broker" migrate --config "$state/broker.yaml" >>"$state/log/migrate.log"
"$state/bin/helio-broker" tenant add demo --home brisbane --config "$state/broker.yaml" >>"$state/log/migrate.log" 2>&1
# The login for reading figures: migrate created it, a password makes it usable.
reader_file=$state/reader.pass
[ -s "$reader_file" ] || (umask 077 && echo "*:*:*:helio_reader:$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >"$reader_file")
echo "alter role helio_reader password '$(cut -d: -f5 "$reader_file")'" | psql -qX "$database"
reader="host=127.0.0.1 port=$pg_port user=helio_reader dbname=helio passfile=$reader_file"
echo "http://127.0.0.1:$http_port" >"$state/client/url"
if [ ! -s "$state/client/token" ]; then
  (umask 077 && "$state/bin/helio-broker" token add --tenant demo --user "$(id -un)" --role admin --config "$state/broker.yaml" >"$state/client/token" 2>>"$state/log/migrate.log")
fi

# Six sites, one file each in deploy/quickstart/sites. Their GPUs are declared: jobs see them as CUDA_VISIBLE_DEVICES.
# `agent.users` in STATE/NAME/site.yaml lists further users; the next run keeps those lines. The carbon intensity is a
# typical day, shifted to the dates from yesterday to 14 days ahead: past hours are history, future hours the forecast.
sites=(lulea frankfurt virginia california singapore brisbane)
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
  "$state/bin/helio-broker" site add "$1" "$(tail -n 1 "$state/$1/agent.pub")" --config "$state/broker.yaml" >>"$state/log/migrate.log" 2>&1
  { sed "s|@FEED@|$state/typical_day.csv|" "$top/deploy/quickstart/sites/$1.yaml" && cat; } >"$state/$1/site.yaml" <<CONF
  state_dir: $state/$1/state
  broker: ["tcp://127.0.0.1:$site_port"]
  broker_key: "$(tail -n 1 "$state/broker.pub")"
  key_file: $state/$1/agent.key
  shim: $state/bin/helio-shim
$users
CONF
}
for name in "${sites[@]}"; do site "$name"; done

[ "$mode" != check ] || trap down EXIT # also after a failure
start broker "$state/bin/helio-broker" run --config "$state/broker.yaml"
for _ in $(seq 150); do
  curl -fs -o /dev/null "http://127.0.0.1:$http_port/readyz" && break
  alive broker || { tail -n 5 "$state/log/broker.log"; fail "the broker ended; its log is $state/log/broker.log"; }
  sleep 0.1
done
curl -fs -o /dev/null "http://127.0.0.1:$http_port/readyz" || { tail -n 5 "$state/log/broker.log"; fail "the broker is not ready after 15 s"; }
echo "http://127.0.0.1:$http_port, sites at tcp://127.0.0.1:$site_port"

say "Sites: helio sites, helio gpus"
since=$(date -u +%FT%T.%3NZ) # the broker's data about sites survives a restart
for name in "${sites[@]}"; do start "site-$name" "$state/bin/helio-agent" --config "$state/$name/site.yaml"; done
ready() { # number of sites that are ready and, if they have a feed, have published the hours ahead
  local told
  told=$(psql -qXAt "$database" -c "select coalesce(string_agg(distinct site, ' '), '') from helio_report.forecast_latest where source = 'typical-day' and time > now()")
  client sites -o json 2>/dev/null | jq --arg told "$told singapore" --arg since "$since" \
    '[.[] | select(.state == "ready" and .last_seen > $since and (.site | IN($told | split(" ")[])))] | length'
}
for _ in $(seq 150); do
  [ "$(ready)" != ${#sites[@]} ] || break
  for name in "${sites[@]}"; do alive "site-$name" || { tail -n 5 "$state/log/site-$name.log"; fail "the agent of $name ended; its log is $state/log/site-$name.log"; }; done
  sleep 0.1
done
client sites
echo
client gpus
[ "$(ready)" = ${#sites[@]} ] || fail "after 15 s not all sites are ready with a forecast; logs are in $state/log"

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
elsewhere= # a state directory other than the default must be named again
[ "$state" = "$default_state" ] || elsewhere=" --state $state"
cat <<END

The federation is running:
  API and metrics   http://127.0.0.1:$http_port        (/v1, /metrics, /readyz)
  PostgreSQL        psql "$reader"    (reads schema helio_report: docs/reference/views.md)
  logs              $state/log
Use it:
  export HELIO_BROKER=http://127.0.0.1:$http_port HELIO_TOKEN_FILE=$state/client/token PATH=$state/bin:\$PATH
  helio run examples/hello.yaml; helio submit examples/green.yaml; helio ls; helio events -f
Stop it:  deploy/quickstart.sh --down$elsewhere      (--purge$elsewhere also removes its state)
END
exit "$bad"
