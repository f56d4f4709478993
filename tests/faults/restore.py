#!/usr/bin/env python3
"""The database goes back in time while sites run jobs: a dump that is loaded again, a snapshot of its disk put back.

    tests/faults/restore.py --build BUILD_DIR [--keep]

What was submitted after the copy was made is unknown to it, and its copies are stopped; what it knows ends where it
belongs, and no two copies of a job run at a time. Prints one line a case; exit 0 only if all hold.
"""
import argparse, os, shutil, signal, subprocess, sys, tempfile, time

import verdict, workload
from federation import Federation, LocalSite, run

LONG_S = 1000000 + os.getpid()  # by which its processes are known from those of other campaigns


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
        """One that is over, one that runs on, four that have both sites to themselves, four that wait for those."""
        over = self.submit(("over", 2, 0.5))
        self.until(over.values(), "succeeded")
        across = self.submit(("across", 2, 45))
        first = self.submit(*[(f"first-{i}", 8, 6) for i in range(3)])
        waits = self.submit(*[(f"waits-{i}", 8, 2) for i in range(4)])
        self.until([*across.values(), *first.values()], "running")
        return over, {**across, **first, **waits}

    def after_the_copy(self, known):
        """All that waited ends, unknown to the copy; so do these two, one of which runs on."""
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
        """One site is slow to come, and the broker dies meanwhile: the next leader knows as little."""
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

    def use_database(self, name):
        with open(self.federation.path("broker.yaml")) as f:
            text = f.read()
        other = self.federation.database.replace("dbname=postgres", f"dbname={name}")
        self.federation.write("broker.yaml", text.replace(self.federation.database, other))
        self.federation.database = other


def case_dump(world):
    """A dump is loaded into another database of the same server: the broker notices by itself."""
    f = world.federation
    f.up()
    over, known = world.before_the_copy()
    run("pg_dump", "--format=custom", "--file", f.path("dump"), f.database)
    later = world.after_the_copy(known)
    f.kill("broker")
    run("psql", "-qX", f.database, "-c", "create database restored")
    run("pg_restore", "--dbname", f.database.replace("dbname=postgres", "dbname=restored"), f.path("dump"))
    world.use_database("restored")
    faults = list(world.nothing_before_all_have_spoken())
    f.wait_ready()
    faults += world.ends_well(over, known, later)
    if f.sql("select restored_at is not null from helio.federation") != [["t"]]:
        faults.append("the broker does not know that it leads another copy")
    return faults, "a dump that was loaded again is noticed; what it knows ended, what it does not know was stopped"


def case_snapshot(world):
    """The data folder is put back as it was: only the sites can tell, and they do."""
    f = world.federation
    f.up()
    over, known = world.before_the_copy()
    f.kill("postgres")  # a snapshot is what a crash leaves
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
            print("everything is kept in", world.folder)
        else:
            shutil.rmtree(world.folder, ignore_errors=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
