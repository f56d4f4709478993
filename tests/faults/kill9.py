#!/usr/bin/env python3
"""Kills broker, agents and PostgreSQL with SIGKILL, in turn, while jobs run, and then compares the ledger
with the processes' own records.

    tests/faults/kill9.py --build BUILD_DIR [--sites local:2] [--jobs 500] [--kills 12] [--seed 1] [--keep]

--sites: the number of sites of each kind, such as local:2 or slurm:3,local:1. The same table of jobs (workload.py) runs at
all kinds. Slurm sites are real clusters of two nodes each, from deploy/slurm-lab, with one slurmdbd.

Every daemon must have been killed while jobs were open (as far as --kills allows), and every site must have run jobs.

The check (verdict.py): every job has the expected state and exit code; no rank of an attempt started
twice, and no job has two epochs that both ran to their end; the ledger's GPU-seconds agree within a second with the shim's
record of every attempt, the programs' own clock and Slurm's accounting; logs are complete; no scheduler holds
a job of the federation any more. Exit 0 only if all of this holds; 77 if Slurm is requested and not installed.
"""
import argparse, collections, os, random, shutil, subprocess, sys, tempfile, time

import verdict, workload
from federation import TOP, Federation, LocalSite, SlurmSite

CLUSTERS = ["eu", "us", "asia", "sa", "af", "oc"]
# Attempts whose end the agent has from Slurm are charged what Slurm counts. Of others, such as those whose controller was away, only
# the shim's own times are known, and Slurm's include the time that its daemons need to launch a job on a busy machine.
ACCOUNTING_MEDIAN_SECONDS, ACCOUNTING_WORST_SECONDS = 1.0, 5.0


def daemons(federation):
    return ["broker", *(site.name for site in federation.sites), "postgres"]


def drive(federation, jobs, rng, kills):
    """Submits all jobs, cancels those that are to be cancelled, and kills daemons in turn until all jobs are over."""
    ids, killed, victims = [], collections.Counter(), daemons(federation)

    def kill(name, pause):
        federation.kill(name)
        killed[name] += 1
        time.sleep(pause)
        federation.revive(name)

    for start in range(0, len(jobs), 50):
        ids += federation.submit([job.doc for job in jobs[start:start + 50]], f"part-{start}")
        if start == 100 and kills:
            kill("broker", 0.3)
    assert len(set(ids)) == len(jobs), "ids are not distinct"
    cancels = [i for i, job in zip(ids, jobs) if job.cancel]
    rng.shuffle(cancels)
    last = began = time.monotonic()
    turn = 0
    while federation.open_jobs() != 0 or cancels:
        for _ in range(min(3, len(cancels))):
            if federation.helio("cancel", cancels[-1], check=False).returncode == 0:
                cancels.pop()
        if time.monotonic() - began > 900:
            raise SystemExit(f"{federation.open_jobs()} jobs are not over after 15 minutes; logs are in {federation.dir}")
        if turn < kills and time.monotonic() - last > 2.5:
            kill(victims[turn % len(victims)], rng.uniform(0.1, 1.5))
            turn += 1
            last = time.monotonic()
        time.sleep(0.3)
    return ids, killed


def check(federation, ids, jobs, figures):
    want = workload.wanted(ids, jobs)
    faults = [*verdict.states(federation, want), *verdict.single_copies(federation, want), *verdict.use(federation, figures),
              *verdict.logs(federation, ids, jobs), *verdict.leftovers(federation)]
    differences = list(verdict.accounting(federation))
    for (key, epoch), difference in differences:
        if abs(difference) > ACCOUNTING_WORST_SECONDS:
            faults.append(f"{key} epoch {epoch}: Slurm's accounting differs by {difference:.1f} s")
    sizes = sorted(abs(difference) for _, difference in differences)
    figures["accounted"] = len(sizes)
    if sizes:
        figures["median_s"], figures["accounted_worst_s"] = sizes[len(sizes) // 2], sizes[-1]
        if figures["median_s"] > ACCOUNTING_MEDIAN_SECONDS:
            faults.append(f"half of the attempts differ from Slurm's accounting by over {figures['median_s']:.1f} s")
    return faults


def make_sites(words, **lab_settings):
    """The sites of --sites, and the folder of the Slurm lab or None. lab_settings: as in up.sh."""
    counts = {kind: int(n) for kind, n in (word.split(":") for word in words.split(","))}
    lab = None
    if counts.get("slurm"):
        if not shutil.which("sbatch"):
            print("SKIPPED: Slurm is not installed; deploy/packages/install.sh slurm")
            sys.exit(77)
        lab = tempfile.mkdtemp(prefix="helio-lab-")
        subprocess.run([TOP + "/deploy/slurm-lab/up.sh", lab, str(counts["slurm"])], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "NODES": "2", "DBD": "1", "MIN_JOB_AGE": "30", **lab_settings})
    slurm = [SlurmSite(CLUSTERS[i], 2.1 + i / 10, lab) for i in range(counts.get("slurm", 0))]
    local = [LocalSite(name, price) for name, price in [("north", 2.9), ("south", 2.1), ("east", 2.5)][:counts.get("local", 0)]]
    return local + slurm, lab


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--sites", default="local:2")
    args.add_argument("--jobs", type=int, default=500)
    args.add_argument("--kills", type=int, default=12)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    rng = random.Random(args.seed)
    folder = tempfile.mkdtemp(prefix="helio-kill9-")
    sites, lab = make_sites(args.sites)
    federation = Federation(args.build, folder, sites)
    ok = False
    try:
        federation.up()
        jobs = workload.make(args.jobs, rng, federation.records)
        began = time.monotonic()
        ids, killed = drive(federation, jobs, rng, args.kills)
        took, figures = time.monotonic() - began, {}
        faults = check(federation, ids, jobs, figures)
        ran_at = verdict.spread(federation)
        faults += verdict.reach(ran_at, sites, killed, daemons(federation)[:args.kills], jobs, figures["compared"])
        print("ran at", ", ".join(f"{site} {n}" for site, n in sorted(ran_at.items())))
        if lab:
            print(f"{figures['accounted']} attempts compared with Slurm's accounting, median {figures.get('median_s', 0):.2f} s, "
                  f"worst {figures.get('accounted_worst_s', 0):.1f} s")
            if not figures["accounted"]:
                faults.append("no attempt was found in Slurm's accounting")
        for fault in faults[:40]:
            print("FAULT", fault)
        print(f"{sum(job.tasks for job in jobs)} jobs in {took:.0f} s, killed -9: "
              + (", ".join(f"{n} {name}" for name, n in sorted(killed.items())) or "nothing")
              + f"; {figures['compared']} attempts compared with the ledger, worst {figures['worst_s']:.3f} s; "
              + f"{len(faults)} faults (seed {args.seed})")
        ok = not faults
    finally:
        federation.down()
        if lab:
            subprocess.run([TOP + "/deploy/slurm-lab/down.sh", lab] + ([] if not ok or args.keep else ["--purge"]), check=False,
                           stdout=subprocess.DEVNULL)
        if ok and not args.keep:
            shutil.rmtree(folder)
        else:
            print("all files are kept in", folder, lab or "")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
