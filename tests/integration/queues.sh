#!/bin/bash
# Queues and overflow groups with real daemons: a schedule changes which queue starts first, a long wait opens the next
# overflow step, and pending jobs return to an earlier step that has capacity; a replay makes the same decisions.
#   tests/integration/queues.sh BUILD_DIR
# shellcheck source=tests/integration/lab.sh
. "$(dirname "$0")/lab.sh"

# ---- a federation of two sites with one CPU each
make_federation
add_site home EU-SE 1.2 '"*"' "name: cpu, nodes: 1, cpus_per_node: 1"
add_site cloud US-CAL 1.2 '"*"' "name: cpu, nodes: 1, cpus_per_node: 1"
recorded() { start_broker --record "$lab/recording"; }
recorded
start_agent home
start_agent cloud
use_federation 2

submit() { # QUEUE SECONDS
  printf 'queue: %s\ncpus: 1\ntime: 10m\nrun: sleep %s\n' "$1" "$2" | "$helio" submit - -o name
}
finish() { "$helio" wait "$@" --timeout 40s >/dev/null 2>&1 || fault "jobs did not succeed: $*"; }
starts() { # IDS: their queues in the order in which they started
  local list
  list=$(printf "'%s'," "$@")
  psql -qXAt "$database" -c "select string_agg(queue, ' ' order by started_at) from helio_report.jobs where job_id in (${list%,})"
}

# ---- a schedule changes which queue starts first, also under the next leader
"$helio" queues set nightly --priority 100 2>/dev/null || fault "no queue was created"
"$helio" drain cloud --reason test 2>/dev/null
order() { # the queues of two of each, in order of their starts on the one CPU
  local first ids
  first=$(submit express 1)
  ids=("$(submit standard 0)" "$(submit nightly 0)" "$(submit standard 0)" "$(submit nightly 0)")
  finish "$first" "${ids[@]}"
  starts "${ids[@]}"
}
same "priorities as they are set" "standard standard nightly nightly" "$(order)"
"$helio" queues schedule nightly '00:00-24:00 Europe/Berlin' --priority 900 --region EU 2>/dev/null || fault "no rule was set"
same "a schedule that holds" "nightly nightly standard standard" "$(order)"
end_broker -9
recorded
await_sites 1 # cloud is drained
same "a schedule, and another leader" "nightly nightly standard standard" "$(order)"
same "the rule is listed" "00:00-24:00 Europe/Berlin EU 900 true" \
  "$("$helio" queues schedule nightly -o json | jq -r '.[0] | [.schedule, .zone, .region, .priority, .holds] | map(tostring) | join(" ")')"
"$helio" queues schedule nightly '00:00-24:00 Europe/Berlin' --remove --region EU 2>/dev/null || fault "the rule was not removed"
same "no rule is left" "[]" "$("$helio" queues schedule nightly -o json | jq -c .)"
"$helio" queues rm nightly 2>/dev/null || fault "the queue was not removed"

# ---- a tenant is created while the broker runs, and can submit at once
"$helio" tenants set fresh --home home --weight 2 2>"$lab/tenants" || fault "no tenant was created"
same "what it says" "fresh created: weight 2, home home" "$(cat "$lab/tenants")"
"$helio" tenants set fresh --weight 2 2>"$lab/tenants"
same "the same again" "fresh unchanged: weight 2, home home" "$(cat "$lab/tenants")"
"$helio" tenants set fresh --home hoem 2>"$lab/tenants" && fault "a misspelt home was taken"
checks=$((checks + 1))
grep -q "unknown site 'hoem'; did you mean 'home'?" "$lab/tenants" || fault "a slip: $(cat "$lab/tenants")"
"$helio" tenants set fresh --home tomorrow 2>"$lab/tenants"
same "a site to come" "fresh set: weight 2, home tomorrow; no known site is named 'tomorrow'" "$(cat "$lab/tenants")"
"$helio" tenants set fresh --home cloud 2>/dev/null
fresh=$("$helio" token add --tenant fresh --user ada -o json 2>/dev/null | jq -r .token)
id=$(printf 'cpus: 1\ntime: 10m\nrun: "true"\n' | HELIO_TOKEN=$fresh "$helio" submit - -o name)
same "its jobs have its home" "cloud" "$("$helio" show "$id" -o json | jq -r .home_site)"
"$helio" cancel "$id" 2>/dev/null
same "it is listed, and audited" "cloud 2 1, tenant-add tenant-set" \
  "$("$helio" tenants -o json | jq -r '.[] | select(.tenant == "fresh") | "\(.home_site) \(.weight) \(.users)"'), $(psql -qXAt "$database" -c "select string_agg(distinct action, ' ' order by action) from helio.audit where object = 'fresh'")"

