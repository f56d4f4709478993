#!/usr/bin/env python3
"""Real processes on machines that fail in other ways than by dying: cables that are cut, disks that are full, clocks that
are set, processes that stand still. Ends, like kill9, with the ledger against the jobs' own records.

    tests/faults/machines.py --build BUILD_DIR [--only CASE] [--lanes 5] [--keep]

Cases, each a federation of its own, some beside each other since they mostly wait:
  paused          SIGSTOP to the broker, an agent and PostgreSQL, 20 s each in turn: nothing is lost or run twice
  leases          sites cut off beyond a short lease: link down, deaf on either side, agent paused. `strict` runs on, `lease`
                  is stopped there before it begins elsewhere, `eager` may run twice and completes once
  cuts            flaps of 5 s and cuts of 40 s under the usual lease: nothing is preempted
  clocks          wall clocks of broker and site set by an hour and a day, both ways: nothing is stopped, no figure is
                  negative, and what waits for a time follows the clock
  database-disk   PostgreSQL's disk is full: no id without its job; what runs goes on and is booked when there is room
  agent-disk      the disk of an agent's journal is full: nothing runs that is not in it; it works on when there is room
Exit 0 only if all hold. What this machine cannot do (networks and mounts of one's own need root) is skipped and said.
"""
import argparse, datetime, json, os, random, shutil, subprocess, sys, tempfile, time, zoneinfo

import hosts, verdict, workload

LEASE_S, SILENT_S = 16, 6  # of the case `leases`
KINDS = ("strict", "lease", "eager")  # of on_site_loss
BEAT_S = 0.5               # between two notes of a job that runs


def work(federation, name, seconds, kind="strict", **more):
    """A job that notes every half second that it runs, and when it is told to stop."""
    body = workload.body(federation.records, 0, 0, "trap 'note stopped; exit 143' TERM; "
                         f"for i in $(seq {int(seconds / BEAT_S)}); do note beat; sleep {BEAT_S}; done; ")
    doc = {"name": name, "gpu": "H100:1", "time": "10m", "run": body, "on_site_loss": kind, **more}
    return workload.Job(kind, doc, "succeeded", 0, False, 1)


class Campaign:
    """A federation, and what was submitted to it."""
    def __init__(self, federation):
        self.f, self.jobs, self.faults, self.keys = federation, {}, [], 0

    def submit(self, *jobs):
        self.keys += 1
        ids = self.f.submit([job.doc for job in jobs], f"key-{self.keys}")
        self.jobs.update(zip(ids, jobs))
        return ids

    def rows(self, ids):
        found = self.f.sql("select job_id, state, coalesce(site, ''), attempts from helio_report.jobs")
        return {r[0]: r[1:] for r in found or [] if r[0] in ids}

    def all_in(self, ids, *states):
        rows = self.rows(ids)
        return len(rows) == len(ids) and all(row[0] in states for row in rows.values())

    def until(self, good, seconds, complaint):
        try:
            self.f.wait_for(good, seconds, complaint)
        except SystemExit as end:
            raise SystemExit(f"{end}: {self.rows(self.jobs)}")

    def await_state(self, ids, *states, seconds=90):
        self.until(lambda: self.all_in(ids, *states), seconds, f"jobs are not {' or '.join(states)}")

    def await_ready(self, site, seconds=90):
        ready = lambda: any(s["site"] == site.name and s["state"] == "ready" for s in self.f.site_list())
        self.f.wait_for(ready, seconds, f"{site.name} is not ready again")

    def expect(self, good, complaint):
        if not good:
            self.faults.append(complaint)

    def noted(self, job, what):
        """When a job first noted that, by the true clock; None = it did not."""
        epochs = workload.notes(self.f.records)[job].values()
        return min((at for ranks in epochs for lines in ranks.values() for word, at in lines if word == what), default=None)

    def began(self, job):
        return self.noted(job, "start")

    def transitions(self, *to):
        words = ",".join(f"'{state}'" for state in to)
        return self.f.sql(f"select job_id, to_state, reason from helio_report.job_transitions where to_state in ({words})")

    def attempts(self, ids, least, most):
        for key, (state, site, tries) in self.rows(ids).items():
            self.expect(least <= int(tries) <= most, f"{key} ({self.jobs[key].kind}) was placed {tries} times, last at {site}")

    def finish(self, seconds=150):
        """When all is over: every job in its right state, nothing twice or together, the ledger against the records."""
        self.until(lambda: self.f.open_jobs() == 0, seconds, "jobs are not over")
        want = workload.wanted(self.jobs.keys(), self.jobs.values())
        checks = (verdict.states(self.f, want), verdict.single_copies(self.f, want), verdict.one_at_a_time(self.f, want),
                  verdict.use(self.f, {}), verdict.sane(self.f), verdict.leftovers(self.f))
        self.faults += [fault for check in checks for fault in check]


