#!/usr/bin/env python3
"""A cluster's controller fails: it dies and returns, hangs for a minute, or never returns.

    tests/faults/slurm_outage.py --build BUILD_DIR [--only forgets|killed|hung|gone] [--pause 60] [--keep]

Three real clusters of two nodes each. While a controller is away, running jobs continue and are shown as running; no job
is declared ended that did not end; new jobs go to the other clusters; no job ever runs twice. A cluster that never
returns (controller, nodes, jobs and agent killed) is attested dead by an operator: all its jobs must run on the
others within 20 s, and succeed. Prints one line for each case; exit 0 only if all hold, 77 without Slurm.
"""
import argparse, glob, os, shutil, signal, subprocess, sys, tempfile, time

import verdict, workload
from federation import TOP, Federation
from kill9 import make_sites

MOVE_SECONDS = 20
SAVED_SECONDS = 8    # after which a controller has saved what it acknowledged (it may take 5 s)
SILENT_SECONDS = 15  # without a reply the site offers no capacity any more


def job(federation, name, seconds, **more):
    return {"name": name, "gpu": "H100:2", "time": "10m", "run": workload.body(federation.records, seconds, 0), **more}


def states_of(federation, ids):
    rows = federation.sql("select job_id, state, coalesce(site, ''), attempts from helio_report.jobs")
    return {r[0]: r[1:] for r in rows or [] if r[0] in ids}


def all_in(federation, ids, *states):
    found = states_of(federation, ids)
    return len(found) == len(ids) and all(s[0] in states for s in found.values())


def finish(federation, ids, faults, attempts):
    """All jobs succeeded, each in at most the given number of attempts, and none started twice."""
    federation.wait_for(lambda: federation.open_jobs() == 0, 180, "jobs are not over")
    for key, (state, site, tries) in states_of(federation, ids).items():
        if state != "succeeded" or int(tries) > attempts:
            faults.append(f"{key} ended {state} at {site} after {tries} attempts")
    faults += verdict.single_copies(federation, {})


def controller_away(federation, site, away_s, gone, back):
    """Jobs run at the site, its controller is away for a while, new jobs are submitted meanwhile."""
    faults, pinned = [], {"placement": {"sites": [site.name]}}
    there = federation.submit([job(federation, f"there-{i}", away_s + 25, **pinned) for i in range(4)], f"{gone}-there")
    short = federation.submit([job(federation, f"short-{i}", 14, **pinned) for i in range(3)], f"{gone}-short")
    federation.wait_for(lambda: all_in(federation, there + short, "running"), 60, "jobs do not run")
    time.sleep(SAVED_SECONDS)
    site.cluster(gone)
    began, seen, new, soon = time.monotonic(), set(), [], SILENT_SECONDS + 10
    while time.monotonic() - began < away_s:
        if not new and time.monotonic() - began > soon:  # by now the site offers no capacity
            new = federation.submit([job(federation, f"new-{i}", 2) for i in range(12)], f"{gone}-new")
        seen |= {s[0] for s in states_of(federation, there).values()}
        time.sleep(0.5)
    if seen != {"running"}:
        faults.append(f"while the controller was away, jobs that ran were called {sorted(seen)}")
    if not all_in(federation, new, "succeeded"):
        faults.append("new jobs did not end elsewhere while the controller was away")
    if any(s[1] == site.name for s in states_of(federation, new).values()):
        faults.append("new jobs were sent to the cluster whose controller does not answer")
    site.cluster(back)
    finish(federation, there + short + new, faults, 1)
    return faults, f"{len(there + short)} jobs there, {len(new)} elsewhere meanwhile"


def controller_forgets(federation, site):
    """The controller is killed before it has saved jobs that it acknowledged: Slurm forgets them and ends them on the nodes."""
    faults = []
    ids = federation.submit([job(federation, f"forgotten-{i}", 15, placement={"sites": [site.name]}) for i in range(6)], "forgotten")
    federation.wait_for(lambda: any(s[0] == "running" for s in states_of(federation, ids).values()), 60, "jobs do not run")
    site.cluster("kill9-ctld")
    time.sleep(3)
    site.cluster("start-ctld")
    finish(federation, ids, faults, 2)
    moved = sum(int(s[2]) > 1 for s in states_of(federation, ids).values())
    return faults, f"{len(ids)} jobs, {moved} of them in a second attempt"


