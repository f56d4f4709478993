#!/usr/bin/env python3
"""Two tenants and a flood, with a real broker, PostgreSQL and processes: a critical job preempts experiments at once, training
preempts them with its grace, a guarantee is met within a minute, a job that saves resumes from its file, and one that ignores
TERM is ended at once on request.
  tests/integration/preemption.py --build BUILD_DIR"""
import argparse, json, os, shutil, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import Federation, LocalSite  # noqa: E402

FLOOD = 5000

TRAIN = r"""
at=$HELIO_CHECKPOINT_DIR/step
step=$(cat "$at" 2>/dev/null || echo 0)
echo "from $step resume ${HELIO_RESUME:-0}"
trap 'echo "$step" >"$at"; echo "{\"units\": $step, \"checkpoint\": \"step-$step\"}" >>"$HELIO_REPORT"; echo "saved $step"; exit 0' USR1
while [ "$step" -lt 100000 ]; do step=$((step + 1)); sleep 0.1; done
"""


class OneNode(LocalSite):
    nodes = 1


class Test:
    def __init__(self, federation):
        self.f = federation

    def as_tenant(self, tenant):
        self.f.env["HELIO_TOKEN"] = self.tokens[tenant]

    def up(self):
        self.tokens = {"demo": self.f.env["HELIO_TOKEN"]}
        for tenant in ("red", "blue"):
            self.f.helio("tenants", "set", tenant)
            self.tokens[tenant] = self.f.helio("token", "add", "--tenant", tenant, "--user", tenant).stdout.split()[-1]

    def submit(self, tenant, **doc):
        self.as_tenant(tenant)
        return self.f.submit_one(**doc)

    def state(self, job):
        return self.f.look_up(job)

    def count(self, tenant, state):
        rows = self.f.sql(f"select count(*) from helio_report.jobs where tenant = '{tenant}' and state = '{state}'")
        return int(rows[0][0]) if rows else 0

    def until(self, what, seconds, complaint):
        begin = time.monotonic()
        self.f.wait_for(what, seconds, complaint)
        return time.monotonic() - begin

    def cancel(self, tenant, *jobs):
        self.as_tenant(tenant)
        self.f.helio("cancel", *jobs)

    def flood(self, queue):
        job = self.submit("red", name="experiments", queue=queue, gpu="H100:1", cpus=1, time="1h",
                          run="exec sleep 600", array=f"0-{FLOOD - 1}")
        self.until(lambda: self.count("red", "running") == 16, 30, "the flood does not fill the sites")
        return job

    def reasons(self, tenant):
        return {row[0] for row in self.f.sql(
            "select distinct t.reason from helio_report.job_transitions t join helio_report.jobs j using (job_id) "
            f"where j.tenant = '{tenant}' and t.to_state = 'stopping' and t.actor = 'broker'")}

    def check(self, good, complaint):
        if not good:
            raise SystemExit(f"{complaint}; logs are in {self.f.dir}")

    def tiers(self):
        flood = self.flood("preemptible")
        urgent = self.submit("blue", name="answer", queue="express", gpu="H100:1", cpus=1, time="10m", run="exec sleep 300")
        took = self.until(lambda: self.state(urgent) == "running", 10, "critical work waits behind experiments")
        print(f"a critical job ran {took:.1f} s after {FLOOD} experiments had filled the sites")
        self.check(any(r.startswith("preempted by blue/express job ") and urgent in r for r in self.reasons("red")),
                   f"nobody was preempted by it: {self.reasons('red')}")
        train = self.submit("blue", name="train", queue="standard", gpu="H100:8", cpus=1, time="1h", run=TRAIN,
                            checkpoint={"signal": "USR1", "grace": "5s"})
        took = self.until(lambda: self.state(train) == "running", 20, "training waits behind experiments")
        print(f"a training job of a whole node ran after {took:.1f} s")
        self.check(self.state(urgent) == "running", "critical work was preempted")
        return flood, urgent, train

    def resume(self, train):
        """A critical job that fits only at the training's site: the training saves, leaves, and resumes from its file."""
        site = self.f.sql(f"select site from helio_report.jobs where job_id = '{train}'")[0][0]
        logs = lambda: self.f.helio("logs", train, check=False).stdout
        self.as_tenant("blue")
        self.until(lambda: "from 0 resume 0" in logs(), 20, "the training says nothing")
        urgent = self.submit("blue", name="whole", queue="express", gpu="H100:8", cpus=1, time="10m",
                             run="exec sleep 300", placement={"sites": [site]})
        why = lambda: self.f.helio("explain", urgent, check=False).stdout
        remedy = "helio quota set blue --queue express --burst N"
        self.until(lambda: remedy in why(), 20, "nobody is told that critical work has a quota")
        self.check(self.state(urgent) == "queued" and self.state(train) == "running",
                   "critical work took more than its quota")
        self.as_tenant("demo")
        self.f.helio("quota", "set", "blue", "--queue", "express", "--burst", "16")
        took = self.until(lambda: self.state(urgent) == "running", 40, "critical work waits for training")
        print(f"a critical job took the training's node after {took:.1f} s (it is protected for its first 20 s, then it gets its signal)")
        self.as_tenant("blue")
        self.f.helio("cancel", urgent)
        self.until(lambda: "resume 1" in logs(), 30, "the training does not come back")
        text = logs()
        self.check("from 0 resume 0" not in text and "from 0 resume 1" not in text,
                   f"the training began anew: {text}")
        row = self.f.sql(f"select attempts from helio_report.jobs where job_id = '{train}'")[0]
        self.check(row[0] == "2", f"the training has {row[0]} attempts")
        print(f"the training resumed: {text.strip().splitlines()[0]}")

    def guarantee(self):
        flood = self.flood("standard")
        self.as_tenant("demo")
        self.f.helio("quota", "set", "blue", "--guaranteed", "8")
        jobs = [self.submit("blue", name=f"train-{i}", queue="standard", gpu="H100:2", cpus=1, time="1h",
                            run="exec sleep 300") for i in range(6)]
        running = lambda: sum(self.state(job) == "running" for job in jobs)
        took = self.until(lambda: running() == 4, 60, "the guarantee is not met")
        print(f"8 guaranteed GPUs ran after {took:.1f} s; the other two of six stay pending: {running()} run")
        time.sleep(3)
        self.check(running() == 4, "more was reclaimed than is guaranteed")
        self.cancel("red", flood)
        self.cancel("blue", *jobs)

    def stubborn(self):
        """Jobs that ignore TERM and asked for an hour to save: each way to end them works within seconds."""
        ways = {"a second cancel with --now": ("cancel", "--now"), "KILL": ("scancel", "--full", "--signal=KILL")}
        for name, way in ways.items():
            job = self.submit("red", name="stubborn", queue="standard", gpu="H100:1", cpus=1, time="1h",
                              run="trap '' TERM USR1; echo deaf; while :; do sleep 1; done",
                              checkpoint={"signal": "USR1", "grace": "1h"})
            self.until(lambda: "deaf" in self.f.helio("logs", job, check=False).stdout, 30, "the stubborn job says nothing")
            self.cancel("red", job)
            self.until(lambda: self.state(job) == "stopping", 10, "a cancelled job does not stop")
            time.sleep(2)
            self.check(self.state(job) == "stopping", "a job that ignores TERM got no grace")
            self.f.helio(*way, job)
            took = self.until(lambda: self.state(job) == "cancelled", 10, f"{name} does not end a job's grace")
            print(f"{name} ended a job that ignores TERM after {took:.1f} s")

    def overall(self):
        self.until(lambda: self.f.open_jobs() == 0, 60, "jobs are not over")
        twice = self.f.sql("select count(*) from helio.attempts where completes group by job_id, task having count(*) > 1")
        self.check(not twice, "a job completed twice")
        critical = self.f.sql("select count(*) from helio.job_state s join helio.jobs j using (job_id) "
                              "where j.queue = 'express' and s.evictions > 0")
        self.check(critical == [["0"]], "critical work was preempted")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    options = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-preemption-")
    federation = Federation(options.build, folder, [OneNode("north", 2.0), OneNode("south", 3.0)],
                            tenants=("demo", "red", "blue"))
    test, began = Test(federation), time.monotonic()
    federation.judged = True
    try:
        federation.up()
        test.up()
        flood, urgent, train = test.tiers()
        test.resume(train)
        test.cancel("red", flood)
        test.cancel("blue", urgent, train)
        test.until(lambda: test.count("red", "running") + test.count("blue", "running") == 0, 30, "the cancelled still run")
        test.guarantee()
        test.stubborn()
        test.overall()
        federation.judge()
    finally:
        federation.down()
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{FLOOD} experiments twice, five kinds of work that preempted them: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