def paused(make):
    sites = [hosts.Site("north", 2.0), hosts.Site("south", 2.2)]
    c = Campaign(make(sites))
    f = c.f
    f.up()
    long = c.submit(*(work(f, f"long-{i}", 66, kind) for i, kind in enumerate(KINDS * 2)))
    table = workload.make(60, random.Random(1), f.records, kinds=("single", "gang8", "fail", "retry", "array", "timeout", "cpu"))
    c.await_state(long, "running")
    for turn, name in enumerate(("broker", "north", "postgres")):
        for job_id, job in zip(f.submit([job.doc for job in table[turn::3]], f"table-{turn}"), table[turn::3]):
            c.jobs[job_id] = job
        pids = f.pause(name)
        try:
            time.sleep(20)
        finally:
            f.go_on(pids)
        for daemon in f.procs:
            c.expect(not f.ended(daemon), f"{daemon} ended when {name} stood still")
    f.wait_ready()
    c.finish()
    c.attempts(long, 1, 1)
    c.expect(not c.transitions("suspect"), f"a pause of 20 s made jobs suspect: {c.transitions('suspect')}")
    return c, f"{len(c.jobs)} jobs while broker, agent and PostgreSQL stood still for 20 s each"


def cuts(make):
    sites = [hosts.Site("north", 2.0), hosts.Site("south", 2.2), hosts.Site("west", 2.4)]
    c = Campaign(make(sites, network=True))
    f = c.f
    f.up()
    there = c.submit(*(work(f, f"{site.name}-{kind}", 62, kind, placement={"sites": [site.name]})
                       for site in sites for kind in KINDS))
    ends = c.submit(*(work(f, f"ends-{site.name}", 20, placement={"sites": [site.name]}) for site in sites))
    c.await_state(there + ends, "running")
    for seconds in (5, 40):
        f.cut(sites[0])
        f.deafen(sites[1], "site")
        f.deafen(sites[2], "broker")
        began = time.monotonic()
        late = c.submit(*(work(f, f"late-{seconds}-{site.name}", 2, placement={"sites": [site.name]}) for site in sites))
        while time.monotonic() - began < seconds:
            c.expect(c.all_in(there, "running", "succeeded"), f"during a cut of {seconds} s: {c.rows(there)}")
            time.sleep(0.5)
        states = {s["site"]: s["state"] for s in f.site_list()}
        c.expect(seconds == 5 or states["north"] == states["west"] == "silent", f"after a cut of {seconds} s sites are {states}")
        f.mend(sites[0])
        f.undeafen(sites[1], "site")
        f.undeafen(sites[2], "broker")
        for site in sites:
            c.await_ready(site)
        c.await_state(late, "succeeded")
    c.finish()
    c.attempts(c.jobs, 1, 1)
    moved = c.transitions("suspect", "stopping", "lost")
    c.expect(not moved, f"cuts of up to 40 s preempted: {moved}")
    return c, f"{len(c.jobs)} jobs at three sites that were cut off for 5 s and for 40 s"


