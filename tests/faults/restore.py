#!/usr/bin/env python3
"""Restores an earlier state of the database while sites run jobs: from a dump, and from a disk snapshot.

    tests/faults/restore.py --build BUILD_DIR [--keep]

Jobs that were submitted after the copy was made are unknown to it, and are stopped; jobs that it knows end in the expected
state, and no two attempts of a job run at the same time: also where a site is away for longer than silent_after, and where
the former attempt takes long to end. Prints one line for each case; exit 0 only if all hold.
"""
import argparse, ctypes, os, shutil, signal, subprocess, sys, tempfile, time

import verdict, workload
from federation import Federation, LocalSite, run

AWAY_S, SLOW_END_S = 90, 12  # how long a site is away after the restore, and how long a copy there takes to end
LONG_S = 1000000 + os.getpid()  # distinguishes its processes from those of other campaigns


class World:
    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="helio-restore-")
        self.federation = Federation(build, self.folder, [LocalSite("north", 2.0), LocalSite("south", 3.0)])
        self.submissions = 0

    def submit(self, *jobs):
        """(name, GPUs, seconds) each; name -> id."""
        self.submissions += 1
        docs = [{"name": name, "gpu": f"H100:{gpus}", "time": "20m", "run": workload.body(self.federation.records, seconds, 0)}
                for name, gpus, seconds in jobs]
        ids = self.federation.submit(docs, f"restore-{self.folder}-{self.submissions}")
        return dict(zip((name for name, _, _ in jobs), ids))

    def states(self):
        return {row[0]: row[1] for row in self.federation.sql("select job_id, state from helio_report.jobs") or []}

    def until(self, ids, state, seconds=60):
        try:
            self.federation.wait_for(lambda: all(self.states().get(key) == state for key in ids), seconds, f"not all are {state}")
        except SystemExit as end:
            raise SystemExit(f"{end}\n{self.states()}\n{self.federation.last_words()}")

    def before_the_copy(self):
        """One job that is over, one that runs on, four that occupy both sites, four that wait for those."""
        over = self.submit(("over", 2, 0.5))
        self.until(over.values(), "succeeded")
        across = self.submit(("across", 2, 45))
        first = self.submit(*[(f"first-{i}", 8, 6) for i in range(3)])
        waits = self.submit(*[(f"waits-{i}", 8, 2) for i in range(4)])
        self.until([*across.values(), *first.values()], "running")
        return over, {**across, **first, **waits}

    def after_the_copy(self, known):
        """All waiting jobs end after the copy, which does not know that; these two are submitted after it, and one runs on."""
        later = self.submit(("later", 1, 0.5), ("later-runs-on", 1, LONG_S))
        self.until([key for name, key in known.items() if name != "across"] + [later["later"]], "succeeded")
        self.until([later["later-runs-on"]], "running")
        return later

    def ends_well(self, over, known, later):
        """Every job that the copy knows succeeds; those that it does not know are stopped."""
        self.until([*over.values(), *known.values()], "succeeded", 120)
        unknown = set(later.values()) & set(self.states())
        faults = [f"{key} is known to a copy that was made before it" for key in unknown]
        alive = subprocess.run(["pgrep", "-f", f"sleep {LONG_S}"], stdout=subprocess.DEVNULL).returncode == 0
        return faults + (["what the copy does not know runs on"] if alive else []) + list(self.overlaps())

    def overlaps(self):
        """Copies of one job that ran at the same time, by their own clock."""
        for key, epochs in workload.notes(self.federation.records).items():
            spans = sorted((min(at for _, at in lines), max(at for _, at in lines))
                           for lines in ([line for rank in ranks.values() for line in rank] for ranks in epochs.values()))
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                if begin < end:
                    yield f"{key}: a copy began {end - begin:.1f} s before another one ended"

    def nothing_before_all_have_spoken(self):
        """One site connects late, and the broker dies meanwhile: the next leader has to wait for it, too."""
        f = self.federation
        f.procs["north"].send_signal(signal.SIGSTOP)
        for last in (False, True):
            f.start("broker")
            f.wait_for(lambda: any(site["state"] == "ready" for site in f.site_list() if site["site"] == "south"), 30,
                       "south does not find the broker")
            time.sleep(3)
            if not last:
                f.kill("broker")
        placed = f.sql("select p.job_id, p.site from helio.placements p, helio.federation f where p.at > f.restored_at")
        f.procs["north"].send_signal(signal.SIGCONT)
        if placed != []:
            yield f"placed before north had spoken: {placed}"

    def load_dump(self):
        """The next broker uses the copy, in another database of the same server."""
        f = self.federation
        run("psql", "-qX", f.database, "-c", "create database restored")
        run("pg_restore", "--dbname", f.database.replace("dbname=postgres", "dbname=restored"), f.path("dump"))
        self.use_database("restored")

    def submit_tickers(self, count):
        """Jobs of one GPU that note the time while they run, by their process: name -> id. They end when told so."""
        body = (f"while [ ! -e {self.federation.path('enough')} ]; do echo \"$$ $(date +%s.%N)\" >> "
                f"{self.federation.records}/ticks-$HELIO_JOB_ID; sleep 0.1; done")
        docs = [{"name": f"ticker-{i}", "gpu": "H100:1", "time": "20m", "on_site_loss": "strict", "run": body} for i in range(count)]
        return self.federation.submit(docs, f"tickers-{self.federation.dir}")

    def copies(self, key):
        """(process, first tick, last tick) of each copy of the job that has run, by their beginning."""
        path, spans = os.path.join(self.federation.records, f"ticks-{key}"), {}
        for line in open(path) if os.path.exists(path) else []:
            if len(line.split()) == 2:
                pid, at = line.split()
                spans[pid] = (min(float(at), spans.get(pid, (float(at),))[0]), float(at))
        return sorted((begin, end, pid) for pid, (begin, end) in spans.items())

    def use_database(self, name):
        with open(self.federation.path("broker.yaml")) as f:
            text = f.read()
        other = self.federation.database.replace("dbname=postgres", f"dbname={name}")
        self.federation.write("broker.yaml", text.replace(self.federation.database, other))
        self.federation.database = other


