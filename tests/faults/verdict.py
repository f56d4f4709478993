"""Compares the ledger with what truly ran: the programs' own records, the shims' status files, the scheduler's
accounting. Returns sentences; none means that every promise held."""
import collections, glob, os, re, subprocess

import workload

# At a Slurm site an attempt is charged what Slurm counts: whole seconds, from before the launch, which is slow on a busy machine.
LESS_SECONDS, MORE_SECONDS, MORE_SECONDS_BY_SLURM = 1.0, 1.0, 5.0


def shim_records(sites):
    """(job, epoch) -> run time in seconds, from the file `done` of every attempt of every site."""
    found = {}
    for site in sites:
        for done in glob.glob(os.path.join(site.attempts, "*", "done")):
            name = os.path.basename(os.path.dirname(done))
            m = re.fullmatch(r"helio-([0-9a-z]{26})(?:-(\d+))?-(\d+)", name)
            assert m, name
            fields = dict(line.strip().split("=", 1) for line in open(done) if "=" in line)
            found[(m[1] + (f".{m[2]}" if m[2] is not None else ""), int(m[3]))] = int(fields["run_ms"]) / 1000
    return found


def at_slurm(federation):
    """(job, epoch) of every attempt of a Slurm site."""
    names = {site.name for site in federation.sites if site.kind == "slurm"}
    return {(r[0], int(r[1])) for r in federation.sql("select helio.job_text(job_id, task), epoch, site from helio.attempts")
            if r[2] in names}


def is_charged(charged_s, ran_s, by_slurm):
    return -LESS_SECONDS <= charged_s - ran_s <= (MORE_SECONDS_BY_SLURM if by_slurm else MORE_SECONDS)


def states(federation, want):
    rows = {r[0]: r[1:] for r in federation.sql(
        "select job_id, state, coalesce(exit_code,-1), attempts, coalesce(gpu_seconds,0), gpus from helio_report.jobs")}
    if set(rows) != set(want):
        yield f"{len(set(want) - set(rows))} jobs are missing, {len(set(rows) - set(want))} are unknown"
    for key, job in want.items():
        row = rows.get(key)
        if row and (row[0] != job.state or int(row[1]) != job.code):
            yield f"{key} ({job.kind}): {row[0]} with exit code {row[1]}, expected {job.state} with {job.code}"
    total = federation.sql("select count(*), count(distinct (job_id, task)) from helio.attempts where completes")[0]
    if total[0] != total[1]:
        yield f"{total[0]} completions of {total[1]} jobs"


def single_copies(federation, want):
    """No rank of an attempt started twice; at most one epoch of a job ran to its own end, unless it failed and was retried, or
    can run twice (`eager`)."""
    for key, epochs in workload.notes(federation.records).items():
        for epoch, ranks in epochs.items():
            for rank, lines in ranks.items():
                starts = sum(what == "start" for what, _ in lines)
                if starts > 1:
                    yield f"{key}: rank {rank} of epoch {epoch} started {starts} times"
        ended = [e for e, ranks in epochs.items() if any(what == "end" for lines in ranks.values() for what, _ in lines)]
        if len(ended) > (2 if key in want and want[key].kind in ("retry", "eager") else 1):
            yield f"{key}: epochs {sorted(ended)} all ran to their end"


def use(federation, figures):
    """Compares the ledger, attempt by attempt, with the shims' status files and the programs' own clock. Fills in figures."""
    ledger = {(r[0], int(r[1])): float(r[2]) for r in federation.sql(
        "select helio.job_text(job_id, task), epoch, sum(gpu_ms) / 1000.0 from helio.ledger group by 1, 2")}
    gpus = {r[0]: float(r[1] or 0) for r in federation.sql("select job_id, gpus from helio_report.jobs")}
    by_slurm = at_slurm(federation)
    figures["compared"], figures["worst_s"] = 0, 0.0
    for (key, epoch), run_s in shim_records(federation.sites).items():
        mine, charged = run_s * gpus.get(key, 0), ledger.pop((key, epoch), 0.0)
        per_gpu = abs(mine - charged) / max(gpus.get(key, 0), 1)
        figures["compared"] += 1
        figures["worst_s"] = max(figures["worst_s"], per_gpu)
        if not is_charged(charged / max(gpus.get(key, 0), 1), mine / max(gpus.get(key, 0), 1), (key, epoch) in by_slurm):
            yield f"{key} epoch {epoch}: ran {mine:.1f} GPU-seconds, charged {charged:.1f}"
    for (key, epoch), charged in ledger.items():
        if charged > 0:
            yield f"{key} epoch {epoch}: {charged:.1f} GPU-seconds are charged, but no shim recorded a run"
    attempts = {(r[0], int(r[1])): int(r[2]) / 1000 for r in federation.sql(
        "select helio.job_text(job_id, task), epoch, run_ms from helio.attempts")}
    for key, epochs in workload.notes(federation.records).items():
        for epoch, ranks in epochs.items():
            lines = [line for each in ranks.values() for line in each]
            start = min((at for what, at in lines if what == "start"), default=None)
            end = max((at for what, at in lines if what == "end"), default=None)
            if start and end and not is_charged(attempts.get((key, epoch), 0), end - start, (key, epoch) in by_slurm):
                yield (f"{key} epoch {epoch}: its program ran {end - start:.1f} s, "
                       f"recorded are {attempts.get((key, epoch), 0):.1f} s")