def leases(make):
    names = ("down", "deaf", "mute", "asleep")
    cut = [hosts.Site(name, 2.0) for name in names]
    home = hosts.Site("home", 3.0)
    c = Campaign(make([*cut, home], network=True, settings=f"lease: {LEASE_S}s\nsilent_after: {SILENT_S}s\n"))
    f = c.f
    f.up()
    f.helio("drain", "home", "--reason", "so that all of it runs elsewhere")
    ids = {kind: c.submit(*(work(f, f"{name}-{kind}", 50 if kind == "strict" else 24, kind,
                                 placement={"sites": [name, "home"]}) for name in names)) for kind in KINDS}
    every = [job for group in ids.values() for job in group]
    c.await_state(every, "running")
    f.helio("undrain", "home")
    c.attempts(every, 1, 1)
    f.cut(cut[0])
    f.deafen(cut[1], "site")
    f.deafen(cut[2], "broker")
    pids = f.pause("asleep")
    began = time.monotonic()
    try:  # what is under a lease must be elsewhere before the sites are back
        elsewhere = lambda: all(row[1] == "home" and row[0] in ("running", "succeeded") for row in c.rows(ids["lease"]).values())
        c.until(elsewhere, 120, "work under a lease did not move")
    finally:
        f.go_on(pids)
    took = time.monotonic() - began
    f.mend(cut[0])
    f.undeafen(cut[1], "site")
    f.undeafen(cut[2], "broker")
    for site in cut:
        c.await_ready(site)
    c.finish()
    c.attempts(ids["strict"], 1, 1)
    c.attempts(ids["lease"], 2, 2)
    c.attempts(ids["eager"], 1, 2)
    return c, f"{len(every)} jobs at four sites; leases of {LEASE_S} s were over and their work elsewhere after {took:.0f} s"


def clocks(make):
    hour, day = 3600, 86400
    at = lambda ahead_s: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + ahead_s))
    local = lambda ahead_s: datetime.datetime.fromtimestamp(time.time() + ahead_s, zoneinfo.ZoneInfo("Europe/Stockholm"))
    window = f"windows:\n  - {{pool: h100, reserve_gpus: 16, when: \"{local(6 * hour):%H:00}-{local(7 * hour):%H:00}\"}}\n"
    into = 6 * hour - int(time.time()) % hour + 600  # by how much clocks that are in the window are ahead
    sites = [hosts.Site("north", 2.0, clock=True, more=window), hosts.Site("south", 2.2, clock=True)]
    c = Campaign(make(sites, clock=True, settings=f"lease: {LEASE_S}s\n"))
    f = c.f
    f.up()
    north, south, broker = sites[0].clock, sites[1].clock, f.clock
    long = c.submit(*(work(f, f"long-{site.name}-{kind}", 36, kind, placement={"sites": [site.name]})
                      for site in sites for kind in KINDS))
    c.await_state(long, "running")
    for turn, (brokers, souths) in enumerate(((hour, -hour), (-hour, day), (day, -day), (-day, hour), (0, 0))):
        short = c.submit(*(work(f, f"step-{turn}-{site.name}", 3, placement={"sites": [site.name]}) for site in sites))
        c.await_state(short, "running")
        broker.set(brokers)
        south.set(souths)
        if turn == 2:  # who starts again finds times that are a day ahead of its clock
            f.kill("south")
            f.start("south")
        if turn == 3:
            f.kill("broker")
            f.start("broker")
        c.await_state(short, "succeeded")

    # What waits for a time begins when the broker's clock says so, and not before.
    soon, later = c.submit(work(f, "soon", 1, placement={"not_before": at(hour)}),
                           work(f, "later", 1, placement={"not_before": at(2 * day)}))
    time.sleep(2)
    c.expect(not c.began(soon), "a job began an hour before its time")
    broker.set(hour + 60)
    c.await_state([soon], "succeeded")
    broker.set(-day)
    time.sleep(1)
    due = time.time() + 5
    (again,) = c.submit(work(f, "again", 1, placement={"not_before": at(6 - day)}))
    c.await_state([again], "succeeded")
    c.expect(c.began(again) >= due, f"by the clock that was set back a job began {due - c.began(again):.1f} s before its time")
    c.expect(not c.began(later), "a job began two days before its time")
    broker.set(0)
    c.await_state(long, "succeeded")

    # The site's window: while the clocks are in it a job waits, and it runs when they are before it again.
    for clock in (broker, north, south):
        clock.set(into)
    (waits,) = c.submit(work(f, "waits", 1, placement={"sites": ["north"]}))
    c.until(lambda: "reserved" in f.helio("explain", waits).stdout, 60, "a job does not wait for the window")
    c.expect(not c.began(waits), "a job began in a window that keeps all GPUs")
    for clock in (broker, north, south):
        clock.set(0)
    c.await_state([waits], "succeeded")
    broker.set(2 * day + 60)
    c.await_state([later], "succeeded")
    c.finish()
    c.attempts(c.jobs, 1, 1)
    stopped = c.transitions("suspect", "stopping", "lost")
    c.expect(not stopped, f"clocks that were set stopped jobs: {stopped}")
    return c, f"{len(c.jobs)} jobs while clocks of broker and sites went by an hour and a day, both ways"


