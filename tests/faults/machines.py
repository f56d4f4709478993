#!/usr/bin/env python3
"""Real processes on machines that fail without dying: network links are cut, disks are full, clocks
are set, processes are stopped. Like kill9, it compares the ledger with the jobs' own records at the end.

    tests/faults/machines.py --build BUILD_DIR [--only CASE] [--lanes 5] [--keep]

Each case is a federation of its own; several run in parallel, since they mostly wait:
  paused          SIGSTOP to the broker, an agent and PostgreSQL in turn, 20 s each: no job is lost or runs twice
  paused-leader   SIGSTOP to a leader beside a follower: the follower leads within 20 s, and the old leader ends when it wakes; whoever
                  submits with a list of both brokers succeeds, and the follower lets nobody wait for long
  paused-amid-a-batch  the same, and the server has a part of a batch, whose rest never comes
  leases          sites cut off beyond a short lease: link down, one-way loss, agent paused. `strict` runs on, `lease`
                  is stopped there before it starts elsewhere, `eager` can run twice and completes once
  cuts            interruptions of 5 s and cuts of 40 s under the default lease: no job changes its site
  clocks          wall clocks of broker and site set by an hour and a day, both ways: no job is stopped, no figure is
                  negative, and jobs that wait for a time follow the clock
  database-disk   PostgreSQL's disk is full: no id is returned without a stored job; running jobs are charged once space is free
  database-behind PostgreSQL commits nothing while clients submit: the broker takes a bounded number, and refuses the rest
  agent-disk      the disk of an agent's state is full: the agent and its jobs go on, orders are refused until space is free
Exit 0 only if all hold. Cases that this machine cannot run (private networks and mounts need root) are skipped and listed.
"""
import argparse, datetime, json, os, random, shutil, signal, subprocess, sys, tempfile, threading, time, urllib.error, urllib.request, zoneinfo

import hosts, workload
from campaign import KINDS, Campaign, Turn, submit_once, work

HERE = hosts.Network.HERE  # the machine of the broker
LEASE_S, SILENT_S = 16, 6  # of the case `leases`
TAKEOVER_S = 20            # 15 s until the session of a leader that stands still ends, and the tries of the follower
ANSWER_S, READ_S = 6, 2    # of a follower meanwhile: what only the leader can do (5 s), and what the database answers
BEHIND_JOBS, BEHIND_TRIES = 1000, 160  # submissions of so many jobs, while nothing is committed
BEHIND_MIB = 512             # by which the broker may grow meanwhile
LARGE = 60000              # bytes of a job, of which a batch exceeds the buffer of a socket


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
            c.expect(not f.ended(daemon), f"{daemon} ended while {name} was stopped")
    f.wait_ready()
    c.finish()
    c.attempts(long, 1, 1)
    c.expect(not c.transitions("suspect"), f"a pause of 20 s made jobs suspect: {c.transitions('suspect')}")
    return c, f"{len(c.jobs)} jobs while broker, agent and PostgreSQL stood still for 20 s each"


def with_standby(make):
    c = Campaign(make([hosts.Site("north", 2.0), hosts.Site("south", 2.2)]))
    f = c.f
    f.brokers = ("broker", "standby")
    f.up()
    long = c.submit(*(work(f, f"long-{i}", 66, kind) for i, kind in enumerate(KINDS * 2)))
    c.await_state(long, "running")
    return c, long


def replaced(c, pids):
    """The standby takes over from a leader that stands still. The seconds until it led."""
    f, began = c.f, time.monotonic()
    f.env["HELIO_BROKER"] = f.urls["standby"]
    try:
        f.wait_for(lambda: f.is_well("standby"), 60, "the standby does not lead")
        took = time.monotonic() - began
        c.expect(took < TAKEOVER_S, f"the standby led after {took:.0f} s")
        f.wait_ready()
        later = c.submit(*(work(f, f"later-{i}", 5) for i in range(4)))
    finally:
        f.go_on(pids)
    c.until(lambda: f.ended("broker"), 30, "the old leader goes on")
    return took, later


def finish_replaced(c, once):
    c.finish()
    c.attempts(once, 1, 1)
    c.expect(not c.transitions("suspect"), f"a takeover made jobs suspect: {c.transitions('suspect')}")


