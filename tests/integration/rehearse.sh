#!/bin/bash
# Rehearsals over a real federation: when a site is taken down, its jobs fare as `helio rehearse --down` predicted; drains, prices
# and quotas; who can read the live state.
#   tests/integration/rehearse.sh BUILD_DIR
# shellcheck source=tests/integration/lab.sh
. "$(dirname "$0")/lab.sh"

# ---- two sites: what runs at lulea has to go, stay or wait when it goes down
make_federation
printf 'lease: 20s\nsilent_after: 3s\n' >>"$lab/broker.yaml"
add_site lulea SE-SE1 1 demo "name: h100, gpu: H100, memory: 80GB, nodes: 1, gpus_per_node: 8, cpus_per_node: 64, price_usd_per_gpu_h: 1"
add_site oslo NO-NO1 1 demo "name: h100, gpu: H100, memory: 80GB, nodes: 1, gpus_per_node: 8, cpus_per_node: 64, price_usd_per_gpu_h: 2"
start_broker
start_agent lulea
lulea_pid=$!
start_agent oslo
export TZ=UTC
use_federation 2
judge_answers
state() { "$helio" show "$1" -o json 2>/dev/null | jq -r '.state + " " + (.site // "-")'; }
comes_to() { # ID STATE SITE
  for _ in $(seq 300); do [ "$(state "$1")" = "$2 $3" ] && return; sleep 0.1; done
  fault "$1 is $(state "$1") after 30 s, expected $2 $3"
}
submit() { # NAME GPUS SITES SITE_LOSS [SECONDS]
  printf 'name: %s\ngpu: H100:%s\ntime: 1h\non_site_loss: %s\nplacement: {sites: [%s]}\nrun: exec sleep %s\n' "$1" "$2" "$4" "$3" "${5:-600}" | "$helio" submit - -o name
}
quick=$(submit quick 8 '"lulea", "oslo"' strict 1)
comes_to "$quick" succeeded lulea
other=$(submit other 4 oslo strict)
goes=$(submit goes 4 '"lulea", "oslo"' eager)
stays=$(submit stays 4 lulea strict)
waits=$(submit waits 8 lulea strict)
comes_to "$other" running oslo
comes_to "$goes" running lulea
comes_to "$stays" running lulea
comes_to "$waits" queued -

# ---- the prediction
"$helio" rehearse --down lulea --for 6h -o json >"$lab/down.json" || fault "no rehearsal"
effects() { jq -r --arg id "$1" '.jobs[] | select(.id == $id) | .effects | join(", ")' "$lab/$2.json"; }
same "a job that another site takes" "is interrupted, moves" "$(effects "$goes" down | sed 's/, costs more//')"
same "where" "oslo lulea" "$(jq -r --arg id "$goes" '.jobs[] | select(.id == $id) | .with.site + " " + .without.site' "$lab/down.json")"
same "a strict job waits for its site" "is interrupted, waits longer" "$(effects "$stays" down)"
same "one that is in the queue for it" "does not start, waits longer" "$(effects "$waits" down)"
says "and why" "lulea" "$(jq -r --arg id "$waits" '.jobs[] | select(.id == $id).why' "$lab/down.json")"
same "a job elsewhere is not named" "" "$(effects "$other" down)"
"$helio" rehearse --down lulea:2m --for 6h -o json >"$lab/back.json"
same "a strict job begins anew once its site is back" "is interrupted true lulea" \
  "$(jq -r --arg id "$stays" '.jobs[] | select(.id == $id) | "\(.effects[0]) \(.with.waited_s < 130 and .with.ended_at != null) \(.with.site)"' "$lab/back.json")"
table=$("$helio" rehearse --down lulea --for 6h)
says "as a table" "does not start" "$table"
says "the tenant's account" "GPU-H WAITED" "$table"


drain=$("$helio" drain lulea --dry-run --for 6h)
says "a drain keeps back what would start" "does not start" "$drain"
same "and stops nothing" "" "$(grep -e interrupted -e moves <<<"$drain")"
same "nor does it drain" "ready" "$("$helio" sites -o json | jq -r '.[] | select(.site == "lulea").state')"
"$helio" curtail lulea --to 0% --for 1h --dry-run -o json >"$lab/curtailed.json"
says "a curtailment stops what runs there" "is stopped" "$(effects "$stays" curtailed)"
same "which goes on elsewhere, or there when it is over" "is stopped, moves true" \
  "$(effects "$goes" curtailed | grep -o 'is stopped, moves') $(jq -r --arg id "$stays" '.jobs[] | select(.id == $id) | .with.curtailed == 1 and .with.site == "lulea"' "$lab/curtailed.json")"
