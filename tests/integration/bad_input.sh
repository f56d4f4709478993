#!/bin/bash
# Bad input gives an error that names the place and the remedy, and no accepted job is lost.
#   tests/integration/bad_input.sh BUILD_DIR
# shellcheck source=tests/integration/lab.sh
. "$(dirname "$0")/lab.sh"
# expect NAME EXIT_CODE PATTERN… -- COMMAND…: the command must exit with that code, and its output must match every pattern
expect() {
  local name=$1 code=$2 patterns=() got out
  shift 2
  while [ "$1" != -- ]; do patterns+=("$1"); shift; done
  shift
  checks=$((checks + 1))
  out=$(timeout 60 "$@" 2>&1 </dev/null)
  got=$?
  if [ "$got" != "$code" ]; then echo "FAULT $name: exit $got, expected $code:"; echo "$out" | head -5; faults=$((faults + 1)); return; fi
  for pattern in "${patterns[@]}"; do
    if ! grep -qiE -- "$pattern" <<<"$out"; then echo "FAULT $name: does not say '$pattern':"; echo "$out" | head -8; faults=$((faults + 1)); return; fi
  done
}

# ---- the database: down, not migrated, wrong version
"$broker" keygen "$lab/broker.key" >"$lab/broker.pub"
broker_settings "host=127.0.0.1 port=1 user=x dbname=x connect_timeout=2" >"$lab/down.yaml"
expect "migrate without a database" 1 "127.0.0.1" "port 1|connect" -- "$broker" migrate --config "$lab/down.yaml"
database=$("$top/tests/postgres.sh" up "$lab/pg") || exit 1
broker_settings "$database" >"$lab/broker.yaml"
expect "a database that was never migrated" 1 "helio-broker migrate" -- "$broker" run --config "$lab/broker.yaml"
expect "migrate" 0 -- "$broker" migrate --config "$lab/broker.yaml"
expect "migrate again changes nothing" 0 -- "$broker" migrate --config "$lab/broker.yaml"
psql -qX "$database" -c "update helio.schema_migrations set sha256 = decode(repeat('00', 32), 'hex')" || exit 1
expect "an edited migration" 1 "checksum|differs|edited" -- "$broker" run --config "$lab/broker.yaml"
psql -qX "$database" -c "drop schema helio cascade" -c "drop schema helio_report cascade" >/dev/null 2>&1
"$broker" migrate --config "$lab/broker.yaml" >/dev/null || exit 1

# ---- settings
sed 's/listen_http/listen_htp/' "$lab/broker.yaml" >"$lab/typo.yaml"
expect "an unknown setting" 1 "typo.yaml:2" "listen_http" -- "$broker" run --config "$lab/typo.yaml"
expect "no such settings file" 1 "nowhere.yaml" -- "$broker" run --config "$lab/nowhere.yaml"
expect "a tenant without a home" 0 "demo has no home site" "tenant add demo --home SITE" -- "$broker" tenant add demo --config "$lab/broker.yaml"
expect "a token for a tenant that nobody added" 1 "tenant 'other' does not exist" "helio-broker tenant add other --home SITE" -- "$broker" token add --tenant other --user tester --role user --config "$lab/broker.yaml"
expect "a home that is given" 0 "added" -- "$broker" tenant add other --home near --config "$lab/broker.yaml"
expect "a tenant with a home, without it" 0 "nothing changed" -- "$broker" tenant add other --config "$lab/broker.yaml"
expect "a home that is taken" 0 "other has no home site" -- "$broker" tenant add other --home none --config "$lab/broker.yaml"
expect "a token for a tenant without a home" 0 "other has no home site" "tenant add other --home SITE" -- "$broker" token add --tenant other --user tester --role user --config "$lab/broker.yaml"
token=$(admin_token)
site_key near
site_key far
allow_site near
chmod 644 "$lab/broker.key"
expect "a key file that others may read" 1 "broker.key" "0600|600|chmod" -- "$broker" run --config "$lab/broker.yaml"
chmod 600 "$lab/broker.key"