def logs(federation, ids, jobs):
    """`helio logs` prints what the job printed, completely and in order."""
    for job_id, job in zip(ids, jobs):
        if job.kind == "logs":
            printed = federation.helio("logs", job_id, check=False).stdout.splitlines()
            expected = [f"line {i} of {job.doc['name']}" for i in range(1, workload.LOG_LINES + 1)]
            if printed != expected:
                yield f"{job_id}: helio logs printed {len(printed)} lines, {len(expected)} were written"


def accounting(federation):
    """Slurm's accounting, if a slurmdbd keeps it: ((job, epoch), by how much its time exceeds the ledger's)."""
    attempts = {(r[0], int(r[1])): int(r[2]) / 1000 for r in federation.sql(
        "select helio.job_text(job_id, task), epoch, run_ms from helio.attempts where run_ms > 0")}
    for site in federation.sites:
        if site.kind != "slurm":
            continue
        done = subprocess.run(["sacct", "--noheader", "--parsable2", "--allocations", "--duplicates", "--allusers",
                               "--starttime=now-1days", "--format=jobname,elapsedraw"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ, SLURM_CONF=site.conf))
        for line in done.stdout.splitlines() if done.returncode == 0 else []:
            name, elapsed = line.rsplit("|", 1)
            m = re.fullmatch(r"helio-([0-9a-z]{26})(?:-(\d+))?-(\d+)", name)
            key = (m[1] + (f".{m[2]}" if m and m[2] is not None else ""), int(m[3])) if m else None
            if key in attempts:
                yield key, int(elapsed) - attempts[key]


def leftovers(federation):
    for site in federation.sites:
        for line in site.leftovers():
            yield f"{site.name} still holds {line}"


def spread(federation):
    return collections.Counter({r[0]: int(r[1]) for r in federation.sql(
        "select site, count(*) from helio_report.jobs where site is not null group by 1")})


def reach(ran_at, sites, killed, daemons, jobs, compared):
    """The cases that a campaign must contain; without them, passing proves nothing. ran_at: site -> jobs; killed: daemon ->
    kills while jobs were open; compared: the number of attempts that the ledger was compared with."""
    for site in sites:
        if not ran_at[site.name]:
            yield f"no job ran at {site.name}"
    for daemon in daemons:
        if not killed[daemon]:
            yield f"{daemon} was never killed while jobs were open"
    for state in sorted({"succeeded", "failed", "cancelled", "timeout"} - {job.state for job in jobs}):
        yield f"no job was to end as {state}"
    if compared < len(jobs) // 2:
        yield f"{compared} attempts were compared with the ledger, of {len(jobs)} jobs"


def one_at_a_time(federation, want):
    """By the jobs' own records an epoch is over before the next one starts, unless the job can run twice (`eager`)."""
    for key, epochs in workload.notes(federation.records).items():
        if key in want and want[key].kind == "eager":
            continue
        spans = []
        for epoch, ranks in epochs.items():
            times = [at for lines in ranks.values() for _, at in lines]
            spans.append((min(times), max(times), epoch))
        spans.sort()
        for (_, end, first), (begin, _, second) in zip(spans, spans[1:]):
            if begin < end:
                yield f"{key}: epoch {second} began {end - begin:.1f} s before epoch {first} wrote its last"


def sane(federation):
    """No impossible figure or time, whatever the clocks showed."""
    for what, query in {
        "attempts have negative figures in the ledger": """(
            select from helio.ledger group by job_id, task, epoch
            having least(sum(gpu_ms), sum(energy_j), sum(carbon_mg), sum(cost_micro_usd)) < 0) l""",
        "attempts ran for a negative time": "helio.attempts where least(run_ms, gpu_ms, energy_j) < 0",
        "attempts ended before they began": "helio.attempts where ended_at < started_at",
        "jobs waited or ran for a negative time": "helio_report.jobs where least(wait_seconds, run_seconds) < 0",
    }.items():
        count = int(federation.sql(f"select count(*) from {query}")[0][0])
        if count:
            yield f"{count} {what}"
