#!/usr/bin/env python3
"""Everything fails, at random, for minutes: two brokers, the agents of three sites and PostgreSQL, each on a machine of its own, under a
mixed workload. The jobs themselves keep the truth; the ledger and the answers to users are compared with it at the end.

    tests/faults/chaos.py --build BUILD_DIR [--minutes 5] [--seed N] [--faults KIND,…] [--pause S] [--known KIND,…] [--keep]

The seed decides which faults come in which order and what is submitted, not how a real machine meets them. --faults: only these kinds
(chaos/faults.py). --known: kinds of violations that are listed and do not fail the campaign. Exit 0 if every promise held; 77 if
this machine has no private networks.
"""
import argparse, collections, os, random, shutil, signal, statistics, subprocess, sys, tempfile, threading, time

import hosts
from chaos import checks, evidence, faults, jobs, truth, world

SETTLE_S = 100      # from the end of the last fault until every job is over
JOBS_A_MINUTE = 40  # submissions; tasks of an array count as one


class Probe(threading.Thread):
    """After the death of a leader: how long until a submission is accepted, and until a job that was submitted then starts."""
    def __init__(self, w, users, number, died):
        super().__init__(daemon=True)
        self.w, self.users, self.name_of, self.died = w, users, f"probe-{number}", died
        self.accepted = self.job = None

    def run(self):
        body = {"name": self.name_of, "cpus": 1, "time": "1m", "env": {"TRUTH": self.w.records}, "run": truth.script(0)}
        turn = 0
        while world.now() - self.died < 60 and not self.job:
            status, answer = self.users.request(world.BROKERS[turn % 2], "POST", "/v1/jobs", body, timeout=1,
                                                Idempotency_Key=self.name_of)
            if status in (200, 201):
                self.accepted, self.job = world.now() - self.died, answer["jobs"][0]["id"]
            turn += 1
            time.sleep(0.05)

    def placed(self, e):
        return min((run.began - self.died for run in e.runs if run.key == self.job), default=None)

    def alone(self, e, seconds):
        """Whether nothing else failed so long after the death."""
        return sum(episode.began < self.died + seconds and episode.ended > self.died for episode in e.episodes) == 1


def play(w, users, storm, rng, seconds):
    """Workload and faults until the time is over; returns the probes."""
    probes, next_job, seen = [], 0, 0
    while world.now() - w.began < seconds:
        w.tend()
        storm.tend(True)
        deaths = [item for item in storm.under_way if item[0].kind == "leader killed"]
        if deaths and deaths[0][3] > seen:
            seen = deaths[0][3]
            probes.append(Probe(w, users, len(probes), seen))
            probes[-1].start()
        if world.now() >= next_job:
            users.submit_next()
            next_job = world.now() + rng.expovariate(JOBS_A_MINUTE / 60)
        time.sleep(0.1)
    storm.tend(False)
    return probes


def settle(w, users):
    """Waits until every job is over, and does what an operator would do."""
    end, turn = world.now() + SETTLE_S, 0
    while world.now() < end:
        w.tend()
        rows = w.sql("select job_id, tenant from helio_report.jobs where state not in ('succeeded','failed','timeout','cancelled','lost')")
        if rows == [] and users.work.unfinished_tasks == 0:
            break
        turn += 1
        if turn % 8 == 0:
            alive = {run.key for run in truth.read(w.records) if world.now() - run.last < 3 and run.words[-1] != "end"}
            users.operate(alive)
            for key, tenant in rows or []:
                if tenant == "poor" and world.now() > end - SETTLE_S / 2:
                    users.insist("DELETE", f"/v1/jobs/{key}", None, tenant, (202, 200, 409), 5)
        time.sleep(0.25)
    users.ask_again()


def percentiles(values):
    if not values:
        return "none"
    values = sorted(values)
    return f"p50 {statistics.median(values):.1f} s, p99 {values[int(len(values) * 0.99)]:.1f} s, worst {values[-1]:.1f} s, of {len(values)}"


def report(w, e, storm, probes, found, known):
    counts, kinds = collections.Counter(episode.kind for episode in e.episodes), collections.Counter(kind for kind, _ in found)
    print(f"\n{len(e.episodes)} episodes:")
    for kind in faults.KINDS:
        if counts[kind]:
            print(f"  {counts[kind]:4} {kind}")
    ended = collections.Counter(f"{name} exit {status}" for name, status, _ in e.exits)
    print(f"ended by themselves and started again: {', '.join(f'{n} x {what}' for what, n in sorted(ended.items())) or 'none'}")
    for what, times in ("submission accepted", [(p, p.accepted) for p in probes]), ("job started", [(p, p.placed(e)) for p in probes]):
        alone = [at for p, at in times if at and p.alone(e, at)]
        print(f"leader killed, next {what}: {percentiles(alone)}; with other faults before it: "
              f"{percentiles([at for p, at in times if at and not p.alone(e, at)])}")
    for kind, sentence in found:
        print(f"VIOLATION {kind}{' (known)' if kind in known else ''}: {sentence}")
    attempts = len({(run.key, run.epoch) for run in e.runs})
    broken = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "none"
    print(f"{len(e.docs)} submissions, {len(e.rows)} jobs, {attempts} attempts, {len(e.episodes)} episodes of {len(counts)} kinds; "
          f"violations: {broken}")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--minutes", type=float, default=5)
    args.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1000000))
    args.add_argument("--faults", default=",".join(faults.KINDS))
    args.add_argument("--pause", type=float, default=6, help="longest time between the beginnings of two faults, in seconds")
    args.add_argument("--known", default="")
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    kinds, known = args.faults.split(","), args.known.split(",")
    if wrong := set(kinds) - set(faults.KINDS):
        sys.exit(f"no such faults: {sorted(wrong)}; there are {faults.KINDS}")
    if "HELIO_ALONE" not in os.environ:
        if why := hosts.why_not_alone() or (None if hosts.FAKETIME else "libfaketime is not installed"):
            print(f"SKIPPED: chaos: {why}")
            sys.exit(77)
        sys.argv += ["--seed", str(args.seed)]
        hosts.alone()
    for kind, why in faults.lacks().items():
        if kind in kinds:
            print(f"SKIPPED: {kind}: {why}")
            kinds.remove(kind)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of `finally`
    print(f"seed {args.seed}", flush=True)
    folder, ok = tempfile.mkdtemp(prefix="helio-chaos-"), False
    w, storm = world.World(args.build, folder), None
    try:
        w.up()
        users = jobs.Users(w, random.Random(f"{args.seed}, documents"))
        storm = faults.Storm(w, args.seed, kinds, args.pause)
        probes = play(w, users, storm, random.Random(f"{args.seed}, submissions"), args.minutes * 60)
        settle(w, users)
        users.stop()
        e = evidence.gather(w, users, storm)
        found = checks.violations(e)
        report(w, e, storm, probes, found, known)
        ok = all(kind in known for kind, _ in found)
    finally:
        if storm:
            storm.tend(False)  # what a fault has stopped goes on
        if not ok:
            subprocess.run(["pg_dump", "--file", w.path("dump.sql"), w.database], check=False)
        w.down()
        if ok and not args.keep:
            shutil.rmtree(folder)
        else:
            print("all files are kept in", folder)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
