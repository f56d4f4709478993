#!/bin/bash
# scenarios.sh HELIO_SIMULATE -- the scenario "small" of HELIO_SCENARIOS, a folder with make.py, bounds.py and score.py, which share
# no code with this project: every row must be possible by the bounds, and two runs must print the same.
set -euo pipefail
simulate=$(realpath "${1:?usage: scenarios.sh HELIO_SIMULATE}")
tools=${HELIO_SCENARIOS:-}
if [ ! -f "$tools/score.py" ]; then
  echo "SKIPPED: policies over real traces; HELIO_SCENARIOS names no folder with make.py, bounds.py and score.py"
  exit 77
fi
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
export PYTHONDONTWRITEBYTECODE=1
"$tools/make.py" small --out "$at" ${HELIO_DATA:+--data "$HELIO_DATA" --facts "$HELIO_DATA"}
"$tools/bounds.py" "$at/small" >/dev/null
cd "$at/small"
files=(--fleet fleet.yaml --jobs jobs.csv.gz --carbon carbon.csv.gz)
[ ! -f price.csv.gz ] || files+=(--price price.csv.gz)
policies=isolated,nearest,least-wait,arrival,cheapest,static-rank,greenest,balanced,fast,cheap,green,follow-the-sun
policies+=,clairvoyant,clairvoyant-cheapest,clairvoyant-greenest
for run in 1 2; do "$simulate" "${files[@]}" --policy "$policies" --seed 1 -o json --report "$run.html" >"$run.json"; done
measured='"(wall_s|decisions_per_s)":' # seconds of this machine
diff <(grep -vE "$measured" 1.json) <(grep -vE "$measured" 2.json) || { echo "two runs differ"; exit 1; }
cmp <(sed 's/[12]\.html//' 1.html) <(sed 's/[12]\.html//' 2.html) || { echo "two reports differ"; exit 1; }
"$tools/score.py" . 1.json --check
# With an outage of a whole site and with users of its own, every job still ends, and only later.
site=$(sed -n 's/^  - name: //p' fleet.yaml | head -n 1)
awk -v at="    outages: [{from: 2023-10-02T06:00:00Z, to: 2023-10-02T12:00:00Z}]" '{print} /^  - name: / && !n++ {print at}' fleet.yaml >outage.yaml
{ echo site,submit_unix,duration_s,gpus; for hour in 0 6 12 18 24 30; do echo "$site,$((1696204800 + hour * 3600)),7200,8"; done; } >local.csv
"$simulate" "${files[@]}" --fleet outage.yaml --local-jobs local.csv --policy "$policies" --checkpoint 30m --on-site-loss lease -o json >3.json
"$simulate" "${files[@]}" --policy isolated,least-wait --capacity -o json >4.json
# With GPUs that sites reserve by day and in the shape of demand, every job still ends, and none holds what is reserved.
awk '{print} /^    pools:/ {pools = 1} /power:/ && pools {print "    windows: [{pool: a100, reserve_gpus: 4, when: \"10:00-16:00\"}, {pool: a100, series: chat, peak_gpus: 4}]"}' \
  fleet.yaml >windows.yaml
{ echo utc,series,requests; for day in 01 02 03 04; do for hour in 00 06 12 18; do echo "2023-10-${day}T$hour:00:00Z,chat,$((10#$hour))"; done; done; echo 2023-10-05T00:00:00Z,chat,0; } >demand.csv
"$simulate" "${files[@]}" --fleet windows.yaml --inference demand.csv --policy isolated,least-wait,greenest,follow-the-sun,clairvoyant -o json >6.json
# The bounds are those of programs that compute them in another way.
"$simulate" "${files[@]}" --policy least-wait,greenest --bound -o json >5.json
PYTHONPATH=$tools python3 - <<'END'
import datetime, json
from bounds import World
from common import load_scenario
from fluid import demand_by_hour, fill_deferred
rows, world = json.load(open("5.json")), World(load_scenario("."))
until = datetime.datetime.fromisoformat(rows[0]["bound_until"].replace("Z", "+00:00")).timestamp()
world.hours = int(until - world.t0) // 3600
demand = demand_by_hour(world.jobs, [job.submit for job in world.jobs], world.t0)
for name, least, same, series in (("carbon_kg", "carbon_lower_bound_kg", "carbon_same_hours_kg", world.carbon),
                                  ("cost_usd", "cost_lower_bound_usd", "cost_same_hours_usd", world.price)):
    floor = fill_deferred(demand, world.offers(series), world.hours)[0]
    for row in rows:
        assert abs(row[least] - floor) < 0.001 * abs(floor) + 0.1, ("the floor of any schedule", floor, row)
        assert row[least] <= row[same] <= row[name], ("no row is below its bounds", row)
carbon = json.load(open("bounds.json"))["carbon_kg"]["spatial"]
for row in rows:  # its hours are not those of the other program's one pool, but close to them
    assert abs(row["carbon_same_hours_kg"] / carbon - 1) < 0.01, ("the best sites of the same hours", carbon, row)
END
python3 - <<'END'
import json
plain, worse, sized, reserved = ({row["policy"]: row for row in json.load(open(f"{n}.json"))} for n in (1, 3, 4, 6))
def check(holds, what, *rows):
    assert holds, (what, *rows)
for name, row in plain.items():
    check(row["finished"] == row["jobs"] and row["unfinished"] == 0, "every job ends", row)
    check(worse[name]["finished"] == row["jobs"], "every job ends, also with an outage", worse[name])
    check(worse[name]["jct_mean_s"] > row["jct_mean_s"], "an outage makes nothing faster", row, worse[name])
    check(worse[name]["local_wait_mean_s"] is not None, "users of the site ran", worse[name])
    check(name == "isolated" or row["wait_mean_s"] <= plain["isolated"]["wait_mean_s"], "a federation waits less", row)
for name, row in reserved.items():
    check(row["finished"] == row["jobs"] and row["reserve_shortfall_gpu_h"] == 0, "reserved GPUs are free, and every job ends", row)
check(reserved["isolated"]["wait_mean_s"] > plain["isolated"]["wait_mean_s"], "reserved GPUs are missed", reserved["isolated"])
for name in ("greenest", "clairvoyant-greenest"):
    check(plain[name]["carbon_kg"] < plain["least-wait"]["carbon_kg"], "carbon is saved", plain[name])
for name in ("cheapest", "clairvoyant-cheapest"):
    check(plain[name]["cost_usd"] < plain["least-wait"]["cost_usd"], "money is saved", plain[name])
check(sized["isolated"]["effective_capacity_ratio"] == 1, "isolated is the measure", sized["isolated"])
check(sized["least-wait"]["effective_capacity_ratio"] > 1, "pooling needs fewer GPUs", sized["least-wait"])
END
