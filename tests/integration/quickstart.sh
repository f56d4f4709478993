#!/bin/bash
# Runs the quickstart as a new user does, twice in a row, in a state folder of its own; then its --down and --purge.
#   tests/integration/quickstart.sh BUILD_DIR
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: quickstart.sh BUILD_DIR}" && pwd)
state=$(mktemp -d)/state
trap '"$top/deploy/quickstart.sh" --purge --state "$state" >/dev/null 2>&1 || true; rm -rf "$(dirname "$state")"' EXIT
chmod 755 "$(dirname "$state")"

run() { "$top/deploy/quickstart.sh" "$@" --state "$state" --build "$build" </dev/null; }
# Of two quickstarts in one state folder only one runs.
mkdir "$state"
exec 8>"$state/.quickstart-lock"
flock 8
echo 12345 >"$state/.quickstart-lock"
if run --check >"$(dirname "$state")/output" 2>&1 8>&-; then echo "two quickstarts work in one state folder"; exit 1; fi
grep -q "another quickstart (process 12345) works in $state" "$(dirname "$state")/output" ||
  { echo "the second quickstart does not say what is in its way:"; cat "$(dirname "$state")/output"; exit 1; }
exec 8>&-
run --check | tee "$(dirname "$state")/output"
# An operator admits another tenant at one site; the next run keeps that.
sed -i 's/^  users: \[\(.*\)\]$/  users:\n  # demo, and other tenants\n  - {tenant: other, unix: daemon}\n  - \1/' "$state/lulea/site.yaml"
sed -i 's/^name: frankfurt$/name: frankfurt # by hand/' "$state/frankfurt/site.yaml"
run --check | tee "$(dirname "$state")/second" # a second time, with the state of the first
# A site file that an operator edited is replaced with a message and kept as site.yaml.former; one in which only users were added stays.
[ "$(grep -c 'site.yaml is made anew' "$(dirname "$state")/second")" = 1 ] && grep -q '^name: frankfurt # by hand$' "$state/frankfurt/site.yaml.former" ||
  { echo "a site file that an operator changed is replaced silently"; exit 1; }
# Home runs on coal at every hour: an immediate start elsewhere emits less, and so does a later start with goal `green`.
awk 'function kg() { sub(/ kg CO2e.*/, ""); return $NF }
  /^home site, now/ { home = kg() } /^any site, now/ { at_once = kg() } /^any site, within/ { later = kg() }
  END { exit !(at_once > 0 && at_once < home && later > 0 && later < home) }' "$(dirname "$state")/output" ||
  { echo "the federation saves nothing against home"; exit 1; }
if [ -f "${HELIO_DATA:-}/energy/carboncast_actual_2020_2021.csv.gz" ]; then
  "$top/deploy/quickstart/typical_day.py" | diff - "$top/deploy/quickstart/typical_day.csv" || { echo "the typical day is not what its script makes"; exit 1; }
else
  echo "SKIPPED: the typical day made anew: HELIO_DATA names no folder with energy/carboncast_actual_2020_2021.csv.gz"