# ---- edits of pending jobs: they order the tenant's own jobs, also under the next leader; placed jobs do not change
first=$(submit standard 4) second=$(submit standard 0) third=$(submit standard 0) fourth=$(submit standard 0)
for _ in $(seq 100); do [ "$("$helio" show "$first" -o json | jq -r .state)" = running ] && break; sleep 0.1; done
"$helio" edit "$third" --priority 5 --goal green 2>"$lab/edit" || fault "a waiting job was not edited"
same "what it says" "$third edited priority: 0 → 5; edited goal: balanced → green" "$(cat "$lab/edit")"
"$helio" edit "$third" --priority 5 --goal green 2>"$lab/edit"
same "the same again" "$third unchanged: these values are already set" "$(cat "$lab/edit")"
"$helio" edit "$fourth" --queue batch --flexible 10m 2>/dev/null || fault "a waiting job did not change its queue"
"$helio" edit "$first" --goal green 2>"$lab/edit"
same "a job that runs is not edited" "6 1" "$? $(grep -c 'is running at home, and only queued or held jobs can be edited' "$lab/edit")"
"$helio" edit "$second" --deadline 2020-01-01T00:00:00Z 2>"$lab/edit"
same "a deadline that is past" "5 1" "$? $(grep -c 'nothing was changed' "$lab/edit")"
end_broker -9
recorded
await_sites 1 # cloud is drained
finish "$first" "$second" "$third" "$fourth"
same "a tenant's own order, and another leader" "$first $third $second $fourth" \
  "$(psql -qXAt "$database" -c "select string_agg(job_id, ' ' order by started_at) from helio_report.jobs where job_id in ('$first','$second','$third','$fourth')")"
same "it is shown" "goal balanced green user:demo/tester, batch" \
  "$("$helio" show "$third" -o json | jq -r '.edits[1] | [.field, .from, .to, .actor] | join(" ")'), $("$helio" show "$fourth" -o json | jq -r .queue)"
same "it is an event, and audited" "1 2" \
  "$("$helio" events -o json | jq "[.[] | select(.id == \"$third\" and .from == .to)] | length") $(psql -qXAt "$database" -c "select count(*) from helio.audit where action = 'edit'")"

# ---- a long wait opens the next step; pending jobs return to an earlier one
"$helio" undrain cloud 2>/dev/null
"$helio" overflow set out --queue standard --step home --step cloud,after=3s 2>/dev/null || fault "no group was set"
first=$(submit standard 6) second=$(submit standard 20) third=$(submit standard 0)
where() { "$helio" show "$1" -o json | jq -r '.site // "-"'; }
sleep 1.5
same "the first place is taken first" "home - -" "$(where "$first") $(where "$second") $(where "$third")"
checks=$((checks + 1))
why=$("$helio" explain "$second")
grep -q 'cloud opens when the wait here exceeds 3s' <<<"$why" || fault "it does not say when the cloud opens: $why"
sleep 2.5
same "the next one after the wait" "home cloud -" "$(where "$first") $(where "$second") $(where "$third")"
finish "$first" "$third"
same "the first one again once it has room" "home" "$(where "$third")"
"$helio" cancel "$second" >/dev/null 2>&1
same "it is audited" "overflow-set queue-rm queue-schedule queue-set queue-unschedule" \
  "$(psql -qXAt "$database" -c "select string_agg(distinct action, ' ' order by action) from helio.audit where action ~ '^(queue|overflow)-'")"

# ---- the decisions by zones, clocks and waits follow from the recording
end_broker
checks=$((checks + 1))
"$broker" replay "$lab/recording" >"$lab/replay" 2>&1 || { fault "a replay decides otherwise:"; cat "$lab/replay"; }
closing
