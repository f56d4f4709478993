#!/usr/bin/env python3
"""Tests chaos/checks.py and chaos/truth.py: records that the script of a job writes are read as they were written; honest evidence has no
violation; and every kind of violation is found in evidence that was forged to contain it, and in no other."""
import os, signal, subprocess, sys, tempfile, time

from chaos import checks, faults, jobs, truth
from chaos.evidence import Attempt, Change, Evidence, Row
from chaos.faults import Episode

JOB, OTHER, CHILD, ARRAY = ("01" + letter * 24 for letter in "abcd")
LIFE = ("start", "beat", "end")
TOLD = ("start", "beat", "told")


def doc(name, policy="strict", kind="single", gpus=2, ends="succeeded", throttle=0, after=None, tenant="demo"):
    return jobs.Doc(name, kind, tenant, policy, gpus, ends, 0, 2 if throttle else 1, throttle, after, {}, None)


def run(key=JOB, epoch=1, began=100.0, last=110.0, words=LIFE, site="north", gpus=2, rank=0, pid=1, place=None):
    return truth.Run(key, epoch, rank, pid, site, place or site, gpus, began, last, words)


def attempt(run_s=10.0, gpus=2, **more):
    return Attempt(**{**dict(site="north", run_s=run_s, gpu_s=run_s * gpus, ledger_gpu_s=run_s * gpus, completes=True, fenced=False,
                             estimated=False, given_up=False), **more})


def honest(**more):
    """One strict job, one that depends on it, and an array of two tasks one after another."""
    docs = [doc("job"), doc("child", after=("after_ok", "job")), doc("array", kind="array", gpus=1, throttle=1)]
    tasks = [f"{ARRAY}.{task}" for task in range(2)]
    rows = {JOB: Row("job", "succeeded", 0), CHILD: Row("child", "succeeded", 0), **{task: Row("array", "succeeded", 0) for task in tasks}}
    runs = [run(), run(CHILD, began=111, last=115), run(tasks[0], began=100, last=104, gpus=1), run(tasks[1], began=105, last=109, gpus=1)]
    ends = {(JOB, 1): attempt(), (CHILD, 1): attempt(4), (tasks[0], 1): attempt(4, 1), (tasks[1], 1): attempt(4, 1)}
    return Evidence(**{**dict(docs={d.name: d for d in docs}, ids={"job": JOB, "child": CHILD, "array": ARRAY}, rows=rows, attempts=ends,
                              changes={key: [Change(1, "succeeded", "")] for key in rows}, runs=runs, episodes=[],
                              batches=[(1, "10.99.0.2"), (1, "10.99.0.2"), (2, "10.99.0.3")], exits=[], strays=[], complaints=[]), **more})


def with_runs(*runs, **more):
    return honest(runs=honest().runs + list(runs), **more)


def as_policy(policy, **more):
    return dict(docs={**honest().docs, "job": doc("job", policy)}, **more)


def also(field, **more):
    return {field: {**getattr(honest(), field), **more}}


def row(state, code=0, key=JOB, name="job"):
    return dict(rows={**honest().rows, key: Row(name, state, code)})


def ends_of(key, value):
    return dict(attempts={**honest().attempts, key: value})


def hit(kind, seconds=3):
    return dict(episodes=[Episode(kind, ("shim",), 105, 105 + seconds, (f"helio-{JOB}-1",))])