def case_dump(world):
    """A dump is loaded into another database of the same server: the broker detects it without help."""
    f = world.federation
    f.up()
    over, known = world.before_the_copy()
    run("pg_dump", "--format=custom", "--file", f.path("dump"), f.database)
    later = world.after_the_copy(known)
    f.kill("broker")
    world.load_dump()
    faults = list(world.nothing_before_all_have_spoken())
    f.wait_ready()
    faults += world.ends_well(over, known, later)
    if f.sql("select restored_at is not null from helio.federation") != [["t"]]:
        faults.append("the broker does not know that it leads another copy")
    return faults, "a dump that was loaded again is noticed; what it knows ended, what it does not know was stopped"


def case_snapshot(world):
    """The data folder is restored as it was: only the sites can detect it, and they do."""
    f = world.federation
    f.up()
    over, known = world.before_the_copy()
    f.kill("postgres")  # a snapshot equals the state after a crash
    shutil.copytree(f.path("pg", "data"), f.path("snapshot"), symlinks=True, copy_function=shutil.copy2)
    f.revive("postgres")
    for _ in range(2):  # sites see later epochs than the copy's next leader will have
        f.kill("broker")
        f.start("broker")
        f.wait_ready()
    later = world.after_the_copy(known)
    f.kill("broker")
    f.kill("postgres")
    put_back(f)
    f.revive("postgres")
    f.start("broker")
    refusals = lambda: [row[0] for row in f.sql("select coalesce(refused, '') from helio.sites") or []]
    f.wait_for(lambda: all("helio-broker restored" in text for text in refusals()), 60, "the sites do not refuse it by name")
    told = f.helio("sites", "-o", "json").stdout
    busy = subprocess.run([f.tool("helio-broker"), "restored", "--config", f.path("broker.yaml")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    faults = [] if busy.returncode == 1 and "stop it first" in busy.stderr else [f"beside a leader: {busy.stdout}{busy.stderr}"]
    if "an old database was restored" not in told:
        faults.append(f"helio sites does not say why: {told}")
    f.kill("broker")
    f.wait_for(lambda: subprocess.run([f.tool("helio-broker"), "restored", "--config", f.path("broker.yaml")],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0,
               20, "the copy cannot be declared restored")
    f.start("broker")
    f.wait_ready()
    return faults + world.ends_well(over, known, later), "a snapshot that was put back is refused until it is said to be one"


def put_back(federation):
    owner = os.stat(federation.path("pg", "data"))
    shutil.rmtree(federation.path("pg", "data"))
    shutil.copytree(federation.path("snapshot"), federation.path("pg", "data"), symlinks=True)
    for folder, _, files in os.walk(federation.path("pg", "data")):
        for path in [folder, *(os.path.join(folder, name) for name in files)]:
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    os.remove(federation.path("pg", "data", "postmaster.pid"))


class Frozen:
    """Processes that stand still although they are sent SIGCONT: they are traced."""

    SEIZE, INTERRUPT, DETACH, ANY_CHILD = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, pids):
        self.pids = [int(pid) for pid in pids]
        for pid in self.pids:
            self.trace(self.SEIZE, pid)
            self.trace(self.INTERRUPT, pid)
            os.waitpid(pid, self.ANY_CHILD)

    def trace(self, request, pid):
        call = ctypes.CDLL(None, use_errno=True).ptrace
        call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        if call(request, pid, None, None) and request != self.DETACH:  # it can have been killed
            raise SystemExit(f"process {pid} cannot be traced: {os.strerror(ctypes.get_errno())}")

    def thaw(self):
        for pid in self.pids:
            self.trace(self.DETACH, pid)


def case_slow(world):
    """The copy shows two jobs as queued, which run at south. South is away for longer than silent_after, and then one of the
    two takes long to end: neither begins at north before its copy at south has ended."""
    f = world.federation
    f.up()
    for site in f.sites:
        f.helio("drain", site.name, "--reason", "so that the jobs wait")
    keys = world.submit_tickers(2)
    run("pg_dump", "--format=custom", "--file", f.path("dump"), f.database)
    f.helio("undrain", "south")
    f.wait_for(lambda: all(world.copies(key) for key in keys), 60, "the jobs do not start at south")
    shims = subprocess.run(["pgrep", "-f", f"helio-shim.*{f.dir}.*{keys[0]}"], text=True, stdout=subprocess.PIPE).stdout.split()
    faults = [] if shims else ["the shim of the first job is not found"]
    f.procs["south"].send_signal(signal.SIGSTOP)
    f.kill("broker")
    world.load_dump()
    f.start("broker")
    f.wait_for(lambda: any(site["state"] in ("ready", "draining") for site in f.site_list() if site["site"] == "north"), 30,
               "north does not find the broker")
    f.helio("undrain", "north")
    restored = time.monotonic()
    while time.monotonic() < restored + AWAY_S:
        time.sleep(1)
    faults += told(world, keys[0], "SitesUnreconciled")
    faults += [f"{key} began a second time while south was away" for key in keys if len(world.copies(key)) > 1]
    frozen = Frozen(shims)  # what it runs goes on, until the agent has waited for it for 5 s and kills both
    try:
        f.procs["south"].send_signal(signal.SIGCONT)
        f.wait_for(lambda: "CopiesEnd" in f.helio("explain", keys[0], "-o", "json").stdout, 30, "south does not list the copy")
        f.procs["south"].send_signal(signal.SIGSTOP)
        faults += told(world, keys[0], "CopiesEnd")
        time.sleep(SLOW_END_S)
        faults += [] if len(world.copies(keys[0])) == 1 else ["the first job began a second time while its copy was ending"]
    finally:
        frozen.thaw()
    f.procs["south"].send_signal(signal.SIGCONT)
    f.wait_for(lambda: all(len(world.copies(key)) > 1 for key in keys), 60, "a job whose copy has ended does not start again")
    f.write("enough", "")
    world.until(keys, "succeeded", 60)
    for key in keys:
        spans = world.copies(key)
        faults += [f"{key}: a copy began {end - begin:.1f} s before another one ended"
                   for (_, end, _), (begin, _, _) in zip(spans, spans[1:]) if begin < end]
    f.wait_for(lambda: all(site["unreconciled_at"] is None for site in f.site_list()), 30, "a site is awaited for ever")
    return faults, f"a site that was away for {AWAY_S} s and a copy that took {SLOW_END_S} s to end: no job ran twice at once"


def told(world, key, code):
    """Explain gives the code and names south; so do sites and doctor."""
    f = world.federation
    said = f.helio("explain", key, "-o", "json").stdout
    if code not in said or "south" not in said:
        yield f"explain does not give {code} with south: {said}"
    for command in ("sites", "doctor"):
        said = f.helio(command, check=False).stdout
        if not any("restored" in line and "south" in line for line in said.splitlines()):
            yield f"helio {command} does not name south: {said}"


CASES = {name[len("case_"):]: case for name, case in list(globals().items()) if name.startswith("case_")}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--only", choices=sorted(CASES))
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    bad = 0
    for name, case in CASES.items():
        if args.only not in (None, name):
            continue
        world, began = World(args.build), time.monotonic()
        try:
            faults, what = case(world)
            faults += list(verdict.leftovers(world.federation))
        except SystemExit as end:
            faults, what = [str(end)], "not finished"
        finally:
            world.federation.down()
        for fault in faults:
            print("FAULT", name, fault)
        print(f"{name}: {what}; {time.monotonic() - began:.0f} s; {len(faults)} faults", flush=True)
        bad += len(faults)
        if faults or args.keep:
            print("all files are kept in", world.folder)
        else:
            shutil.rmtree(world.folder, ignore_errors=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
