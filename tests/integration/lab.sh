# A small federation in a temporary folder, for tests in shell: sourced with the build directory as its argument. It leaves $top,
# $build, $lab, $broker, $agent, $helio and the ports $http and $sites; its processes end with the script.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts that source it use these
set -uo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${1:?usage: $(basename "$0") BUILD_DIR}" && pwd) || exit 2
lab=$(mktemp -d)
chmod 755 "$lab"
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  wait 2>/dev/null
  "$top/tests/postgres.sh" down "$lab/pg" 2>/dev/null
  rm -rf "$lab" 2>/dev/null || { sleep 1; rm -rf "$lab"; } # a shim may be writing its last
}
trap cleanup EXIT
free_port() { PYTHONPATH=$top/tests/faults python3 -c 'import federation; print(federation.free_port())'; }
http=$(free_port) sites=$(free_port)
broker=$build/helio-broker agent=$build/helio-agent helio=$build/helio

# ---- checks

checks=0 faults=0
fault() { echo "FAULT $*"; faults=$((faults + 1)); }
same() { # NAME EXPECTED GOT
  checks=$((checks + 1))
  [ "$2" = "$3" ] || fault "$1: '$3', expected '$2'"
}
says() { # NAME WORDS TEXT
  checks=$((checks + 1))
  grep -qF -- "$2" <<<"$3" || fault "$1: '$2' is not in: $3"
}
closing() { # the last command of a script
  local verdict
  if [ -e "$lab/exchanges" ]; then
    if ! verdict=$(/usr/bin/python3 -P "$top/tests/openapi/judge.py" "$lab/exchanges" 2>&1); then
      /usr/bin/python3 -P -c 'import jsonschema, yaml' 2>/dev/null && fault "$verdict"
      verdict="SKIPPED: answers by docs/openapi.yaml: python3-jsonschema or python3-yaml is not installed (deploy/packages/clients.txt)"
    fi
    echo "$verdict"
  fi
  echo "$checks checks, $faults faults"
  [ "$faults" = 0 ]
}

# ---- daemons

broker_settings() { # DATABASE
  printf 'database: "%s"\nlisten_http: 127.0.0.1:%s\nlisten_sites: tcp://127.0.0.1:%s\nkey_file: %s\n' "$1" "$http" "$sites" "$lab/broker.key"
}
# A migrated database with the tenant demo, and the token of its admin.
make_federation() {
  database=$("$top/tests/postgres.sh" up "$lab/pg") || exit 1
  "$broker" keygen "$lab/broker.key" >"$lab/broker.pub"
  broker_settings "$database" >"$lab/broker.yaml"
  "$broker" migrate --config "$lab/broker.yaml" >/dev/null || exit 1
  "$broker" tenant add demo --config "$lab/broker.yaml" >/dev/null 2>&1 || exit 1
  token=$(admin_token)
}
admin_token() { "$broker" token add --tenant demo --user tester --role admin --config "$lab/broker.yaml" 2>/dev/null | tail -n 1; }
site_key() { "$agent" keygen "$lab/$1.key" >"$lab/$1.pub"; }
allow_site() { "$broker" site add "$1" "$(tail -n 1 "$lab/$1.pub")" --config "$lab/broker.yaml" >/dev/null 2>&1 || exit 1; }
site_file() { # NAME REGION PUE TENANTS POOL: its lines are counted by bad_input.sh
  cat <<CONF
name: $1
backend: local
region: $2
lat: 60
lon: 20
timezone: Europe/Stockholm
pue: $3
pools:
  - {$5}
agent:
  state_dir: $lab/$1-state
  broker: ["tcp://127.0.0.1:$sites"]
  broker_key: "$(tail -n 1 "$lab/broker.pub")"
  key_file: $lab/$1.key
  shim: $build/helio-shim
  users: [{tenant: $4, user: "*", unix: $(if [ "$(id -u)" = 0 ]; then echo nobody; else id -un; fi), shared: true}]
CONF
}
add_site() { # as site_file
  site_key "$1"
  allow_site "$1"
  site_file "$@" >"$lab/$1.yaml"
}
start_broker() { # [OPTION…]
  "$broker" run --config "$lab/broker.yaml" "$@" >>"$lab/broker.log" 2>&1 &
  broker_pid=$!
  pids+=("$broker_pid")
  for _ in $(seq 300); do curl -fs -o /dev/null "http://127.0.0.1:$http/readyz" && return; sleep 0.1; done
}
end_broker() { # [SIGNAL]
  kill "${1:--TERM}" "$broker_pid"
  wait "$broker_pid" 2>/dev/null
}
start_agent() { # NAME
  "$agent" --config "$lab/$1.yaml" >"$lab/$1.log" 2>&1 &
  pids+=($!)
}
# Waits until this many sites are ready; otherwise the script ends with the daemons' logs.
await_sites() { # COUNT
  for _ in $(seq 300); do
    [ "$("$helio" sites -o json 2>/dev/null | jq '[.[] | select(.state == "ready")] | length')" = "$1" ] && return
    sleep 0.1
  done
  cat "$lab"/*.log
  echo "FAULT not $1 sites are ready after 30 s"
  exit 1
}
# After use_federation: what `helio` and the broker exchange is compared with docs/openapi.yaml by `closing`.
judge_answers() {
  /usr/bin/python3 -P "$top/tests/openapi/exchanges.py" "$HELIO_BROKER" "$lab/exchanges" >"$lab/relay" &
  pids+=($!)
  for _ in $(seq 100); do [ -s "$lab/relay" ] && break; sleep 0.1; done
  HELIO_BROKER=$(cat "$lab/relay")
}
use_federation() { # SITES: the client speaks for demo's admin from here on
  export HELIO_BROKER=http://127.0.0.1:$http HELIO_TOKEN=$token NO_COLOR=1
  await_sites "$1"
}