FORGOTTEN = [Episode("agent's state deleted", ("north",), 131, 135, ())]
SECOND = run(epoch=2, began=109, last=119, site="south")
SUSPECT = dict(changes={**honest().changes, JOB: [Change(1, "suspect", ""), Change(2, "succeeded", "")]})
FORGED = [
    ("unknown", honest(**also("ids", lost=OTHER))),
    ("submitted-twice", honest(rows={**honest().rows, OTHER: Row("job", "succeeded", 0)})),
    ("refused", honest(complaints=[("refused", "POST /v1/jobs: 400")])),
    ("stuck", honest(**row("suspect", -1, CHILD, "child"))),
    ("lost", honest(**row("lost", -1, CHILD, "child"))),
    ("wrong-end", honest(**row("failed", 3, CHILD, "child"))),
    ("wrong-end", honest(**row("succeeded", 4))),
    ("never-ran", honest(runs=[run(words=TOLD), *honest().runs[1:]])),
    ("ran-again", with_runs(run(epoch=2, began=110.5, last=110.9), **ends_of((JOB, 2), attempt(0.4, completes=False)))),
    ("completed-twice", with_runs(run(epoch=2, began=110.5, last=110.9), **as_policy("eager"), **ends_of((JOB, 2), attempt(0.4)))),
    ("started-twice", with_runs(run(pid=2))),
    ("overlap-strict", honest(runs=[run(words=TOLD), SECOND._replace(began=109.0, last=110.8), *honest().runs[1:]], attempts={
        **honest().attempts, (JOB, 1): attempt(completes=False), (JOB, 2): attempt(1.8)})),
    ("overlap-lease", with_runs(SECOND._replace(last=110.5), **as_policy("lease", **ends_of((JOB, 2), attempt(1.5, completes=False))))),
    ("overlap-eager", with_runs(SECOND._replace(last=110.5), **as_policy("eager", **ends_of((JOB, 2), attempt(1.5, completes=False))))),
    ("overlap-eager", with_runs(SECOND._replace(began=98.5, last=101.0),
                                **as_policy("eager", **ends_of((JOB, 2), attempt(2.5, completes=False))))),
    ("old-leader", honest(batches=[(1, "10.99.0.2"), (2, "10.99.0.3"), (1, "10.99.0.2")])),
    ("old-leader", honest(batches=[(1, "10.99.0.2"), (1, "10.99.0.3")])),
    ("over-capacity", with_runs(run(OTHER, gpus=16))),
    ("over-quota", honest(docs={**honest().docs, "job": doc("job", gpus=5, tenant="small")}, runs=[run(gpus=5), *honest().runs[1:]],
                          **ends_of((JOB, 1), attempt(gpus=5)))),
    ("over-budget", honest(docs={**honest().docs, "job": doc("job", gpus=12, kind="budget", tenant="poor")},
                           runs=[run(began=80, gpus=12), *honest().runs[1:]], **ends_of((JOB, 1), attempt(30, gpus=12)))),
    ("over-throttle", honest(runs=[*honest().runs[:3], run(f"{ARRAY}.1", began=103, last=107, gpus=1)])),
    ("dependency", honest(runs=[honest().runs[0], run(CHILD, began=109, last=113), *honest().runs[2:]])),
    ("uncharged", with_runs(run(epoch=2, began=120, last=130, words=TOLD), **as_policy("lease"))),
    ("uncharged", with_runs(run(epoch=2, began=120, last=130, words=TOLD), **as_policy("lease", changes={
        **honest().changes, JOB: [Change(2, "running", ""), Change(2, "suspect", "")]}), episodes=FORGOTTEN)),
    ("account", honest(**ends_of((JOB, 1), attempt(13)))),
    ("account", honest(**ends_of((JOB, 1), attempt(15)), **hit("shim stopped"))),
    ("estimate", honest(**ends_of((JOB, 1), attempt(0, estimated=True)), **hit("shim killed"))),
    ("estimate", honest(**ends_of((JOB, 1), attempt(30, estimated=True)))),
    ("uncorrected", honest(**ends_of((JOB, 1), attempt(8, estimated=True, given_up=True)))),
    ("ledger", honest(**ends_of((JOB, 1), attempt(ledger_gpu_s=0.0)))),
    ("charged-unrun", honest(**ends_of((JOB, 2), attempt(completes=False)))),
    ("crash", honest(exits=[("broker-a", -6, 100.0)])),
    ("stray", honest(strays=[4711])),
]
ALLOWED = [  # what looks like a violation, and is none
    ("an eager job at a silent site", with_runs(SECOND._replace(last=110.5), **as_policy("eager", **SUSPECT,
                                                **ends_of((JOB, 2), attempt(1.5, completes=False))))),
    ("an eager job whose silent site began last", with_runs(SECOND._replace(began=98.5, last=101.0), **as_policy("eager", **SUSPECT,
                                                 **ends_of((JOB, 2), attempt(2.5, completes=False))))),
    ("a stopped shim saw the end late", honest(**ends_of((JOB, 1), attempt(12.5)), **hit("shim stopped"))),
    ("a killed shim, up to its claim", honest(**ends_of((JOB, 1), attempt(5.5, estimated=True)), **hit("shim killed"))),
    ("a run that was too short to be seen", with_runs(run(epoch=2, began=120, last=120.4, words=("start",)), **as_policy("lease"))),
    ("a cancelled job that was faster", honest(docs={**honest().docs, "job": doc("job", kind="cancel", ends="cancelled")})),
    ("a run that its site forgot before it told of it", with_runs(run(epoch=2, began=120, last=130, words=TOLD), **as_policy(
        "lease", changes={**honest().changes, JOB: [Change(2, "starting", ""), Change(2, "suspect", "")]}), episodes=FORGOTTEN)),
    ("a leader after its restart", honest(batches=[(1, "10.99.0.2"), (2, "10.99.0.2")])),
]