same "nor is it curtailed" "[]" "$("$helio" curtailments lulea -o json | jq -c .)"
says "nothing" "No job is affected; 4 were rehearsed until" "$("$helio" rehearse --price oslo:1 --for 6h)"
"$helio" rehearse --price oslo:0.5 --for 6h -o json >"$lab/price.json"
same "half a price" "costs less 4" "$(jq -r --arg id "$other" '.jobs[] | select(.id == $id) | "\(.effects[0]) \(.with.cost_usd | round)"' "$lab/price.json")"
"$helio" rehearse --change quota=demo:4 --for 6h -o json >"$lab/quota.json"
same "a quota holds back what comes later" "does not start, waits longer" "$(effects "$waits" quota)"
"$helio" rehearse --change nodes=lulea/h100:0 --for 6h -o json >"$lab/nodes.json"
says "nodes that are gone" "moves" "$(effects "$goes" nodes)"

# ---- the last hour with one thing changed
"$helio" rehearse --last 1h --down lulea -o json >"$lab/past.json" || fault "no rehearsal of the last hour"
same "jobs that are over go elsewhere" "starts elsewhere, costs more oslo" "$(effects "$quick" past) $(jq -r --arg id "$quick" '.jobs[] | select(.id == $id).with.site' "$lab/past.json")"
same "without the change, each job is where it was" "lulea lulea lulea" \
  "$(for id in "$quick" "$goes" "$stays"; do jq -r --arg id "$id" '.jobs[] | select(.id == $id).without.site' "$lab/past.json"; done | xargs)"
same "and worked as long" true "$(jq -r --arg id "$quick" '.jobs[] | select(.id == $id).without.gpu_h * 450 | . > 0.9 and . < 10' "$lab/past.json")"
"$helio" rehearse --last 1h --change quota=demo:4 -o json >"$lab/tight.json"
same "what a quota would have cost" "does not start, waits longer" "$(effects "$quick" tight)"
"$helio" rehearse --last 45d --down lulea 2>"$lab/said"
says "a time that is too long" "--last takes 1h to 31d" "$(cat "$lab/said")"

# ---- refused
"$helio" rehearse --down luela 2>"$lab/said"
same "an unknown site is not found" 3 $?
says "and the site that may be meant" "there is no site 'luela'; did you mean 'lulea'?" "$(cat "$lab/said")"
"$helio" drain lulae --dry-run 2>"$lab/said"
same "nor is it in a drain" 3 $?
says "with the same advice" "did you mean 'lulea'?" "$(cat "$lab/said")"
"$helio" rehearse --change quota=nobody:4 2>"$lab/said" && fault "a quota of nobody"
says "an unknown tenant" "nobody" "$(cat "$lab/said")"
"$helio" rehearse --change down:lulea 2>"$lab/said"
says "the forms of changes" "nodes=SITE/POOL:N" "$(cat "$lab/said")"
plain=$("$helio" token add --tenant demo --user plain --role user -o json | jq -r .token)
HELIO_TOKEN=$plain "$helio" rehearse --down lulea 2>"$lab/said"
same "the live state is for operators" 4 $?

# ---- what happens is what was predicted
kill -9 "$lulea_pid"
wait "$lulea_pid" 2>/dev/null
comes_to "$goes" running oslo
comes_to "$stays" suspect lulea
same "what waits for lulea" "queued -" "$(state "$waits")"
same "what runs elsewhere" "running oslo" "$(state "$other")"

# ---- the site comes back: what ran there ended with the power
mapfile -t shims < <(pgrep -f "^helio-shim $lab/lulea-state/")
[ "${#shims[@]}" -gt 0 ] || fault "no shim runs at lulea"
kill -9 "${shims[@]}"
start_agent lulea
attempt() { "$helio" show "$stays" -o json 2>/dev/null | jq -r '.state + " \(.attempts)"'; }
for _ in $(seq 300); do [ "$(attempt)" = "running 2" ] && break; sleep 0.1; done
same "a strict job begins anew as soon as its site is back" "running 2" "$(attempt)"
for id in "$waits" "$goes" "$other" "$stays"; do "$helio" cancel "$id" >/dev/null 2>&1; done
for _ in $(seq 100); do pgrep -f "^helio-shim $lab/" >/dev/null || break; sleep 0.1; done
closing
