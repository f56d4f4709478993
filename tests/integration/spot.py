#!/usr/bin/env python3
"""Spot capacity: a site with the backend `exec` whose instances a provider takes away (tests/doubles/cloud.py), and a dearer one that
nobody takes away. Jobs with a checkpoint go to the spot pool for its discount, others do not; a third of the instances is taken
away, by a word of the list, by a notice, and without any notice; the jobs there go on from their checkpoints, every job ends once,
and the ledger adds up.
  tests/integration/spot.py --build BUILD_DIR"""
import argparse, json, os, shutil, sys, tempfile

from cloud_site import CloudSite
from federation import Federation, LocalSite, check

JOBS, PRICE, POWER = 9, 1.0, "power: {idle_w: 60, base_w: 86, slope_w: 243, host_w: 100}"


class SpotSite(CloudSite):
    def up(self, federation):
        super().up(federation)
        self.notices = os.path.join(self.state, "notices")
        os.mkdir(self.notices)
        os.chmod(self.notices, 0o755)
        self.scale = f"max: {JOBS + 2}\ndown_for: 1m\nnotice: {self.notices}"

    def site_keys(self):
        return (f"pools:\n  - {{name: gpus, gpu: H100, memory: 80GB, nodes: 0, gpus_per_node: 8, provision: 2s, owned: false, {POWER},\n"
                f"     price_usd_per_gpu_h: 3, spot: true, spot_usd_per_gpu_h: {PRICE}, interruptions_per_h: 0.05}}\n")


class House(LocalSite):
    """One node, which the job without a checkpoint takes."""
    def site_keys(self):
        return (f"pools:\n  - {{name: own, gpu: H100, memory: 80GB, nodes: 1, gpus_per_node: 8, owned: false, {POWER},\n"
                f"     price_usd_per_gpu_h: {self.price}}}\n")


def trainer(federation, i):
    """Works until the file `go` exists, and then for a second more; saves its step on USR1, and at each step."""
    at, done = os.path.join(federation.records, f"step{i}"), os.path.join(federation.records, f"done{i}")
    return f"""
step=$(cat {at} 2>/dev/null || echo 0)
echo "from $step resume ${{HELIO_RESUME:-0}} at $HELIO_SITE"
trap 'echo "$step" >{at}; echo saved >>{at}.saved; exit 0' USR1
while [ ! -e {federation.path('go')} ]; do step=$((step + 1)); echo "$step" >{at}; sleep 1; done
sleep 1
echo once >>{done}
"""


def goes_where_it_may(federation):
    saves = {"gpu": "H100:8", "time": "20m", "on_site_loss": "strict", "checkpoint": {"signal": "USR1", "grace": "5s", "every": "10m"}}
    plain = federation.submit_one(name="plain", gpu="H100:8", time="20m", on_site_loss="strict", run=trainer(federation, JOBS))
    federation.wait_for(lambda: federation.look_up(plain) == "running", 90, "the job without a checkpoint does not run")
    keys = [federation.submit_one(name=f"train{i}", run=trainer(federation, i), **saves) for i in range(JOBS)]
    running = lambda: sum(federation.look_up(key) == "running" for key in keys)
    federation.wait_for(lambda: running() == JOBS, 150, "not all jobs run")
    check(federation.look_up(plain, "site") == "house", "a job without a checkpoint runs on spot capacity")
    plan = json.loads(federation.helio("explain", plain, "-o", "json").stdout)
    check("NoSpot" in json.dumps(plan), f"the explanation does not say why it runs elsewhere: {plan}")
    explained = federation.helio("explain", keys[0]).stdout
    check("expected to be done again" in explained, f"the explanation does not say what an interruption would cost:\n{explained}")
    return keys, plain