fi
run | tee "$(dirname "$state")/output" # leaves the federation running
# The connection that it prints can only read the views.
reader=$(sed -n 's/^ *PostgreSQL *psql "\([^"]*\)".*/\1/p' "$(dirname "$state")/output")
[ "$(env -u PGPASSFILE psql -qXAt "$reader" -c "select count(*) > 0 from helio_report.jobs")" = t ] || { echo "the connection that is printed reads nothing: $reader"; exit 1; }
! psql -qXAt "$reader" -c "select 1 from helio.jobs" >/dev/null 2>&1 || { echo "the connection that is printed reads more than the views: $reader"; exit 1; }
# The broker is no superuser of PostgreSQL, and nothing is left open to the other logins.
database=$(sed -n 's/^database: "\(.*\)"$/\1/p' "$state/broker.yaml")
rights=$(psql -qXAt "$database" -c "select rolsuper, rolcreaterole, rolcreatedb, (select count(*) from helio.missing_privilege_checks()) from pg_roles where rolname = current_user")
[ "$rights" = "f|f|f|0" ] || { echo "the broker's role has rights (superuser, roles, databases) or leaves some open: $rights"; exit 1; }
flock -n "$state/.quickstart-lock" true || { echo "what a quickstart has started holds its lock"; exit 1; }
url=$(cat "$state/client/url")
[ "$(curl -fs -o /dev/null -w '%{http_code}' "$url/readyz")" = 200 ] || { echo "it does not keep running"; exit 1; }
# Beside it, a check of the same settings finds a broker that runs, and no fault.
checked=$("$state/bin/helio-broker" check --config "$state/broker.yaml") || { echo "check beside a running broker fails:"; echo "$checked"; exit 1; }
[ "$(grep -c ': a broker runs here already$' <<<"$checked")" = 2 ] || { echo "check does not know a running broker by its ports:"; echo "$checked"; exit 1; }
metrics=$(curl -fs -H "Authorization: Bearer $(cat "$state/client/token")" "$url/metrics") # not into a pipe: grep -q would leave before curl has written all
grep -q '^helio_build_info' <<<"$metrics" || { echo "no metrics at $url"; exit 1; }
client() { HELIO_TOKEN_FILE="$state/client/token" HELIO_BROKER="$url" "$state/bin/helio" "$@"; }
if client token add --tenant other --user ada >/dev/null 2>"$(dirname "$state")/said"; then echo "a token is made for a tenant that nobody added"; exit 1; fi
grep -q "unknown tenant 'other'.*helio tenants set" "$(dirname "$state")/said" || { echo "who mistypes a tenant is not told how one is added:"; cat "$(dirname "$state")/said"; exit 1; }
client tenants set other 2>/dev/null
token=$(client token add --tenant other --user ada 2>"$(dirname "$state")/said") # accepted at once
grep -q "^tenant other has no home site" "$(dirname "$state")/said" || { echo "who makes a token is not told that the tenant has no home"; exit 1; }
planned=$(printf 'cpus: 1\nrun: "true"\n' | HELIO_TOKEN=$token HELIO_BROKER="$url" "$state/bin/helio" plan - -o json |
  jq -r '"\(.chosen) \([.candidates[] | select(.reason == "NoUserMapping") | .site] | unique | sort | join(","))"')
