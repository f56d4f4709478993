#!/usr/bin/env python3
"""Two brokers over one database: restarts them in turn under load, and kills the leader.

    tests/faults/rolling.py --build BUILD_DIR [--rounds 3] [--kills 12] [--seed 1] [--keep]

Restarts: jobs are submitted all the time, through each broker alone and through both, while each broker in turn is
stopped and started, --rounds times. No submission may fail for good; every job must end as expected, in its first
attempt, and no process may have started twice.

Before that: a follower takes new tokens at once, and says so if the leader's address is its own.

Kills: the leader gets SIGKILL --kills times. From then on it is measured when the other broker accepts a submission, and when that
job is placed at a site. Exit 1 if the 99th percentile of these is above 5 s or 10 s, or if any check failed.
"""
import argparse, http.client, json, random, shutil, subprocess, sys, tempfile, threading, time, urllib.parse

import verdict, workload
from federation import Federation, LocalSite, check

ACCEPTED_S, PLACED_S = 5.0, 10.0  # promised for the 99th percentile
LONG_S = 600  # of the jobs that run through all restarts; they are cancelled at the end


class Brokers(Federation):
    brokers = ("anna", "bert")

    def ask(self, name, method, path, body=None, key=None, seconds=20):
        """The answer of one broker: status and text; None if there is none."""
        where = urllib.parse.urlsplit(self.urls[name])
        headers = {"Authorization": "Bearer " + self.env["HELIO_TOKEN"]}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=seconds)
        try:
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def leader(self):
        leading = [name for name in self.brokers if self.is_well(name)]
        check(len(leading) <= 1, "two brokers lead")
        return leading[0] if leading else None

    def wait_well(self):
        for name in self.brokers:
            self.wait_for(lambda name=name: self.is_well(name, "any"), 30, f"{name} is not ready")

    def restart(self, name):
        """As systemd does it: SIGTERM, the end, the start."""
        self.procs[name].terminate()
        check(self.procs[name].wait(30) == 0, f"{name} ended with {self.procs[name].returncode}")
        self.start(name)


