#!/usr/bin/env python3
"""A federation on a PostgreSQL with a synchronous standby (deploy/ha-lab), whose primary is changed under load: in order, by
a machine that dies, that stands still, and that is cut off.

    tests/faults/promotion.py --build BUILD_DIR [--only CASE] [--standby any] [--proxy] [--keep]

Two brokers run, and one that ends is started again after a second, as systemd does. Clients submit all the time. For each
case the campaign prints after how many seconds a submission was accepted again, and a job that was submitted after the change
ran. Both must be within ACCEPTED_S and PLACED_S; every submission that was acknowledged must be known and end as it should,
no job may run twice, and jobs that run meanwhile run on. It also prints the incarnation and the broker epoch before and after:
the brokers are told that the standby keeps all, and so no change may begin an incarnation. --standby any: they are not told, and
each change has to.
--proxy: brokers reach the primary through haproxy, instead of a connection string with all members.
Exit 0 only if all hold; 77 if the lab's packages are not installed. Machines can only be cut off where private networks are
allowed (root); elsewhere that case is skipped and listed.
"""
import argparse, itertools, json, os, shutil, subprocess, sys, tempfile, threading, time

import hosts, verdict, workload
from federation import TOP, Federation, LocalSite, run

ACCEPTED_S = 20   # a submission is acknowledged again: Patroni's ttl of 8 s, the promotion, a start of the broker
PLACED_S = 35     # and a job runs: sites reconnect and report what they have
RESTART_S = 1     # of systemd's RestartSec
CLIENTS = 3
TRY_S = 3         # how long a client waits for one answer
CALM_S = 6        # of acknowledgements, until a change counts as over
LAB = TOP + "/deploy/ha-lab/"


class Lab:
    """The three machines of the database."""
    def __init__(self, folder, network, proxy):
        self.folder, self.network, self.proxy = folder, network, proxy

    def up(self):
        run(LAB + "up.sh", self.folder, env=dict(os.environ, NETWORK=str(int(self.network))))
        return self.member("proxy" if self.proxy else "database")

    def member(self, *command):
        return run(LAB + "member.sh", self.folder, *command).strip()

    def down(self):
        subprocess.run([LAB + "down.sh", self.folder], check=False, stdout=subprocess.DEVNULL)


class OnLab(Federation):
    brokers = ("broker", "standby")

    def __init__(self, build, folder, sites, lab, standby):
        self.standby = standby
        super().__init__(build, folder, sites)
        self.lab, self.ends, self.supervised = lab, [], False

    def start_database(self):
        here = self.lab.up()
        return here, here

    def stop_database(self):
        self.lab.down()

    def up(self):
        super().up()
        self.supervised = True
        self.supervisor = threading.Thread(target=self.supervise)
        self.supervisor.start()

    def supervise(self):
        while self.supervised:
            for name in self.brokers:
                if self.procs[name].poll() is not None:
                    self.ends.append((name, time.time()))
                    time.sleep(RESTART_S)
                    self.start(name)
            time.sleep(0.1)

    def down(self):
        if self.supervised:
            self.supervised = False
            self.supervisor.join()
        super().down()

    @property
    def settings(self):
        return f"database_standby: {self.standby}\n"

    def incarnation(self):
        rows = self.sql("select incarnation, broker_epoch from helio.federation")
        return tuple(int(value) for value in rows[0]) if rows else None

    def known_incarnation(self, name):
        """The same, of a database whose members may still be coming back."""
        found = []
        self.wait_for(lambda: found.append(self.incarnation()) or found[-1], 30, f"{name}: the database does not tell its incarnation")
        return found[-1]