[ "$planned" = "lulea brisbane,california,frankfurt,singapore,virginia" ] || { echo "the line of \`users\` that an operator added is not kept, or not known beforehand: $planned"; exit 1; }
pids=$(cat "$state"/run/*.pid)
for file in "$state"/run/*.pid; do [[ "$(cat "$file")" =~ ^[0-9]+$ ]] || { echo "$file has more than a number: $(cat "$file")"; exit 1; }; done
# Open jobs are cancelled, and no process is left.
printf 'name: long\ncpus: 1\ntime: 10m\nrun: |\n  echo $$ && exec sleep 600\n' >"$(dirname "$state")/long.yaml"
long=$(client submit "$(dirname "$state")/long.yaml" -o name)
client submit "$top/examples/green.yaml" >/dev/null
for _ in $(seq 100); do job_pid=$(client logs "$long" 2>/dev/null | head -n 1) && [ -n "$job_pid" ] && break; sleep 0.1; done
[ -d "/proc/$job_pid" ] || { echo "the long job does not run"; exit 1; }
pids="$pids $job_pid"
# Beside another quickstart none starts on its ports, nor one on its state folder while a broker runs there that was started by hand.
refused() { # NAME PID OPTION…
  local name=$1 pid=$2
  shift 2
  if timeout 60 "$top/deploy/quickstart.sh" --build "$build" "$@" >"$(dirname "$state")/output" 2>&1 </dev/null; then echo "$name: it starts"; exit 1; fi
  grep -q "quickstart: .*process $pid (.*helio-broker run.*kill $pid\|quickstart: port .* is in use by process $pid (.*--port N" "$(dirname "$state")/output" ||
    { echo "$name: it does not say who is in its way (process $pid), and what to do:"; tail -n 3 "$(dirname "$state")/output"; exit 1; }
}
broker_pid=$(cat "$state/run/broker.pid")
refused "a second quickstart on the ports of the first" "$broker_pid" --state "$(dirname "$state")/second-state" --port "${url##*:}"
[ ! -e "$(dirname "$state")/second-state" ] || { echo "a quickstart that is refused leaves a state folder"; exit 1; }
kill "$broker_pid"
while [ -d "/proc/$broker_pid" ]; do sleep 0.1; done
(cd "$state" && exec setsid bin/helio-broker run --config broker.yaml </dev/null >"$(dirname "$state")/by-hand.log" 2>&1) & # by a relative name
for _ in $(seq 300); do [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/readyz")" = 200 ] && break; sleep 0.1; done
by_hand=$(pgrep -f "^bin/helio-broker run --config broker.yaml$" | while read -r pid; do [ "$(readlink "/proc/$pid/cwd")" != "$state" ] || echo "$pid"; done)
[ -n "$by_hand" ] || { echo "no broker was started by hand:"; cat "$(dirname "$state")/by-hand.log"; exit 1; }
refused "a quickstart beside a broker that was started by hand" "$by_hand" --state "$state"
pids="$pids $by_hand"
run --down | tee "$(dirname "$state")/output"
grep -q '^cancelling [12] jobs' "$(dirname "$state")/output" || { echo "--down cancels nothing"; exit 1; }
for pid in $pids; do
  if grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" 2>/dev/null; then echo "process $pid outlived --down"; exit 1; fi
done
# The cause of a failed start is printed: here the key of a site that was revoked meanwhile.
run >/dev/null
url=$(cat "$state/client/url")
long=$(client submit "$(dirname "$state")/long.yaml" -o name)
for _ in $(seq 100); do job_pid=$(client logs "$long" 2>/dev/null | head -n 1) && [ -n "$job_pid" ] && break; sleep 0.1; done
client keys revoke lulea >/dev/null
if run >"$(dirname "$state")/output" 2>&1; then echo "it starts a site whose key is revoked"; exit 1; fi
grep -q "this key was revoked" "$(dirname "$state")/output" || { echo "it ends without saying why:"; cat "$(dirname "$state")/output"; exit 1; }
# Jobs end even where no broker is left that could cancel them.
[ -d "/proc/$job_pid" ] || { echo "the long job does not run on"; exit 1; }
for file in "$state"/run/*.pid; do kill -KILL "$(cat "$file")" 2>/dev/null || true; done
run --purge
if [ -d "/proc/$job_pid" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$job_pid/status"; then echo "a job outlived --purge"; exit 1; fi
[ ! -e "$state" ] || { echo "--purge left $state"; exit 1; }
also=
if [ "$(id -u)" != 0 ] || ! id nobody >/dev/null 2>&1; then
  echo "SKIPPED: as an unprivileged user: only root can become one, and nobody must exist"
elif ! (cd / && runuser -u nobody -- test -r "$top/deploy/quickstart.sh" -a -x "$build/helio"); then
  echo "SKIPPED: as an unprivileged user: nobody may not enter $top"
else # as an unprivileged user too
  home=$(mktemp -d)
  chown nobody "$home"
  (cd / && runuser -u nobody -- env HOME="$home" bash "$top/deploy/quickstart.sh" --check --state "$home/state" --build "$build" </dev/null) ||
    { echo "it fails as an unprivileged user"; exit 1; }
  rm -rf "$home"
  also=", and as an unprivileged user"
fi
echo "twice with --check, once left running, --down, --purge$also"