def kill_jobs(site):
    """The nodes' processes of every attempt, which die with their machine."""
    for path in glob.glob(os.path.join(site.attempts, "*")):
        if os.path.exists(path + "/done"):
            continue
        for mark, key in (("started", "rank="), ("claim", "pid=")):
            try:
                pids = [int(line[len(key):]) for line in open(os.path.join(path, mark)) if line.startswith(key)]
            except OSError:
                continue
            for pid in pids:
                for kill in (os.killpg, os.kill):
                    try:
                        kill(pid, signal.SIGKILL)
                    except (ProcessLookupError, PermissionError):
                        pass


def gone_for_good(federation, site):
    faults, others = [], [s for s in federation.sites if s is not site]
    for other in others:  # so that all of it runs here
        federation.helio("drain", other.name, "--reason", "makes room")
    ids = federation.submit([job(federation, f"moves-{i}", 30, on_site_loss=loss)
                             for loss in ("lease", "strict") for i in range(4)], "gone")
    federation.wait_for(lambda: all_in(federation, ids, "running", "succeeded"), 90, "jobs do not run")
    for other in others:
        federation.helio("undrain", other.name)
    federation.kill(site.name)
    site.cluster("kill9-ctld")
    for node in (1, 2):
        site.cluster("kill9-slurmd", f"{site.name}-n{node}")
    kill_jobs(site)
    killed = [key for key, s in states_of(federation, ids).items() if s[0] != "succeeded"]
    federation.wait_for(lambda: any(s["site"] == site.name and s["state"] == "silent" for s in federation.site_list()), 120,
                        "the site is not called silent")
    attest = ["attest", site.name, "--dead", "--reason", "its machines are off", "-y"]
    federation.wait_for(lambda: federation.helio(*attest, check=False).returncode == 0, 120, "it cannot be attested dead")
    began = time.monotonic()
    federation.wait_for(lambda: all(s[1] != site.name and s[0] in ("running", "succeeded")
                                    for s in states_of(federation, killed).values()), 120, "work did not move")
    took = time.monotonic() - began
    if took > MOVE_SECONDS:
        faults.append(f"work was on the other clusters {took:.1f} s after the attestation, expected {MOVE_SECONDS}")
    finish(federation, ids, faults, 2)
    return faults, f"{len(ids)} jobs ran on the others {took:.1f} s after the attestation"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--only", choices=["forgets", "killed", "hung", "gone"])
    args.add_argument("--pause", type=int, default=60)
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-outage-")
    sites, lab = make_sites("slurm:3")
    federation = Federation(args.build, folder, sites)
    cases = {
        "forgets": lambda: controller_forgets(federation, sites[0]),
        "killed": lambda: controller_away(federation, sites[0], 45, "kill9-ctld", "start-ctld"),
        "hung": lambda: controller_away(federation, sites[1], args.pause, "pause-ctld", "cont-ctld"),
        "gone": lambda: gone_for_good(federation, sites[2]),
    }
    bad = 0
    try:
        federation.up()
        for name, case in cases.items():
            if not args.only or name == args.only:
                began = time.monotonic()
                faults, what = case()
                for fault in faults:
                    print("FAULT", name, fault)
                print(f"{name}: {what}; {time.monotonic() - began:.0f} s; {len(faults)} faults")
                bad += len(faults)
    except SystemExit as end:
        print(end)
        bad += 1
    finally:
        federation.down()
        keep = bad or args.keep
        subprocess.run([TOP + "/deploy/slurm-lab/down.sh", lab] + ([] if keep else ["--purge"]), check=False,
                       stdout=subprocess.DEVNULL)
        if keep:
            print("all files are kept in", folder, lab)
        else:
            shutil.rmtree(folder)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