def submit_once(f, key, text):
    return subprocess.Popen([f.tool("helio"), "submit", "-", "-o", "name", "--idempotency-key", key], text=True, env=f.env,
                            stdin=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def database_disk(make):
    c = Campaign(make([hosts.Site("north", 2.0)], disk="192m"))
    f = c.f
    f.up()
    running = c.submit(*(work(f, f"runs-{i}", 6 + 3 * i) for i in range(4)))
    c.await_state(running, "running")
    f.disk.fill()
    tries = {}
    for i in range(6):  # more than the tables' last pages hold
        jobs = [work(f, f"tried-{i}-{j}", 1) for j in range(4)]
        for job in jobs:
            job.doc["run"] += "\n# " + random.Random(i).randbytes(6000).hex()
        text = f.write(f"tried-{i}", "".join(json.dumps(job.doc) + "\n" for job in jobs))
        tries[f"tried-{i}"] = (jobs, text, submit_once(f, f"tried-{i}", open(text)))
    told, refusals = {}, set()
    for key, (jobs, text, process) in tries.items():
        out, err = process.communicate()
        if process.returncode == 0:
            told[key] = out.split()
        else:
            c.expect(not out, f"a submission that was refused told ids: {out}")
            refusals.add((err.splitlines() or ["nothing"])[0])
    c.expect(refusals, "every submission was taken although the disk was full")
    # Nor a place for its log: that is a PANIC, and its recovery finds no place either.
    log_is_full = lambda: f.sql("select pg_logical_emit_message(false, 'fills', repeat('x', 1000000))") is None
    f.wait_for(log_is_full, 60, "PostgreSQL's log is not full")
    f.wait_for(lambda: all(c.noted(job, "end") for job in running), 60, "jobs that ran when the disk became full did not run on")
    c.expect("No space left on device" in f.log("broker"), "the broker's log does not say what the database lacks")
    f.disk.clear()
    crashed = ""
    if f.ended("postgres"):
        f.revive("postgres")
        crashed = "; PostgreSQL had ended"
    for key, (jobs, text, _) in tries.items():
        ids = f.submit([job.doc for job in jobs], key)
        c.expect(ids == told.get(key, ids), f"{told.get(key)} were told, {ids} are stored")
        c.jobs.update(zip(ids, jobs))
    c.finish()
    c.attempts(c.jobs, 1, 1)
    return c, f"{len(tries) - len(told)} of {len(tries)} submissions were refused while PostgreSQL's disk was full{crashed}"


def agent_disk(make):
    site = hosts.Site("north", 2.0, disk="24m")
    c = Campaign(make([site]))
    f = c.f
    f.up()
    running = c.submit(*(work(f, f"runs-{i}", 6 + 4 * i) for i in range(3)))
    c.await_state(running, "running")
    site.disk.fill()
    late = c.submit(*(work(f, f"late-{i}", 2) for i in range(6)))
    restarts, began = 0, time.monotonic()

    def supervise():  # as systemd does: Restart=always, RestartSec=1
        nonlocal restarts
        if f.ended("north"):
            time.sleep(1)
            f.start("north")
            restarts += 1

    silent = lambda: any(s["state"] == "silent" for s in f.site_list())
    over = lambda: all(c.noted(job, "end") for job in running)
    while not (silent() and over()):
        supervise()
        if time.monotonic() - began > 90:
            raise SystemExit(f"jobs that ran did not run on, or nobody is told that the site is silent: {f.site_list()}")
        time.sleep(0.3)
    early = [job for job in late if c.began(job)]
    c.expect(not early, f"began with a journal that could not be written: {early}")
    c.expect("journal: write: database or disk is full" in f.log("north"), "the agent's log does not say what it lacks")
    site.disk.clear()
    c.until(lambda: supervise() or f.open_jobs() == 0, 120, "jobs are not over")
    c.finish()
    c.attempts(running, 1, 1)
    return c, f"{len(c.jobs)} jobs, {restarts} restarts of the agent while the disk of its journal was full"


CASES = {"paused": paused, "cuts": cuts, "leases": leases, "clocks": clocks, "database-disk": database_disk,
         "agent-disk": agent_disk}  # the longest first
NEED_ALONE = ("cuts", "leases", "database-disk", "agent-disk")


# ---- all of them -------------------------------------------------------------------------------------------------------


def perform(name, args):
    """One case in this process: says its faults, and one line at the end."""
    folder, began = tempfile.mkdtemp(prefix=f"helio-machines-{name}-"), time.monotonic()
    made, faults, what = [], [], "did not come to its end"

    def make(sites, **more):
        made.append(hosts.Hosts(args.build, folder, sites, **more))
        return made[0]

    try:
        campaign, what = CASES[name](make)
        faults = campaign.faults
    except SystemExit as end:
        faults = [str(end), *([made[0].last_words()] if made else [])]
    finally:
        for federation in made:
            federation.down()
    for fault in faults:
        print("FAULT", name, fault)
    if faults or args.keep:
        print("everything is kept in", folder)
    else:
        shutil.rmtree(folder)
    print(f"{name}: {what}; {time.monotonic() - began:.0f} s; {len(faults)} faults")
    return 1 if faults else 0


def lanes(names, args):
    """Each case as a process of its own, so many at a time; what they say, one after another."""
    waiting, running, bad = list(names), {}, []
    while waiting or running:
        while waiting and len(running) < args.lanes:
            name = waiting.pop(0)
            said = tempfile.TemporaryFile("w+")
            running[name] = (subprocess.Popen([sys.executable, *sys.argv, "--only", name], stdout=said,
                                              stderr=subprocess.STDOUT), said)
        for name, (process, said) in list(running.items()):
            if process.poll() is not None:
                said.seek(0)
                print(said.read(), end="", flush=True)
                if process.returncode:
                    bad.append(name)
                del running[name]
        time.sleep(0.2)
    return bad


def lacks(name, why_not_alone):
    """What this machine lacks for a case; None = nothing."""
    if name in NEED_ALONE:
        return why_not_alone
    return "libfaketime is not installed" if name == "clocks" and not hosts.FAKETIME else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", choices=[*CASES])
    parser.add_argument("--lanes", type=int, default=5)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    why = None if "HELIO_ALONE" in os.environ else hosts.why_not_alone()
    if args.only:
        if lacks(args.only, why):
            print(f"SKIPPED: {args.only}: {lacks(args.only, why)}")
            sys.exit(77)
        if not why:
            hosts.alone()
        sys.exit(perform(args.only, args))
    names = [name for name in CASES if not lacks(name, why)]
    skipped = [name for name in CASES if name not in names]
    for name in skipped:
        print(f"SKIPPED: {name}: {lacks(name, why)}")
    bad = lanes(names, args)
    print(f"{len(names) - len(bad)} cases hold" + (f", {len(bad)} do not: {', '.join(bad)}" if bad else "") +
          (f", {len(skipped)} SKIPPED: {', '.join(skipped)}" if skipped else ""))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