start_broker
expect "a port in use" 1 "$http|$sites" "in use|already" -- "$broker" run --config "$lab/broker.yaml"
expect "a check beside the broker that runs" 0 "port for HTTP: .*a broker runs here already" "port for sites: .*a broker runs here already" -- "$broker" check --config "$lab/broker.yaml"
sed "s/^listen_http: .*/listen_http: 127.0.0.1:$sites/" "$lab/broker.yaml" >"$lab/taken.yaml"
expect "a check of a port that something else has" 1 "port for HTTP: .*$sites is in use, and not by a broker with these settings" -- "$broker" check --config "$lab/taken.yaml"

# ---- the site file, and an unknown site
pool="name: h100, gpu: H100, memory: 80GB, nodes: 1, gpus_per_node: 4, cpus_per_node: 8, price_usd_per_gpu_h: 2"
site_file near EU-SE 1.2 demo "$pool" >"$lab/near.yaml"
sed 's/pue: 1.2/pue: 0.2/' "$lab/near.yaml" >"$lab/bad.yaml"
expect "a PUE below 1" 1 "bad.yaml:7" "pue" -- "$agent" --config "$lab/bad.yaml" --check
sed 's/gpus_per_node: 4/gpus_per_nod: 4/' "$lab/near.yaml" >"$lab/bad.yaml"
expect "an unknown key in the site file" 1 "bad.yaml:9" "gpus_per_node" -- "$agent" --config "$lab/bad.yaml"
sed 's/memory: 80GB/memory: 80/' "$lab/near.yaml" >"$lab/bad.yaml"
expect "memory without a unit" 1 "bad.yaml:9" "GB" -- "$agent" --config "$lab/bad.yaml"
start_agent near
site_file far EU-SE 1.2 demo "$pool" >"$lab/far.yaml" # its key was never added
timeout 5 "$agent" --config "$lab/far.yaml" >"$lab/far.log" 2>&1 </dev/null
checks=$((checks + 1))
[ "$(psql -qXAt "$database" -c "select count(*) from helio.sites where site = 'far'")" = 0 ] || fault "an unknown key created a site"
expect "an unknown command of the broker" 2 "unknown command 'chek'" "did you mean .helio-broker check" -- "$broker" chek
expect "a word that is far from every command of the broker" 2 "unknown command 'xyzzy'" "migrate" -- "$broker" xyzzy
expect "an unknown command of the agent" 2 "unknown command 'chek'" "did you mean .helio-agent check" -- "$agent" chek
expect "a word that is far from every command of the agent" 2 "unknown command 'xyzzy'" "keygen PATH" -- "$agent" xyzzy
expect "a pair of keys without a file" 2 "needs PATH" -- "$agent" keygen
expect "an argument too many" 2 "takes no argument 'now'" -- "$agent" check now
expect "a second agent on one state folder" 1 "near-state" "lock|in use|another|running" -- "$agent" --config "$lab/near.yaml"
use_federation 1
judge_answers

# ---- jobs
job() { cat >"$lab/job.yaml"; }
job <<<'run: "true"
flexble: 12h'
expect "an unknown key" 2 "job.yaml:2:1" "\^" "flexible|placement" -- "$helio" submit "$lab/job.yaml"
job <<<'run: "true"
time: 90'
expect "a time without unit" 2 "job.yaml:2:7" "\^" "90s|unit" -- "$helio" submit "$lab/job.yaml"
job <<<'gpu: H100:99
run: "true"'
expect "more GPUs than any node may have" 2 "job.yaml:1" -- "$helio" submit "$lab/job.yaml"
job <<<'gpu: B300:1
run: "true"'
expect "a job that fits nowhere" 5 "near" "NoSuchGPU" -- "$helio" submit "$lab/job.yaml"
job <<<'queue: fast
run: "true"'
expect "an unknown queue" 2 "fast" "queues" -- "$helio" submit "$lab/job.yaml"
job <<<'queue: standrad
run: "true"'
expect "a misspelt queue" 2 "did you mean 'standard'" -- "$helio" submit "$lab/job.yaml"
job <<<'gpu: any:1
placement: {sites: [naer]}
run: "true"'
expect "a misspelt site" 5 "did you mean 'near'" "correct 'naer' to 'near' in .placement.sites.: starts now at near" -- "$helio" plan "$lab/job.yaml"
head -c 300000 /dev/zero | tr '\0' x >"$lab/huge.yaml"
expect "a document larger than the bound" 2 "262144" -- "$helio" submit "$lab/huge.yaml"
job <<<'run: "true"'
expect "a token file that is not there" 2 "$lab/nowhere: the token file, which HELIO_TOKEN_FILE names, does not exist" "helio token add" -- \
  env -u HELIO_TOKEN HELIO_TOKEN_FILE="$lab/nowhere" "$helio" ls
