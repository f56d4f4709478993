#!/usr/bin/env python3
"""A curtailed site, with a real broker, PostgreSQL and processes: within a minute its GPUs use no more than the share; experiments
leave, and run at the other site; critical work stays; what only that site may run waits; a restarted broker keeps to it.
  tests/integration/curtail.py --build BUILD_DIR"""
import argparse, json, os, shutil, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import Federation, LocalSite, check  # noqa: E402


class OneNode(LocalSite):
    nodes = 1


class Test:
    def __init__(self, federation):
        self.f = federation

    def submit(self, name, queue, gpus, **more):
        return self.f.submit_one(name=name, queue=queue, gpu=f"H100:{gpus}", cpus=1, time="1h", run="exec sleep 600", **more)

    def runs(self, site, *jobs):
        return all(self.f.look_up(job) == "running" and self.f.look_up(job, "site") == site for job in jobs)

    def newest(self):
        return json.loads(self.f.helio("curtailments", "north", "-o", "json").stdout)[0]

    def begin(self):
        here = {"placement": {"sites": ["north"]}}
        self.critical = self.submit("answers", "express", 3, **here)
        self.experiments = [self.submit(f"experiment-{i}", "preemptible", 2) for i in range(2)]
        self.f.wait_for(lambda: self.runs("north", self.critical, *self.experiments), 30, "not all jobs run at north")
        time.sleep(1.2)  # experiments are protected for a second

    def sheds(self):
        began = time.monotonic()
        said = self.f.helio("curtail", "north", "--to", "50%", "--for", "30m", "--reason", "the grid asks").stderr
        check("curtailed to 50 % of its GPU power" in said and "will be stopped" in said, f"it says: {said}")
        self.f.wait_for(lambda: self.newest()["used_watts"] <= self.newest()["limit_watts"], 60, "north uses more than its share")
        self.f.wait_for(lambda: any(self.runs("south", job) for job in self.experiments), 60, "no experiment moved to south")
        print(f"north kept to its share, and an experiment ran at south, after {time.monotonic() - began:.1f} s")
        check(self.runs("north", self.critical), "critical work was touched")
        row = self.newest()
        check(row["state"] == "in_force" and row["jobs_stopped"] >= 1 and row["kept_watts"] == 0, f"what it cost: {row}")
        why = self.f.sql("select distinct reason from helio_report.job_transitions where to_state = 'stopping'")
        check(len(why) == 1 and why[0][0].startswith("north is curtailed to 50 % of its GPU power until "), f"stopped: {why}")

    def filters(self):
        self.waits = self.submit("waits", "standard", 4, placement={"sites": ["north"]})
        explain = lambda: self.f.helio("explain", self.waits, check=False).stdout
        self.f.wait_for(lambda: "north is curtailed to 50 %" in explain(), 20, f"explain does not say why it waits: {explain()}")
        site = next(site for site in self.f.site_list() if site["site"] == "north")
        check(site["curtailed_to_percent"] == 50, f"the list of sites does not show it: {site}")
        for words in (("sites",), ("gpus",), ("top", "--once"), ("doctor",)):
            said = self.f.helio(*words, check=False).stdout
            check("north is curtailed to 50 % of its GPU power until 20" in said, f"helio {words[0]} does not say it: {said}")
        for words in (("curtailments", "nowhere"), ("desired", "nowhere")):
            refused = self.f.helio(*words, check=False)
            check(refused.returncode == 3 and "nowhere" in refused.stderr, f"helio {' '.join(words)}: {refused.returncode} {refused.stderr}")

    def restarts(self):
        self.f.kill("broker")
        self.f.start("broker")
        self.f.wait_ready()
        check(self.f.look_up(self.waits) == "queued", "a restarted broker forgot the curtailment")
        check(self.newest()["state"] == "in_force", f"it is not in force: {self.newest()}")

    def ends(self):
        said = self.f.helio("uncurtail", "north").stderr
        check("1 curtailment ended" in said, f"it says: {said}")
        self.f.wait_for(lambda: self.runs("north", self.waits), 30, "what waited does not start")
        check(self.newest()["state"] == "ended", f"it did not end: {self.newest()}")
        audit = self.f.sql("select action from helio.audit where object = 'north' and action like '%curtail' order by at")
        check(audit == [["curtail"], ["uncurtail"]], f"the audit has {audit}")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    options = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-curtail-")
    federation = Federation(options.build, folder, [OneNode("north", 2.0), OneNode("south", 3.0)])
    test = Test(federation)
    federation.judged = True
    try:
        federation.up()
        for case in (test.begin, test.sheds, test.filters, test.restarts, test.ends):
            case()
            print(f"ok {case.__name__}", flush=True)
        federation.helio("cancel", test.waits, test.critical, *test.experiments)
        federation.wait_for(lambda: federation.open_jobs() == 0, 30, "jobs are not over")
        federation.judge()
    except SystemExit:
        print(federation.last_words(), file=sys.stderr)
        raise
    finally:
        federation.down()
    shutil.rmtree(folder)


main()