class Users:
    """Those who use a federation whose leader stands still: two who submit with a list of both brokers, and one who edits and reads at
    the follower again and again."""
    EDIT, READ = ("PATCH", "/v1/jobs/00000000000000000000000000", b'{"priority": 1}'), ("GET", "/v1/jobs?limit=5", None)

    def __init__(self, c):
        self.c, self.answers, self.lists = c, [], (("broker", "standby"), ("standby", "broker"))
        self.jobs = [work(c.f, f"user-{i}", 3) for i in range(len(self.lists))]
        self.clients = []
        for job, names in zip(self.jobs, self.lists):
            text = c.f.write(job.doc["name"], json.dumps(job.doc) + "\n")
            self.clients.append(submit_once(c.f, job.doc["name"], open(text), HELIO_BROKER=",".join(c.f.urls[n] for n in names)))
        self.thread = threading.Thread(target=self.ask_until_it_leads)
        self.thread.start()

    def ask(self, method, path, body):
        f = self.c.f
        request = urllib.request.Request(f.urls["standby"] + path, body, {"Authorization": f"Bearer {f.env['HELIO_TOKEN']}",
                                                                           "Content-Type": "application/json"}, method=method)
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status = answer.status
        except urllib.error.HTTPError as error:
            status = error.code
        self.answers.append((method, status, time.monotonic() - began))
        return status

    def ask_until_it_leads(self):
        end = time.monotonic() + 60
        while self.ask(*self.EDIT) in (503, 504) and time.monotonic() < end:
            self.ask(*self.READ)
            time.sleep(0.2)

    def leave(self):
        """The ids of their jobs."""
        c = self.c
        self.thread.join()
        edits = [(status, took) for method, status, took in self.answers if method == "PATCH"]
        reads = [(status, took) for method, status, took in self.answers if method == "GET"]
        c.expect(edits[-1][0] == 404, f"the follower never led: {edits}")
        c.expect(any(status == 503 for status, _ in edits), f"nobody was asked to come again: {edits}")
        c.expect(all(took < ANSWER_S for _, took in edits[:-1]), f"edits waited: {edits}")
        c.expect(reads and all(status == 200 and took < READ_S for status, took in reads), f"reads failed or waited: {reads}")
        ids = []
        for job, names, client in zip(self.jobs, self.lists, self.clients):
            out, err = client.communicate()
            c.expect(client.returncode == 0, f"`helio submit` at {names}: exit {client.returncode}: {err}")
            for job_id in out.split():
                c.jobs[job_id] = job
                ids.append(job_id)
        return ids


def paused_leader(make):
    c, long = with_standby(make)
    pids = c.f.pause("broker")
    users = Users(c)
    took, later = replaced(c, pids)
    finish_replaced(c, long + later + users.leave())
    return c, f"{len(c.jobs)} jobs while the leader stood still; the standby led after {took:.0f} s"


