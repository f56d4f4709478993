#!/bin/bash
# Budgets with real daemons: a job whose start would exceed a budget waits and says why, also before its submission; unused
# estimates are released; the next leader knows the charged amounts; the report has the broker's figures.
#   tests/integration/budgets.sh BUILD_DIR
# shellcheck source=tests/integration/lab.sh
. "$(dirname "$0")/lab.sh"
alive() { kill -0 "$broker_pid" 2>/dev/null && return; tail -3 "$lab/broker.log"; fault "the broker has ended"; exit 1; }

# ---- a site whose GPUs cost a dollar a second
make_federation
add_site dear EU-SE 1 demo "name: h100, gpu: H100, memory: 80GB, nodes: 1, gpus_per_node: 8, cpus_per_node: 64, price_usd_per_gpu_h: 3600"
start_broker
start_agent dear
export TZ=UTC
use_federation 1
judge_answers
state() { "$helio" show "$1" -o json 2>/dev/null | jq -r .state; }
comes_to() { # ID STATE
  for _ in $(seq 300); do [ "$(state "$1")" = "$2" ] && return; sleep 0.1; done
  fault "$1 is $(state "$1") after 30 s, expected $2"
}
file() { # GPUS SECONDS: foreseen by its limit of a minute, so 60 USD a GPU
  printf 'gpu: H100:%s\ntime: 1m\nrun: exec sleep %s\n' "$1" "$2"
}
submit() { file "$1" "$2" | "$helio" submit - -o name; }

# ---- set and shown
"$helio" quota set demo --budget '150 USD/mnth' 2>"$lab/said"
says "a wrong word" "did you mean 'month'?" "$(cat "$lab/said")"
"$helio" quota set demo --budget '150 USD/month' --budget '2 t/month' 2>"$lab/said" || fault "no budget was set"
same "what it says" "demo: guaranteed 0, no burst limit, weight 1, budget 150 USD/month, 2 t/month" "$(cat "$lab/said")"

alive

# ---- jobs over a budget wait; plan says so before submission
first=$(submit 1 40) second=$(submit 1 2)
comes_to "$first" running
plan=$(file 1 1 | "$helio" plan - 2>&1)
says "a plan that is over it" "of 150 USD of" "$plan"
third=$(submit 1 0)
why=$("$helio" explain "$third" 2>&1)
says "why it waits" "PolicyCap" "$why"
says "why it waits, in words" "USD of $(date -u +'%B %Y') used or committed, it needs 60; the next period begins" "$why"
says "what an operator does" "helio quota set demo --budget 'N USD/month'" "$why"
shown=$("$helio" quota demo)
says "a table of budgets" "NEXT-PERIOD" "$shown"
same "left by the report" "30 $(date -u -d "$(date -u +%Y-%m-01) +1 month" +%Y-%m-%dT00:00)" \
  "$("$helio" quota demo -o json | jq -r '.[] | select(.queue == null).budgets[] | select(.kind == "money") | "\(.left | round) \(.begins_again[:16])"')"
whole=$(submit 8 1)
says "more than the whole of it" "it needs 480 USD, more than demo's budget of 150 per month" "$("$helio" explain "$whole" 2>&1)"
"$helio" cancel "$whole" >/dev/null 2>&1

# ---- the next leader knows the committed amounts; unused estimates are released
end_broker -9
start_broker
await_sites 1
comes_to "$second" succeeded
comes_to "$third" succeeded
left=$("$helio" quota demo -o json | jq -r '.[] | select(.queue == null).budgets[] | select(.kind == "money").left')
checks=$((checks + 1))
awk -v left="$left" 'BEGIN { exit !(left > 80 && left < 90) }' || fault "left: $left, expected 90 less what two short runs cost"
same "the view has it" "t" "$(psql -qXAt "$database" -c "select abs(remaining - $left) < 1 from helio_report.budgets where tenant = 'demo' and kind = 'money'")"

# ---- a budget stops no running job
"$helio" quota set demo --budget '1 USD/month' 2>/dev/null
fourth=$(submit 1 0)
sleep 1
same "what runs runs on, and nothing comes in" "running queued" "$(state "$first") $(state "$fourth")"
says "a metric tells" 'helio_budgets{kind="money",level="full"} 1' "$(curl -s -H "Authorization: Bearer $token" "http://127.0.0.1:$http/metrics")"
"$helio" quota set demo --budget none 2>/dev/null
comes_to "$fourth" succeeded
same "none is left" "[]" "$("$helio" quota demo -o json | jq -c '.[] | select(.queue == null).budgets')"
"$helio" cancel "$first" >/dev/null 2>&1

closing