def records(folder):
    """A job that ends, and one that is told to end."""
    ran = {}
    for key, linger_s, tell in ((JOB, 0, False), (OTHER, 1, True)):
        env = dict(PATH=os.environ["PATH"], LANG="C.UTF-8", TRUTH=folder, HELIO_JOB_ID=key, HELIO_EPOCH="3", HELIO_NODE_RANK="1",
                   HELIO_SITE="north", HELIO_GPUS="2", HELIO_OUTPUT_DIR="/tmp/north/state/output/x")
        process = subprocess.Popen(["bash", "-c", truth.script(600 if tell else 1, 5, linger_s)], env=env)
        while tell and not os.path.exists(os.path.join(folder, key)):
            time.sleep(0.05)
        if tell:
            process.send_signal(signal.SIGTERM)
        ran[key] = process.wait(60)
    with open(os.path.join(folder, JOB), "a") as file:
        file.write("beat 3 1 9 north north 2 1.0 99.0\nbeat 4 1 9 nor")
    runs = {(r.key, r.pid == 9): r for r in truth.read(folder)}
    first, second = runs[JOB, False], runs[OTHER, False]
    if ran != {JOB: 5, OTHER: 143}:
        yield f"the jobs ended with {ran}"
    if first.words != ("start", "beat", "beat", "end") or not 1 <= first.last - first.began < 20:
        yield f"the job that ends is read as {first}"
    if (first.epoch, first.rank, first.site, first.place, first.gpus) != (3, 1, "north", "north", 2):
        yield f"the job that ends is read as {first}"
    if "told" not in second.words or second.words[-1] != "end":
        yield f"the job that is told to end is read as {second}"
    if len(runs) != 3:
        yield f"half a line is read as a run: {runs}"


def main():
    wrong = [f"honest evidence has {violation}" for violation in checks.violations(honest())]
    for kind, evidence in FORGED:
        found = {kind for kind, _ in checks.violations(evidence)}
        if found != {kind}:
            wrong.append(f"{kind} was forged, {sorted(found)} found: {checks.violations(evidence)}")
    for what, evidence in ALLOWED:
        wrong += [f"{what}: {violation}" for violation in checks.violations(evidence)]
    if len(set(faults.KINDS)) != len(faults.KINDS):
        wrong.append("two kinds of faults have one name")
    with tempfile.TemporaryDirectory() as folder:
        wrong += records(folder)
    print("\n".join(wrong) or f"{len(FORGED)} forgeries are found, {len(ALLOWED)} exceptions are allowed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
