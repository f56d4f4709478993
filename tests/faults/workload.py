"""The table of jobs that every campaign runs, at every kind of site: a mixed workload, and how each job
must end. A program records its own start and end with its own clock; the ledger is compared with these records."""
import collections, glob, os

Job = collections.namedtuple("Job", "kind doc state code cancel tasks")

# kind: weight, properties of the job. seconds: None = runs until it is stopped.
KINDS = {
    "single":  (38, dict(gpu="H100:1")),
    "gang8":   (8, dict(gpu="H100:8")),
    "gang2x8": (4, dict(gpu="H100:8", nodes=2)),
    "array":   (4, dict(gpu="H100:1")),
    "fail":    (10, dict(gpu="H100:1")),
    "retry":   (4, dict(gpu="H100:1", retries=1)),
    "cancel":  (10, dict(gpu="H100:1")),
    "timeout": (6, dict(gpu="H100:1", time="2s")),
    "cpu":     (12, dict(cpus=1)),
    "logs":    (4, dict(gpu="H100:1")),
}
LOG_LINES = 200


def body(records, seconds, code, more=""):
    return (f"note() {{ echo \"$1 $HELIO_EPOCH $HELIO_NODE_RANK $(date +%s.%N) $HELIO_GPUS\" >> "
            f"{records}/$HELIO_JOB_ID${{HELIO_ARRAY_INDEX:+.$HELIO_ARRAY_INDEX}}; }}; "
            f"note start; {more}sleep {seconds} && note end; exit {code}")


def make(count, rng, records, kinds=tuple(KINDS), longest_s=6):
    jobs, made = [], 0
    while made < count:
        kind = rng.choices(kinds, [KINDS[k][0] for k in kinds])[0]
        seconds = round(rng.uniform(0.2, longest_s), 1)
        doc = {"name": f"{kind}-{made}", "time": "5m", **KINDS[kind][1]}
        state, code, tasks, more = "succeeded", 0, 1, ""
        if kind == "array":
            tasks = rng.randint(3, 8)
            doc["array"] = f"0-{tasks - 1}%{rng.randint(1, 4)}"
        elif kind == "fail":
            state, code = "failed", rng.randint(1, 100)
        elif kind == "retry":
            state, code = "failed", 7
        elif kind == "cancel":
            seconds, state, code = 600, "cancelled", 130
        elif kind == "timeout":
            seconds, state, code = 600, "timeout", 124
        elif kind == "logs":
            more = f"for i in $(seq {LOG_LINES}); do echo line $i of {doc['name']}; done; "
        doc["run"] = body(records, seconds, code if kind in ("fail", "retry") else 0, more)
        jobs.append(Job(kind, doc, state, code, kind == "cancel", tasks))
        made += tasks
    return jobs


def wanted(ids, jobs):
    """key -> job, with one entry for each task of an array."""
    want = {}
    for job_id, job in zip(ids, jobs):
        for key in ([f"{job_id}.{t}" for t in range(job.tasks)] if "array" in job.doc else [job_id]):
            want[key] = job
    return want


def notes(records):
    """key -> epoch -> {rank: [(what, when)…]} as the programs themselves wrote them."""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for path in glob.glob(records + "/*"):
        for line in open(path):
            what, epoch, rank, at = line.split()[:4]
            found[os.path.basename(path)][int(epoch)][int(rank)].append((what, float(at)))
    return found