expect "doctor without its token file" 4 "token +the file $lab/nowhere, which HELIO_TOKEN_FILE names, does not exist" "broker +http" -- \
  env -u HELIO_TOKEN HELIO_TOKEN_FILE="$lab/nowhere" "$helio" doctor
expect "a good job" 0 -- "$helio" submit "$lab/job.yaml" --idempotency-key k1 -o name
first=$("$helio" submit "$lab/job.yaml" --idempotency-key k1 -o name)
expect "what the job asks for, as stored" 0 "^Goal +balanced$" -- "$helio" show "$first"
second=$("$helio" submit "$lab/job.yaml" --idempotency-key k1 -o name)
checks=$((checks + 1))
[ -n "$first" ] && [ "$first" = "$second" ] || fault "one key gave two jobs: $first $second"
job <<<'run: "false"'
expect "the same key, another document" 6 "key" -- "$helio" submit "$lab/job.yaml" --idempotency-key k1
expect "a job that does not exist" 3 "zzzzzz" -- "$helio" show zzzzzz
expect "no token" 4 "token" -- env -u HELIO_TOKEN "$helio" ls
expect "a wrong token" 4 "token" -- env HELIO_TOKEN=hel_aaaa_bbbb "$helio" ls
expect "an address without a broker" 7 "127.0.0.1:1" -- env HELIO_BROKER=http://127.0.0.1:1 "$helio" ls
expect "an unknown command" 2 "submit" -- "$helio" submti
expect "an unknown command of a group" 2 "did you mean .helio keys revoke" -- "$helio" keys revok near
expect "the forecast of an unknown site" 3 "did you mean 'near'" -- "$helio" forecast naer
expect "keys of an unknown site" 3 "did you mean 'near'" -- "$helio" keys revoke naer
expect "a quota of an unknown tenant" 3 "did you mean 'demo'" -- "$helio" quota set dmeo --burst 4
expect "an unknown state" 2 "did you mean 'queued'" -- "$helio" ls --state qeued
expect "a new tenant with almost another's name" 0 "'dmeo' is new; did you mean 'demo'" -- "$helio" tenants set dmeo
echo "# $lab/a/path/of/forty/characters/in/a/comment" | cut -c1-40 >"$lab/two.pub"
cat "$lab/near.pub" "$lab/near.pub" >>"$lab/two.pub"
expect "a file with two keys" 2 "two.pub:3" "second public key" -- "$helio" keys add other "$lab/two.pub"

# ---- queues and overflow groups
expect "a queue without a priority" 2 "nightly" "give a priority to create it" -- "$helio" queues set nightly --tier standard
expect "a priority beyond the bound" 2 "0 to 1,000,000" -- "$helio" queues set batch --priority 1000001
expect "an unknown tier" 2 "best-effort standard critical" -- "$helio" queues set batch --tier gold
expect "an invalid queue name" 2 "is not a name" -- "$helio" queues set 'my queue' --priority 5
expect "a temporary priority without a duration" 2 "give either --priority with --for" "--clear" -- "$helio" queues set batch --priority 5 --region EU
expect "an invalid day" 2 "character 6" "a day: Mon" -- "$helio" queues schedule batch 'Mon..Fry 20:00-08:00' --priority 5
expect "an unknown time zone" 2 "Europe/Berlyn" "Europe/Berlin" -- "$helio" queues schedule batch '20:00-08:00 Europe/Berlyn' --priority 5
expect "a POSIX rule in place of a zone" 2 "POSIX rule" "Europe/Berlin" -- "$helio" queues schedule batch '20:00-08:00 CET-1CEST,M3.5.0,M10.5.0/3' --priority 5
expect "a path in place of a zone" 2 "does not know the time zone" -- "$helio" queues schedule batch '20:00-08:00 etc/../../passwd' --priority 5
expect "an unknown rule" 3 "no such rule" "helio queues schedule batch" -- "$helio" queues schedule batch '20:00-08:00' --remove
expect "rules of an unknown queue" 3 "helio queues" -- "$helio" queues schedule fast
expect "an overflow group without queue and tenant" 2 "--queue, --tenant or both" -- "$helio" overflow set out --step near
expect "an overflow group of an unknown queue" 3 "fast" "helio queues" -- "$helio" overflow set out --queue fast --step near
expect "a step without sites" 2 "step 2: no sites" -- "$helio" overflow set out --queue batch --step near --step after=10m
expect "a time without unit in a step" 2 "step 2: after" "10m" -- "$helio" overflow set out --queue batch --step near --step far,after=10
expect "a step that opens before the previous one" 2 "step 3" -- "$helio" overflow set out --queue batch --step a --step b,after=10m --step c,after=1m
expect "an unknown overflow group" 3 "helio overflow list" -- "$helio" overflow rm out
expect "a burst limit for every tenant without a queue" 2 "queue" -- "$helio" quota set '*' --burst 4
job <<<'run: sleep 600
queue: batch'
expect "a queue with open jobs" 0 -- "$helio" submit "$lab/job.yaml"
expect "is not removed" 6 "unfinished" "helio ls" -- "$helio" queues rm batch

