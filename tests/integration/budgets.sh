#!/bin/bash
# Budgets against real daemons: a start that would not keep one waits and says why, before it is submitted too; what was
# foreseen and not used comes back; another leader knows what is gone; figures of the report are the broker's.
#   tests/integration/budgets.sh BUILD_DIR
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: budgets.sh BUILD_DIR}" && pwd)
lab=$(mktemp -d)
chmod 755 "$lab"
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  wait 2>/dev/null
  "$top/tests/postgres.sh" down "$lab/pg" 2>/dev/null
  rm -rf "$lab"
}
trap cleanup EXIT
checks=0 faults=0
fault() { echo "FAULT $*"; faults=$((faults + 1)); }
same() { # NAME EXPECTED GOT
  checks=$((checks + 1))
  [ "$2" = "$3" ] || fault "$1: '$3', expected '$2'"
}
alive() { kill -0 "$broker_pid" 2>/dev/null && return; tail -3 "$lab/broker.log"; fault "the broker is gone"; exit 1; }
says() { # NAME WORDS TEXT
  checks=$((checks + 1))
  grep -qF -- "$2" <<<"$3" || fault "$1: '$2' is not in: $3"
}
free_port() { PYTHONPATH=$top/tests/faults python3 -c 'import federation; print(federation.free_port())'; }
http=$(free_port) sites=$(free_port)
broker=$build/helio-broker agent=$build/helio-agent helio=$build/helio

# ---- a site whose GPUs cost a dollar a second
database=$("$top/tests/postgres.sh" up "$lab/pg") || exit 1
"$broker" keygen "$lab/broker.key" >"$lab/broker.pub"
printf 'database: "%s"\nlisten_http: 127.0.0.1:%s\nlisten_sites: tcp://127.0.0.1:%s\nkey_file: %s\n' "$database" "$http" "$sites" "$lab/broker.key" >"$lab/broker.yaml"
"$broker" migrate --config "$lab/broker.yaml" >/dev/null || exit 1
"$broker" tenant add demo --config "$lab/broker.yaml" >/dev/null 2>&1 || exit 1
token=$("$broker" token add --tenant demo --user tester --role admin --config "$lab/broker.yaml" 2>/dev/null | tail -n 1)
"$agent" keygen "$lab/site.key" >"$lab/site.pub"
"$broker" site add dear "$(tail -n 1 "$lab/site.pub")" --config "$lab/broker.yaml" >/dev/null 2>&1 || exit 1
cat >"$lab/site.yaml" <<CONF
name: dear
backend: local
region: EU-SE
lat: 60
lon: 20
timezone: Europe/Stockholm
pue: 1
pools:
  - {name: h100, gpu: H100, memory: 80GB, nodes: 1, gpus_per_node: 8, cpus_per_node: 64, price_usd_per_gpu_h: 3600}
agent:
  state_dir: $lab/site-state
  broker: ["tcp://127.0.0.1:$sites"]
  broker_key: "$(tail -n 1 "$lab/broker.pub")"
  key_file: $lab/site.key
  shim: $build/helio-shim
  users: [{tenant: demo, user: "*", unix: $(if [ "$(id -u)" = 0 ]; then echo nobody; else id -un; fi)}]