def a_third_is_taken_away(federation, cloud, keys):
    on = {}  # instance -> job
    with open(cloud.state + "/cloud.json", encoding="utf-8") as file:
        for name, job in json.load(file)["jobs"].items():
            on[job["on"]] = next(key for key in keys if key in name.lower())
    listed, noticed, gone = list(on)[:3]
    attempts = {key: federation.look_up(key, "attempts") for key in keys}
    cloud.provider("interrupt", listed, "20")
    with open(os.path.join(cloud.notices, noticed), "w", encoding="utf-8"):
        pass
    saved = lambda one: os.path.exists(os.path.join(federation.records, f"step{keys.index(on[one])}.saved"))
    federation.wait_for(lambda: saved(listed) and saved(noticed), 90, "the jobs did not get their checkpoint signal")
    cloud.provider("delete", "gpus", noticed)
    os.unlink(os.path.join(cloud.notices, noticed))
    cloud.provider("interrupt", gone, "0")  # nobody is told in time
    again = lambda one: federation.look_up(on[one]) == "running" and federation.look_up(on[one], "attempts") != attempts[on[one]]
    try:
        federation.wait_for(lambda: all(again(one) for one in (listed, noticed, gone)), 240, "the jobs do not go on elsewhere")
    except SystemExit:
        for one in (listed, noticed, gone):
            print(one, federation.helio("explain", on[one]).stdout, file=sys.stderr)
        print(federation.helio("gpus").stdout, file=sys.stderr)
        raise
    for one in (listed, noticed):
        why = federation.sql(f"select reason from helio_report.job_transitions where job_id = '{on[one]}' and to_state = 'queued'")
        check(any(f"the provider takes {one} away" in row[0] and "Preempted" in row[0] for row in why), f"the reason is missing: {why}")
        check("resume 1" in federation.logs(on[one]), f"it began anew:\n{federation.logs(on[one])}")
    check(federation.log("cloud").count("instance_interrupted") >= 2, "the agent's log does not name the instances")
    check("interrupted" in cloud.provider("list", "gpus") or f"gone {listed}" in cloud.log(), "the first one was never taken")
    with open(federation.path("go"), "w", encoding="utf-8"):
        pass
    return [on[one] for one in (listed, noticed, gone)]


def every_job_ends_once(federation, keys, plain, moved):
    states = lambda: {federation.look_up(key) for key in keys + [plain]}
    federation.wait_for(lambda: states() == {"succeeded"}, 150, f"not all jobs succeeded: {states()}")
    for i in range(JOBS + 1):
        with open(os.path.join(federation.records, f"done{i}"), encoding="utf-8") as file:
            check(file.read() == "once\n", f"job {i} did not end once")
    ends = federation.sql("select job_id, count(*) filter (where exit_code = 0) from helio_report.jobs group by 1 having count(*) > 1")
    check(not ends, f"jobs have several rows: {ends}")
    wrong = federation.sql(f"""select job_id, epoch, gpu_seconds, cost_usd from helio_report.ledger
        where site = 'cloud' and abs(cost_usd - gpu_seconds / 3600.0 * {PRICE}) > 0.00001""")
    check(wrong == [], f"runs on spot capacity are not charged at its price: {wrong}")
    sums = federation.sql("""select j.job_id from helio_report.jobs j join helio_report.ledger l using (job_id)
        group by j.job_id, j.cost_usd having abs(j.cost_usd - sum(l.cost_usd)) > 0.00001""")
    check(sums == [], f"the costs of jobs are not the sums of their ledger: {sums}")
    epochs = federation.sql("select job_id, count(distinct epoch) from helio_report.ledger group by 1")
    both = {row[0] for row in epochs if int(row[1]) > 1}
    check(set(moved) <= both, f"an interrupted run is not in the ledger: {moved} {epochs}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-spot-")
    cloud = SpotSite("cloud", PRICE)
    federation = Federation(args.build, folder, [cloud, House("house", 2.5)])
    federation.judged = True
    try:
        federation.up()
        keys, plain = goes_where_it_may(federation)
        print("ok goes_where_it_may", flush=True)
        moved = a_third_is_taken_away(federation, cloud, keys)
        print("ok a_third_is_taken_away", flush=True)
        every_job_ends_once(federation, keys, plain, moved)
        print("ok every_job_ends_once", flush=True)
        federation.judge()
    except SystemExit:
        print(federation.last_words(), file=sys.stderr)
        raise
    finally:
        federation.down()
    shutil.rmtree(folder)


main()
