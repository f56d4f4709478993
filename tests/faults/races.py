#!/usr/bin/env python3
"""Daemons built with ThreadSanitizer, under load: two brokers of which one leads, two agents, PostgreSQL, parallel
submissions, plans, lists, metrics and cancels over HTTP, readers of the event stream, two takeovers, an orderly end.

    tests/faults/races.py --build BUILD_DIR [--jobs 240] [--clients 6] [--keep]

A report that names a frame of this project fails the test. races.supp lists the races of third-party libraries, with
reasons. A program with a seeded race proves first that reports are found. Exit 77 if ThreadSanitizer does not start.
"""
import argparse, collections, glob, json, os, shutil, subprocess, sys, tempfile, threading, time
import urllib.error, urllib.request

from federation import TOP, Federation, LocalSite

SEEDED = """
#include <pthread.h>
static int shared;
static void *add(void *arg) { for (int i = 0; i < 1000; i++) shared++; return arg; }
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, add, 0); pthread_create(&two, 0, add, 0);
  pthread_join(one, 0); pthread_join(two, 0);
  return 0;
}
"""


class TwoBrokers(Federation):
    brokers = ("broker", "standby")


def reports(folder):
    """The reports of all processes, as texts."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "tsan.*"))):
        with open(path, errors="replace") as file:
            found += [part for part in file.read().split("==================\n") if "ThreadSanitizer" in part]
    return found


def finds_a_race(folder):
    """Whether a seeded race is reported where this campaign looks for reports."""
    source, program = os.path.join(folder, "seeded.c"), os.path.join(folder, "seeded")
    with open(source, "w") as file:
        file.write(SEEDED)
    subprocess.run(["cc", "-g", "-fsanitize=thread", source, "-o", program], check=True)
    subprocess.run([program], check=False)
    seen = reports(folder)
    for path in glob.glob(os.path.join(folder, "tsan.*")):
        os.remove(path)
    return bool(seen)


class Load:
    """Clients of all kinds, each a thread, that continue over takeovers: unanswered requests are repeated with their key."""

    def __init__(self, federation):
        self.federation, self.done = federation, threading.Event()
        self.ids, self.answers, self.events = set(), collections.Counter(), collections.Counter()
        self.lock = threading.Lock()
        self.leader = "broker"
        self.threads = []

    def request(self, method, path, body=None, key=None, timeout=30):
        headers = {"Authorization": "Bearer " + self.federation.env["HELIO_TOKEN"], "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        url = self.federation.urls[self.leader] + path
        return urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=timeout)

    def try_request(self, what, method, path, body=None, key=None):
        """The decoded reply, or None; counted by request and status."""
        try:
            with self.request(method, path, body, key) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, None
            error.close()
        except OSError:
            status, text = "no answer", None
        with self.lock:
            self.answers[what, self.leader, status] += 1
        return text

    def submitter(self, number, count):
        for i in range(count):
            job = dict(name=f"load-{number}-{i}", cpus=1, time="1m", run="sleep 0.2; echo done")
            if i % 3 == 0:
                job["gpu"] = "H100:1"
            text = None
            while text is None and not self.done.is_set():
                text = self.try_request("submit", "POST", "/v1/jobs", json.dumps(job).encode(), f"load-{number}-{i}")
                if text is None:
                    time.sleep(0.3)
            if text is not None:
                with self.lock:
                    self.ids.add(json.loads(text)["id"])

    def asker(self):
        plan = json.dumps(dict(gpu="H100:2", time="1h", run="true")).encode()
        while not self.done.wait(0.05):
            self.try_request("plan", "POST", "/v1/plans", plan)
            for what in ("jobs?limit=50", "sites", "queues", "report", "tenants", "audit"):
                self.try_request(what.split("?")[0], "GET", "/v1/" + what)
            self.try_request("metrics", "GET", "/metrics")
            with self.lock:
                some = sorted(self.ids)[-1:]
            for key in some:
                self.try_request("explain", "GET", f"/v1/jobs/{key}/explain")
                self.try_request("logs", "GET", f"/v1/jobs/{key}/logs")
                self.try_request("cancel", "DELETE", f"/v1/jobs/{key}")

    def reader(self):
        while not self.done.is_set():
            leader = self.leader
            try:
                with self.request("GET", "/v1/events", timeout=2) as stream:
                    for line in stream:
                        if line.startswith(b"event: transition"):
                            with self.lock:
                                self.events[leader] += 1
                        if self.done.is_set():
                            break
            except OSError:
                time.sleep(0.2)

    def begin(self, clients, jobs):
        calls = [(self.submitter, n, jobs // clients) for n in range(clients)] + [(self.asker,)] * 2 + [(self.reader,)] * 3
        self.threads = [threading.Thread(target=call, args=args, daemon=True) for call, *args in calls]
        for thread in self.threads:
            thread.start()

    def end(self):
        self.done.set()
        for thread in self.threads:
            thread.join(30)


def take_over(federation, load, name):
    """Kills the leader, waits until the other broker leads, and restarts the first as the standby."""
    old = load.leader
    federation.kill(old)
    federation.env["HELIO_BROKER"] = federation.urls[name]
    federation.wait_for(lambda: federation.is_well(name), 60, f"{name} does not lead")
    load.leader = name
    federation.wait_ready(120)
    federation.start(old)


def missing(load, leader):
    """What that broker has not yet done while it was the one that was asked."""
    asked = ("submit", 201), ("plan", 200), ("metrics", 200), ("jobs", 200), ("explain", 200)
    faults = [f"{leader} never answered {what} with {status}" for what, status in asked if not load.answers[what, leader, status]]
    return faults + ([] if load.events[leader] else [f"no event came from {leader}"])


def drive(federation, load, jobs, clients):
    def taken(count):
        federation.wait_for(lambda: len(load.ids) >= count and not missing(load, load.leader), 240,
                            f"not {count} jobs were accepted, or {load.leader} did not answer every kind of request")

    load.begin(clients, jobs)
    taken(jobs // 3)
    take_over(federation, load, "standby")
    taken(2 * jobs // 3)
    take_over(federation, load, "broker")
    taken(jobs // clients * clients)
    federation.wait_for(lambda: federation.open_jobs() == 0, 240, "not all jobs are over")
    load.end()


def spread(load, jobs):
    """The cases that must have occurred; without them, a run without reports proves nothing."""
    faults = [fault for leader in TwoBrokers.brokers for fault in missing(load, leader)]
    if len(load.ids) < jobs:
        faults.append(f"{len(load.ids)} of {jobs} jobs were accepted")
    return faults


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--jobs", type=int, default=240)
    args.add_argument("--clients", type=int, default=6)
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    starts = subprocess.run([os.path.join(args.build, "helio-broker"), "--version"], text=True, capture_output=True, check=False)
    if "unexpected memory mapping" in starts.stdout + starts.stderr:
        print("SKIPPED: ThreadSanitizer does not start with this kernel's layout of memory (sysctl vm.mmap_rnd_bits=28)")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="helio-races-")
    os.chmod(folder, 0o755)
    logs = os.path.join(folder, "reports")
    os.mkdir(logs)
    os.chmod(logs, 0o1777)
    os.environ["TSAN_OPTIONS"] = f"suppressions={TOP}/tests/faults/races.supp log_path={logs}/tsan second_deadlock_stack=1 exitcode=0"
    federation = TwoBrokers(args.build, folder, [LocalSite("north", 2.0), LocalSite("south", 3.0)])
    load, began, faults = Load(federation), time.monotonic(), []
    jobs = args.jobs // args.clients * args.clients
    try:
        if not finds_a_race(logs):
            faults.append("a race that was put there is not reported")
        federation.up()
        drive(federation, load, jobs, args.clients)
        faults += spread(load, jobs)
    except SystemExit as end:
        faults.append(f"{end}\n{federation.last_words()}")
    finally:
        load.end()
        federation.down()
    said = reports(logs)
    for report in said[:10]:
        print(report)
    for fault in faults:
        print("FAULT", fault)
    good = not faults and not said
    if good and not args.keep:
        shutil.rmtree(folder)
    else:
        print("all files are kept in", folder)
    print(f"{len(load.ids)} jobs by {args.clients} clients, {sum(load.answers.values())} requests, {sum(load.events.values())} events, "
          f"2 takeovers in {time.monotonic() - began:.0f} s; {len(said)} reports of races, {len(faults)} faults")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