# ---- hostile bytes on both ports: the broker keeps running and serving
for port in "$http" "$sites"; do
  for _ in 1 2 3 4 5; do head -c 4096 /dev/urandom | timeout 2 bash -c "cat >/dev/tcp/127.0.0.1/$port" 2>/dev/null; done
done
printf 'POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n' | timeout 2 bash -c "exec 3<>/dev/tcp/127.0.0.1/$http; cat >&3; head -c 200 <&3" >"$lab/answer" 2>/dev/null
code() { curl -s -o "$lab/body" -w '%{http_code}' -H "Authorization: Bearer $token" "$@"; }
http_is() { # NAME CODE PATTERN CURL…
  local name=$1 want=$2 pattern=$3 got
  shift 3
  checks=$((checks + 1))
  got=$(code "$@")
  if ! grep -qx "$want" <<<"$got" || ! grep -qE "$pattern" "$lab/body"; then echo "FAULT $name: HTTP $got, expected $want: $(head -c 300 "$lab/body")"; faults=$((faults + 1)); fi
}
url=http://127.0.0.1:$http
http_is "JSON cut short" 400 '"reason"' -X POST -H 'Content-Type: application/json' -d '{"run": "true"' $url/v1/jobs
http_is "deep nesting" 4.. 'nested deeper' -X POST -H 'Content-Type: application/json' --data-binary "@-" $url/v1/jobs < <(python3 -c 'print("[" * 100000)')

http_is "an unknown route" 404 '"status"' $url/v1/nothing
http_is "a wrong method" 405 '"status"' -X PUT $url/v1/jobs
http_is "one bad of two: none is stored" 400 'job.?2|line|"reason"' -X POST -H 'Content-Type: application/x-ndjson' --data-binary $'{"run": "true", "name": "both"}\n{"runn": 1}\n' $url/v1/jobs
checks=$((checks + 1))
[ "$(psql -qXAt "$database" -c "select count(*) from helio_report.jobs where name = 'both'")" = 0 ] || fault "a part of a refused call was stored"

# ---- the database stops and returns: 503 meanwhile, no accepted job is lost
"$top/tests/postgres.sh" kill "$lab/pg"
sleep 0.5
job <<<'run: "true"'
checks=$((checks + 1))
timeout 25 "$helio" submit "$lab/job.yaml" --idempotency-key k2 >"$lab/out" 2>&1
[ $? != 0 ] || fault "a submission was answered without a database"
"$top/tests/postgres.sh" start "$lab/pg"
for _ in $(seq 150); do curl -fs -o /dev/null "$url/readyz" && break; sleep 0.1; done
expect "a submission after the database is back" 0 -- "$helio" submit "$lab/job.yaml" --idempotency-key k2
checks=$((checks + 1))
"$helio" wait "$first" --timeout 30s >/dev/null 2>&1 || fault "the accepted job did not succeed"
# ---- no process is left
for id in $("$helio" ls -o name); do "$helio" cancel "$id" >/dev/null 2>&1; done
for _ in $(seq 150); do [ "$(psql -qXAt "$database" -c "select count(*) from helio_report.jobs where finished_at is null")" = 0 ] && break; sleep 0.1; done
if grep -qE "$(cut -d_ -f3 <<<"$token")" "$lab"/*.log; then fault "the token is in a log"; fi
closing