class Submitter(threading.Thread):
    """Submits jobs one after the other with one HELIO_BROKER, until it is told to stop. A client that knows both brokers gets
    every job accepted at its first command; one that knows a broker alone repeats the command while that one is away."""

    def __init__(self, federation, urls, jobs):
        super().__init__()
        self.federation, self.env, self.jobs = federation, dict(federation.env, HELIO_BROKER=urls), jobs
        self.commands = 1 if "," in urls else 30
        self.ids, self.faults, self.stopped = [], [], threading.Event()

    def submit(self, job):
        key = f"{job.doc['name']} {self.env['HELIO_BROKER']}".replace(" ", "-")
        command = [self.federation.tool("helio"), "submit", "-", "-o", "name", "--idempotency-key", key]
        for _ in range(self.commands):
            done = subprocess.run(command, env=self.env, text=True, input=json.dumps(job.doc), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            if done.returncode not in (7, 8):
                break
        if done.returncode:
            self.faults.append(f"a submission through {self.env['HELIO_BROKER']} failed: {done.stderr}")
        else:
            self.ids.append((done.stdout.strip(), job))

    def run(self):
        for job in self.jobs:
            if self.stopped.is_set():
                break
            self.submit(job)
            self.stopped.wait(0.05)


def submitters(federation, rng):
    """Through each broker alone, and through both."""
    urls = [federation.urls[name] for name in federation.brokers]
    kinds = ("single", "gang8", "fail", "cpu", "logs")
    return [Submitter(federation, text, workload.make(2000, rng, federation.records, kinds, longest_s=2))
            for text in [*urls, ",".join(urls)]]


def roll(federation, rounds, rng):
    """Restarts under load. Returns ids with their jobs, and the faults."""
    long_runs = [workload.Job("cancel", {"name": f"long-{i}", "gpu": "H100:1", "time": "1h",
                                         "run": workload.body(federation.records, LONG_S, 0)}, "cancelled", 130, True, 1)
                 for i in range(4)]
    ids = list(zip(federation.submit([job.doc for job in long_runs], "long"), long_runs))
    running = lambda: all(federation.look_up(key) == "running" for key, job in ids)
    federation.wait_for(running, 30, "the long jobs do not run")
    threads = submitters(federation, rng)
    for thread in threads:
        thread.start()
    try:
        for _ in range(rounds):
            for name in federation.brokers:
                time.sleep(1)
                federation.restart(name)
                federation.wait_well()
        time.sleep(1)
    finally:
        for thread in threads:
            thread.stopped.set()
        for thread in threads:
            thread.join()
    check(running(), "a long job did not run through all restarts")
    for thread in threads:
        check(len(thread.ids) >= rounds, "a submitter was idle: nothing was tested")
        ids += thread.ids
    return ids, [fault for thread in threads for fault in thread.faults]


def follower_of(federation):
    leader = federation.leader()
    check(leader, "nobody leads")
    return leader, next(name for name in federation.brokers if name != leader)


def new_tokens(federation):
    """Whoever gets a token from the leader can use it at the follower at once."""
    leader, follower = follower_of(federation)
    mine, refused = federation.env["HELIO_TOKEN"], []
    for i in range(20):
        status, text = federation.ask(leader, "POST", "/v1/tokens", {"tenant": "demo", "user": f"new-{i}", "role": "user"})
        check(status == 201, f"no token: {status} {text}")
        federation.env["HELIO_TOKEN"] = json.loads(text)["token"]
        status, text = federation.ask(follower, "GET", "/v1/whoami")
        refused += [] if status == 200 else [f"a new token at the follower: {status} {text}"]
        federation.env["HELIO_TOKEN"] = mine
    return refused[:1]


def misled(federation):
    """Both brokers say that they are reached at the follower's address."""
    _, follower = follower_of(federation)
    ready = lambda: federation.ask(follower, "GET", "/readyz?role=any")
    [[address]] = federation.sql("select http from helio.federation")
    federation.sql(f"update helio.federation set http = '{federation.urls[follower]}'")
    try:
        federation.wait_for(lambda: "LeaderIsItself" in ready()[1], 10, f"the follower does not say that it is misled: {ready()}")
        status = ready()[0]
        answer, _ = federation.ask(follower, "POST", "/v1/jobs", {"name": "nowhere", "cpus": 1, "run": "true"}, "nowhere")
        doctor = subprocess.run([federation.tool("helio"), "doctor"], env=dict(federation.env, HELIO_BROKER=federation.urls[follower]),
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        federation.wait_for(lambda: "leader_not_reached" in federation.log(follower), 10, "the log does not say that a follower is misled")
    finally:
        federation.sql(f"update helio.federation set http = '{address}'")
    federation.wait_well()
    return [fault for holds, fault in [
        (status == 503, f"a follower that is misled is ready: {status}"),
        (answer == 503, f"a follower that is misled answers a submission {answer}"),
        ("the address of this broker" in doctor.stdout and doctor.returncode, f"doctor: {doctor.stdout}")] if not holds]


def kill_leader(federation, number):
    """Kills the leader; returns the seconds until the other broker accepts a job, and until that job is placed, and the job."""
    leader, other = follower_of(federation)
    doc = {"name": f"after-{number}", "cpus": 1, "time": "5m", "run": workload.body(federation.records, 0, 0)}
    began = time.monotonic()
    federation.kill(leader)
    while True:
        answer = federation.ask(other, "POST", "/v1/jobs", doc, f"after-{number}")
        if answer and answer[0] in (200, 201):
            break
        check(time.monotonic() - began < 60, f"no submission was accepted in a minute: {answer}")
        time.sleep(0.05)
    accepted, key = time.monotonic() - began, json.loads(answer[1])["id"]
    while True:
        answer = federation.ask(other, "GET", f"/v1/jobs/{key}")
        if answer and answer[0] == 200 and json.loads(answer[1])["state"] not in ("queued", "held"):
            break
        check(time.monotonic() - began < 60, f"{key} was not placed in a minute: {answer}")
        time.sleep(0.05)
    placed = time.monotonic() - began
    federation.start(leader)
    federation.wait_well()
    federation.wait_ready()
    return accepted, placed, (key, workload.Job("cpu", doc, "succeeded", 0, False, 1))


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def report(what, values, limit):
    """Prints the distribution; returns the faults."""
    p50, p99 = percentile(values, 50), percentile(values, 99)
    print(f"{what} after the leader's end, of {len(values)}: p50 {p50:.2f} s, p99 {p99:.2f} s, max {max(values):.2f} s")
    return [f"{what}: p99 {p99:.2f} s is above {limit} s"] if p99 > limit else []


def first_attempts(federation):
    """No restart and no kill of a broker moves a job or starts it again."""
    for key, attempts in federation.sql("select job_id, attempts from helio_report.jobs where attempts <> 1"):
        yield f"{key} had {attempts} attempts"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--kills", type=int, default=12)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-rolling-")
    federation = Brokers(args.build, folder, [LocalSite("north", 2.9), LocalSite("south", 2.1)])
    ok = False
    try:
        federation.up()
        federation.wait_well()
        early = [*new_tokens(federation), *misled(federation)]
        ids, faults = roll(federation, args.rounds, random.Random(args.seed))
        faults += early
        kills = [kill_leader(federation, number) for number in range(args.kills)]
        ids += [job for _, _, job in kills]
        for key, job in ids:
            if job.cancel:
                federation.helio("cancel", key)
        federation.wait_for(lambda: federation.open_jobs() == 0, 120, "jobs are open")
        want = workload.wanted([key for key, _ in ids], [job for _, job in ids])
        faults += [*verdict.states(federation, want), *verdict.single_copies(federation, want), *first_attempts(federation)]
        if kills:
            faults += report("a submission was accepted", [accepted for accepted, _, _ in kills], ACCEPTED_S)
            faults += report("a job was placed", [placed for _, placed, _ in kills], PLACED_S)
        for fault in faults[:40]:
            print("FAULT", fault)
        print(f"{len(want)} jobs, {args.rounds} rolling restarts, {args.kills} kills of the leader; {len(faults)} faults "
              f"(seed {args.seed})")
        ok = not faults
    finally:
        federation.down()
        if ok and not args.keep:
            shutil.rmtree(folder)
        else:
            print("all files are kept in", folder)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