CONF
start_broker() {
  "$broker" run --config "$lab/broker.yaml" >>"$lab/broker.log" 2>&1 &
  broker_pid=$!
  pids+=($broker_pid)
  for _ in $(seq 300); do curl -fs -o /dev/null "http://127.0.0.1:$http/readyz" && return; sleep 0.1; done
}
start_broker
"$agent" --config "$lab/site.yaml" >"$lab/site.log" 2>&1 &
pids+=($!)
export HELIO_BROKER=http://127.0.0.1:$http HELIO_TOKEN=$token NO_COLOR=1 TZ=UTC
state() { "$helio" show "$1" -o json 2>/dev/null | jq -r .state; }
comes_to() { # ID STATE
  for _ in $(seq 300); do [ "$(state "$1")" = "$2" ] && return; sleep 0.1; done
  fault "$1 is $(state "$1") after 30 s, expected $2"
}
ready() { [ "$("$helio" sites -o json 2>/dev/null | jq -r '.[0].state')" = ready ]; }
for _ in $(seq 300); do ready && break; sleep 0.1; done
ready || { cat "$lab"/*.log; exit 1; }
file() { # GPUS SECONDS: foreseen by its limit of a minute, so 60 USD a GPU
  printf 'gpu: H100:%s\ntime: 1m\nrun: exec sleep %s\n' "$1" "$2"
}
submit() { file "$1" "$2" | "$helio" submit - -o name; }

# ---- set, and said back
"$helio" quota set demo --budget '150 USD/mnth' 2>"$lab/said"
says "a wrong word" "did you mean 'month'?" "$(cat "$lab/said")"
"$helio" quota set demo --budget '150 USD/month' --budget '2 t/month' 2>"$lab/said" || fault "no budget was set"
same "what it says" "demo: guaranteed 0, burst none, weight 1.000, budget 150 USD/month and 2 t/month" "$(cat "$lab/said")"

alive

# ---- who is over it waits; plan says so before
first=$(submit 1 40) second=$(submit 1 2)
comes_to "$first" running
plan=$(file 1 1 | "$helio" plan - 2>&1)
says "a plan that is over it" "of 150 USD of" "$plan"
third=$(submit 1 0)
why=$("$helio" explain "$third" 2>&1)
says "why it waits" "PolicyCap" "$why"
says "why it waits, in words" "USD of $(date -u +'%B %Y') used or committed, it needs 60; begins again" "$why"
says "what an operator does" "helio quota set demo --budget 'N USD/month'" "$why"
shown=$("$helio" quota demo)
says "a table of budgets" "BEGINS-AGAIN" "$shown"
same "left by the report" "30 $(date -u -d "$(date -u +%Y-%m-01) +1 month" +%Y-%m-%dT00:00)" \
  "$("$helio" quota demo -o json | jq -r '.[] | select(.queue == null).budgets[] | select(.kind == "money") | "\(.left | round) \(.begins_again[:16])"')"
whole=$(submit 8 1)
says "more than the whole of it" "it needs 480 USD, and a whole month has 150" "$("$helio" explain "$whole" 2>&1)"
"$helio" cancel "$whole" >/dev/null 2>&1

# ---- another leader knows what is committed; what was not used comes back
kill -9 "$broker_pid"
wait "$broker_pid" 2>/dev/null
start_broker
for _ in $(seq 300); do ready && break; sleep 0.1; done
comes_to "$second" succeeded
comes_to "$third" succeeded
left=$("$helio" quota demo -o json | jq -r '.[] | select(.queue == null).budgets[] | select(.kind == "money").left')
checks=$((checks + 1))
awk -v left="$left" 'BEGIN { exit !(left > 80 && left < 90) }' || fault "left: $left, expected 90 less what two short runs cost"
same "the view has it" "t" "$(psql -qXAt "$database" -c "select abs(remaining - $left) < 1 from helio_report.budgets where tenant = 'demo' and kind = 'money'")"

# ---- a budget stops nothing that runs
"$helio" quota set demo --budget '1 USD/month' 2>/dev/null
fourth=$(submit 1 0)
sleep 1
same "what runs runs on, and nothing comes in" "running queued" "$(state "$first") $(state "$fourth")"
says "a metric tells" 'helio_budgets{kind="money",level="full"} 1' "$(curl -s -H "Authorization: Bearer $token" "http://127.0.0.1:$http/metrics")"
"$helio" quota set demo --budget none 2>/dev/null
comes_to "$fourth" succeeded
same "none is left" "[]" "$("$helio" quota demo -o json | jq -c '.[] | select(.queue == null).budgets')"
"$helio" cancel "$first" >/dev/null 2>&1

echo "$checks checks, $faults faults"
[ "$faults" = 0 ]