def paused_amid_a_batch(make):
    """The server has begun a batch, holds its locks and waits for the rest. The batch is larger than the socket's buffer, and has
    to wait for its turn; so its rest is still at the leader when that is stopped."""
    c, long = with_standby(make)
    f = c.f
    small, large = [work(f, "small", 2)], [work(f, f"large-{i}", 2) for i in range(240)]
    for i, job in enumerate(large):
        job.doc["run"] += "\n# " + random.Random(i).randbytes(LARGE // 2).hex()
    texts = {name: f.write(name, "".join(json.dumps(job.doc) + "\n" for job in jobs)) for name, jobs in
             (("small", small), ("large", large))}
    writer = f.sql("select pid from pg_locks where locktype = 'advisory' and granted and database <> 0")[0][0]
    waits = lambda event: lambda: f.sql(f"select pid from pg_stat_activity where pid = {writer} and state = 'active' and {event}")
    lock = waits("wait_event_type = 'Lock'")
    first = Turn(f)
    first.has_come()
    clients = {"small": submit_once(f, "small", open(texts["small"]))}
    f.wait_for(lock, 10, "a batch does not wait for its turn")
    clients["large"] = submit_once(f, "large", open(texts["large"]))
    known = len(long) + len(small) + 100  # of the large ones, more than a socket's buffer holds
    f.wait_for(lambda: f.metric("helio_jobs") >= known, 30, "the next batch lacks the large jobs")
    second = Turn(f)
    f.wait_for(second.is_asked_for, 10, "the next turn is not asked for")
    first.over()
    second.has_come()
    f.wait_for(lock, 10, "the large batch does not wait for its turn")
    pids = f.pause("broker")
    second.over()
    f.wait_for(waits("wait_event = 'ClientRead'"), 5, "the server does not wait for the rest of a batch")
    took, later = replaced(c, pids)
    for key, jobs in (("small", small), ("large", large)):
        out, _ = clients[key].communicate()
        c.expect(key == "small" or not out, f"what was never committed was acknowledged: {out}")
        ids = f.submit([job.doc for job in jobs], key)
        c.expect(out.split() in ([], ids), f"{out} was acknowledged, {ids} are stored")
        c.jobs.update(zip(ids, jobs))
    finish_replaced(c, long + later)
    return c, f"{len(c.jobs)} jobs while the leader stood still amid a batch; the standby led after {took:.0f} s"


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
        f.network.cut("north")
        f.network.lose(HERE, "south")
        f.network.lose("west", HERE)
        began = time.monotonic()
        late = c.submit(*(work(f, f"late-{seconds}-{site.name}", 2, placement={"sites": [site.name]}) for site in sites))
        while time.monotonic() - began < seconds:
            c.expect(c.all_in(there, "running", "succeeded"), f"during a cut of {seconds} s: {c.rows(there)}")
            time.sleep(0.5)
        states = {s["site"]: s["state"] for s in f.site_list()}
        c.expect(seconds == 5 or states["north"] == states["west"] == "silent", f"after a cut of {seconds} s sites are {states}")
        f.network.mend("north")
        f.network.deliver(HERE, "south")
        f.network.deliver("west", HERE)
        for site in sites:
            c.await_ready(site)
        c.await_state(late, "succeeded")
    c.finish()
    c.attempts(c.jobs, 1, 1)
    moved = c.transitions("suspect", "stopping", "lost")
    c.expect(not moved, f"cuts of up to 40 s made jobs change their site: {moved}")
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
    f.network.cut("down")
    f.network.lose(HERE, "deaf")
    f.network.lose("mute", HERE)
    pids = f.pause("asleep")
    began = time.monotonic()
    try:  # jobs under a lease must run elsewhere before the sites are back
        elsewhere = lambda: all(row[1] == "home" and row[0] in ("running", "succeeded") for row in c.rows(ids["lease"]).values())
        c.until(elsewhere, 120, "work under a lease did not move")
    finally:
        f.go_on(pids)
    took = time.monotonic() - began
    f.network.mend("down")
    f.network.deliver(HERE, "deaf")
    f.network.deliver("mute", HERE)
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
    into = 6 * hour - int(time.time()) % hour + 600  # the offset of clocks that are in the window
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
        if turn == 2:  # after a restart, stored times are a day ahead of the clock
            f.kill("south")
            f.start("south")
        if turn == 3:
            f.kill("broker")
            f.start("broker")
        c.await_state(short, "succeeded")

    # A job that waits for a time starts when the broker's clock shows it, and not before.
    soon, later = c.submit(work(f, "soon", 1, placement={"not_before": at(hour)}),
                           work(f, "later", 1, placement={"not_before": at(2 * day)}))
    time.sleep(2)
    c.expect(not c.began(soon), "a job started an hour before its time")
    broker.set(hour + 60)
    c.await_state([soon], "succeeded")
    broker.set(-day)
    time.sleep(1)
    due = time.time() + 5
    (again,) = c.submit(work(f, "again", 1, placement={"not_before": at(6 - day)}))
    c.await_state([again], "succeeded")
    c.expect(c.began(again) >= due, f"by the clock that was set back a job started {due - c.began(again):.1f} s before its time")
    c.expect(not c.began(later), "a job started two days before its time")
    broker.set(0)
    c.await_state(long, "succeeded")

    # The site's window: while the clocks are in it the job waits, and it runs once they are before it again.
    for clock in (broker, north, south):
        clock.set(into)
    (waits,) = c.submit(work(f, "waits", 1, placement={"sites": ["north"]}))
    c.until(lambda: "reserved" in f.helio("explain", waits).stdout, 60, "a job does not wait for the window")
    c.expect(not c.began(waits), "a job started in a window that reserves all GPUs")
    for clock in (broker, north, south):
        clock.set(0)
    c.await_state([waits], "succeeded")
    broker.set(2 * day + 60)
    c.await_state([later], "succeeded")
    c.finish()
    c.attempts(c.jobs, 1, 1)
    stopped = c.transitions("suspect", "stopping", "lost")
    c.expect(not stopped, f"setting clocks stopped jobs: {stopped}")
    return c, f"{len(c.jobs)} jobs while clocks of broker and sites went by an hour and a day, both ways"


def database_disk(make):
    c = Campaign(make([hosts.Site("north", 2.0)], disk="192m"))
    f = c.f
    f.up()
    running = c.submit(*(work(f, f"runs-{i}", 6 + 3 * i) for i in range(4)))
    c.await_state(running, "running")
    f.disk.fill()
    tries = {}
    for i in range(6):  # more than the last pages of the tables hold
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
            c.expect(not out, f"a refused submission returned ids: {out}")
            refusals.add((err.splitlines() or ["nothing"])[0])
    c.expect(refusals, "every submission was accepted although the disk was full")
    # Without space for its log PostgreSQL ends with a PANIC, and its recovery finds no space either.
    log_is_full = lambda: f.sql("select pg_logical_emit_message(false, 'fills', repeat('x', 1000000))") is None
    f.wait_for(log_is_full, 60, "PostgreSQL's log is not full")
    f.wait_for(lambda: all(c.noted(job, "end") for job in running), 60, "jobs that ran when the disk became full did not run on")
    c.expect("No space left on device" in f.log("broker"), "the broker's log does not have the database's error")
    f.disk.clear()
    crashed = ""
    if f.ended("postgres"):
        f.revive("postgres")
        crashed = "; PostgreSQL had ended"
    for key, (jobs, text, _) in tries.items():
        ids = f.submit([job.doc for job in jobs], key)
        c.expect(ids == told.get(key, ids), f"{told.get(key)} were returned, {ids} are stored")
        c.jobs.update(zip(ids, jobs))
    c.finish()
    c.attempts(c.jobs, 1, 1)
    return c, f"{len(tries) - len(told)} of {len(tries)} submissions were refused while PostgreSQL's disk was full{crashed}"


def resident_mib(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024


def database_behind(make):
    """Clients go on while no batch can be committed: what the broker keeps is bounded, and the rest is refused. Reads go on: with
    the whole of PostgreSQL away, submissions would wait for the look-up of their idempotency keys."""
    c = Campaign(make([hosts.Site("north", 2.0)]))
    f = c.f
    f.up()
    running = c.submit(work(f, "runs", 10))
    c.await_state(running, "running")
    f.helio("drain", "north", "--reason", "so that nothing of it runs")
    broker = f.procs["broker"].pid
    text = f.write("many", "".join(json.dumps({"name": f"many-{i}", "run": "true"}) + "\n" for i in range(BEHIND_JOBS)))
    before, clients, turn = resident_mib(broker), [], Turn(f)
    turn.has_come()
    try:
        for i in range(BEHIND_TRIES):
            clients.append(submit_once(f, f"many-{i}", open(text)))
            time.sleep(0.05)
            if any(client.poll() for client in clients):
                break
        grown = resident_mib(broker) - before
    finally:
        turn.over()
    began, ids, refused = time.monotonic(), 0, []
    for client in clients:
        out, err = client.communicate()
        ids += len(out.split())
        refused += [err] if client.returncode else []
    took = time.monotonic() - began
    c.expect(refused, f"{BEHIND_TRIES} times {BEHIND_JOBS} jobs were taken while nothing was committed")
    c.expect(all("cannot keep up" in err for err in refused), f"refused otherwise: {refused}")
    c.expect(grown < BEHIND_MIB, f"the broker grew by {grown:.0f} MiB while nothing was committed")
    stored = int(f.sql("select count(*) from helio.jobs")[0][0])
    c.expect(stored == ids + 1, f"{ids + 1} jobs were acknowledged, {stored} are stored")
    c.await_state(running, "succeeded")
    return c, (f"{ids} jobs were taken while no batch was committed, {len(refused)} submissions were refused; the broker grew by "
               f"{grown:.0f} MiB; all acknowledged {took:.0f} s after its end")


def agent_disk(make):
    site = hosts.Site("north", 2.0, disk="48m")
    c = Campaign(make([site]))
    f = c.f
    f.up()
    running = c.submit(*(work(f, f"runs-{i}", 6 + 4 * i) for i in range(3)))
    c.await_state(running, "running")
    site.disk.fill()
    late = c.submit(*(work(f, f"late-{i}", 2) for i in range(6)))
    c.until(lambda: all(c.noted(job, "end") for job in running), 60, "jobs that ran do not run on")
    c.await_state(running, "succeeded")  # their reports reach the broker through a journal that has its space
    c.expect(not f.ended("north"), "the agent ended")
    c.expect(not any(s["state"] == "silent" for s in f.site_list()), "the site is silent")
    early = [job for job in late if c.began(job)]
    c.expect(not early, f"started on a full disk: {early}")
    held = [job for job in late if c.all_in([job], "held")]
    c.expect(not held, f"held, though nothing of them failed: {held}")
    c.expect("disk_full" in f.log("north"), "the agent's log does not say that its disk is full")
    site.disk.clear()
    c.until(lambda: f.open_jobs() == 0, 120, "jobs are not over")
    c.finish()
    c.attempts(running, 1, 1)
    return c, f"{len(c.jobs)} jobs; the agent went on while its disk was full"


CASES = {"paused": paused, "cuts": cuts, "leases": leases, "clocks": clocks, "paused-leader": paused_leader,
         "paused-amid-a-batch": paused_amid_a_batch, "database-disk": database_disk, "database-behind": database_behind, "agent-disk": agent_disk}  # the longest first
NEED_ALONE = ("cuts", "leases", "database-disk", "agent-disk")


# ---- all of them -------------------------------------------------------------------------------------------------------


def perform(name, args):
    """One case in this process: prints its faults, and one line at the end."""
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
        print("all files are kept in", folder)
    else:
        shutil.rmtree(folder)
    print(f"{name}: {what}; {time.monotonic() - began:.0f} s; {len(faults)} faults")
    return 1 if faults else 0


def lanes(names, args):
    """Runs each case as a process of its own, several at a time, and prints their output one after another."""
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
    """Why this machine cannot run a case; None = it can."""
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