class Load:
    """Clients that submit one job after another, each until one of the brokers acknowledges it."""
    def __init__(self, federation):
        self.f, self.stop, self.acks, self.jobs, self.failed = federation, threading.Event(), [], {}, []
        self.numbers = itertools.count()
        self.threads = [threading.Thread(target=self.client) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def client(self):
        while not self.stop.is_set():
            self.submit("load", f"load-{next(self.numbers)}", 1)
            self.stop.wait(0.4)

    def submit(self, kind, name, seconds):
        doc = {"name": name, "gpu": "H100:1", "time": "5m", "run": workload.body(self.f.records, seconds, 0)}
        path = self.f.write(f"{name}.json", json.dumps(doc))
        command = ["timeout", str(TRY_S), self.f.tool("helio"), "submit", path, "-o", "name", "--idempotency-key", name]
        for url in itertools.islice(itertools.cycle(self.f.urls.values()), 200):
            done = subprocess.run(command, text=True, env=dict(self.f.env, HELIO_BROKER=url), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if done.returncode == 0:
                job = done.stdout.strip()
                self.jobs[job] = workload.Job(kind, doc, "succeeded", 0, False, 1)
                self.acks.append((time.time(), job))
                return job
            if done.returncode not in (1, 7, 8, 124):
                break
            time.sleep(0.2)
        self.failed.append(f"{name} was not accepted: exit {done.returncode}: {done.stderr}")

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def recovery(self, began):
        """The seconds from the change until submissions were acknowledged again, and until a job that was submitted after it ran.
        None: not yet, or a longer silence can still follow."""
        times = [began, *sorted(at for at, _ in self.acks if at > began)]
        _, at = max(((later - earlier, later) for earlier, later in zip(times, times[1:])), default=(0, None))
        placed = at and self.placed_after(at)
        calm = placed and time.time() - at > CALM_S and time.time() - times[-1] < CALM_S / 2
        return (at - began, placed - began) if calm else None

    def placed_after(self, at):
        """When the first job that was acknowledged after that began to run."""
        notes = workload.notes(self.f.records)
        ids = {job for when, job in self.acks if when >= at}
        starts = [when for job in ids & set(notes) for ranks in notes[job].values() for lines in ranks.values()
                  for what, when in lines if what == "start"]
        return min(starts, default=None)


def switchover(lab):
    lab.member("switchover")
    return lambda: None


def kill(lab):
    primary = lab.member("primary")
    lab.member("kill9", primary)
    return lambda: lab.member("start", primary)


def pause(lab):
    primary = lab.member("primary")
    lab.member("pause", primary)
    return lambda: lab.member("cont", primary)


def cut(lab):
    primary = lab.member("primary")
    lab.member("cut", primary)
    return lambda: lab.member("mend", primary)


CASES = {"switchover": switchover, "kill": kill, "pause": pause, "cut": cut}
ACROSS_S = 30  # how long a job runs that a change must not disturb


def change(name, f, load):
    """One change of the primary: its faults, and a line of figures."""
    faults, before = [], f.known_incarnation(name)
    across = load.submit("across", f"across-{name}", ACROSS_S)
    f.wait_for(lambda: workload.notes(f.records).get(across), 30, f"{name}: no job runs")
    ended, began = len(f.ends), time.time()
    undo = CASES[name](f.lab)
    deadline, took = began + ACCEPTED_S + PLACED_S, None
    while not took and time.time() < deadline:
        time.sleep(0.5)
        took = load.recovery(began)
    undo()
    f.lab.member("whole")
    if not took:
        faults.append(f"{name}: nothing was accepted and placed within {deadline - began:.0f} s\n{f.last_words()}")
        return faults, f"{name}: no end"
    if took[0] > ACCEPTED_S or took[1] > PLACED_S:
        faults.append(f"{name}: accepted after {took[0]:.1f} s (at most {ACCEPTED_S}), placed after {took[1]:.1f} s (at most {PLACED_S})")
    after = f.known_incarnation(name)
    if (after[0] != before[0]) != (f.standby == "any"):
        faults.append(f"{name}: incarnation {before[0]}, then {after[0]}, where database_standby is {f.standby}")
    return faults, (f"{name}: accepted after {took[0]:.1f} s, placed after {took[1]:.1f} s, {len(f.ends) - ended} ends of a broker, "
                    f"incarnation {before[0]}, then {after[0]}, epoch {before[1]}, then {after[1]}")


def finish(f, load):
    load.end()
    f.wait_for(lambda: f.open_jobs() == 0, 90, "jobs are not over")
    faults = list(load.failed)
    for found in (verdict.states(f, load.jobs), verdict.single_copies(f, load.jobs), verdict.one_at_a_time(f, load.jobs),
                  verdict.use(f, {}), verdict.sane(f)):
        faults += found
    tries = f.sql("select job_id, attempts from helio_report.jobs where attempts > 1") or []
    across = {job for job, kind in load.jobs.items() if kind.kind == "across"}
    faults += [f"{job}, which ran across a change, was placed {count} times" for job, count in tries if job in across]
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--standby", choices=("any", "synchronous"), default="synchronous")
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    for program in ("etcd", "patroni", "haproxy"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            print(f"SKIPPED: promotion: {program} is not installed; deploy/packages/install.sh ha")
            sys.exit(77)
    why = None if "HELIO_ALONE" in os.environ else hosts.why_not_alone()
    if not why:
        hosts.alone()
    names = [args.only] if args.only else list(CASES)
    if why and "cut" in names:
        names.remove("cut")
        print(f"SKIPPED: cut: {why}")
    folder = tempfile.mkdtemp(prefix="helio-promotion-")
    lab = Lab(os.path.join(folder, "lab"), network=not why, proxy=args.proxy)
    f = OnLab(args.build, folder, [LocalSite("north", 2.0), LocalSite("south", 2.2)], lab, args.standby)
    faults, load = [], None
    try:
        f.up()
        load = Load(f)
        for name in names:
            found, line = change(name, f, load)
            faults += found
            print(line, flush=True)
        faults += finish(f, load)
    except SystemExit as end:
        faults.append(f"{end}\n{f.last_words()}")
    finally:
        if load:
            load.end()
        f.down()
        left = subprocess.run(["pgrep", "-af", folder], text=True, stdout=subprocess.PIPE).stdout
        faults += [f"is left running: {line}" for line in left.splitlines()]
    for fault in faults:
        print("FAULT", fault)
    if faults or args.keep:
        print("all files are kept in", folder)
    else:
        shutil.rmtree(folder)
    print(f"{len(load.jobs) if load else 0} jobs, {len(names)} changes of the primary; {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
