"""The promises, each as a function from the evidence to its violations: (kind, sentence). They read no clock, no file and no
database, so forged evidence can test them (chaos_test.py)."""
import collections

from chaos import truth, world
from chaos.evidence import attempt_of

OVER = ("succeeded", "failed", "timeout", "cancelled", "lost")
CLAIM_S = 5    # between two touches of a shim's claim, which bound what is known of a run whose shim was killed
START_S = 1.0  # by which an account may differ, plus SHARE
SHARE = 0.01
MEMORY = ("agent's state put back", "agent's state deleted", "second agent")


def doc_of(e, key):
    row = e.rows.get(key)
    return e.docs.get(row.name) if row else None


def job_of(key):
    return key.split(".")[0]


def by_attempt(runs):
    found = collections.defaultdict(list)
    for run in runs:
        found[run.key, run.epoch].append(run)
    return found


def hits(e, kind):
    """(key, epoch) -> the episodes of that kind that hit it."""
    found = collections.defaultdict(list)
    for episode in e.episodes:
        for folder in episode.attempts if episode.kind == kind else ():
            found[attempt_of(folder)].append(episode)
    return found


def forgetful(e, site):
    """Whether the site's agent lost its memory or had a twin at some time."""
    return any(episode.kind in MEMORY and site in episode.machines for episode in e.episodes)


def untold(e, key, epoch, site):
    """Whether nobody can know that it ran: its site forgot it before the broker heard that its processes run."""
    return forgetful(e, site) and not any(c.epoch == epoch and c.state not in ("offered", "accepted", "starting", "suspect", "queued")
                                          for c in e.changes[key])


def peak(runs):
    """The most GPUs that these runs held at once, and when."""
    steps = sorted([(run.began, run.gpus) for run in runs] + [(run.last, -run.gpus) for run in runs])
    held = most = at = 0
    for when, change in steps:
        held += change
        if held > most:
            most, at = held, when
    return most, at


# ---- what was promised to users


def submissions(e):
    jobs = {job_of(key) for key in e.rows}
    for name, job in e.ids.items():
        if job not in jobs:
            yield "unknown", f"{name} was acknowledged as {job}, which does not exist"
    ids = collections.defaultdict(set)
    for key, row in e.rows.items():
        ids[row.name].add(job_of(key))
    for name, several in ids.items():
        if len(several) > 1:
            yield "submitted-twice", f"{name} is {len(several)} jobs: {sorted(several)}"
    yield from e.complaints


def possible_ends(e, doc):
    if doc.after:
        condition, parent = doc.after
        states = {row.state for key, row in e.rows.items() if row.name == parent}
        good = {"after_ok": states == {"succeeded"}, "after_any": True, "after_start": True, "after_not_ok": bool(states - {"succeeded"})}[condition]
        return {doc.ends} if good else {"cancelled"}
    return {doc.ends} | ({"succeeded"} if doc.kind in ("cancel", "linger") else {"cancelled"} if doc.kind == "budget" else set())


def ends(e):
    for key, row in e.rows.items():
        doc = e.docs.get(row.name)
        if not doc:
            continue
        if row.state not in OVER:
            yield "stuck", f"{key} ({row.name}, {doc.policy}) is {row.state}: {row.why} {e.changes[key][-3:]}"
        elif row.state == "lost":
            yield "lost", f"{key} ({row.name}, {doc.policy}) was given up: {e.changes[key][-1:]}"
        elif row.state not in possible_ends(e, doc):
            yield "wrong-end", f"{key} ({row.name}) is {row.state}, expected {sorted(possible_ends(e, doc))}: {e.changes[key][-2:]}"
        elif row.state == doc.ends != "cancelled" and row.code != doc.code:
            yield "wrong-end", f"{key} ({row.name}) has exit code {row.code}, expected {doc.code}"


def completions(e):
    runs, counts = by_attempt(e.runs), collections.Counter(key for (key, _), attempt in e.attempts.items() if attempt.completes)
    for key, count in counts.items():
        if count > 1:
            yield "completed-twice", f"{key} completed {count} times"
    for (key, epoch), attempt in e.attempts.items():
        row = e.rows.get(key)
        if row and row.state == "succeeded" and attempt.completes and not any("end" in run.words for run in runs[key, epoch]):
            yield "never-ran", f"{key} succeeded with epoch {epoch}, which did not run to its end"


def repeats(e):
    """Work that was done to its end is not done again, unless its policy or an operator said so."""
    killed = hits(e, "shim killed")
    for key, runs in truth.of_jobs(e.runs).items():
        doc = doc_of(e, key)
        done = sorted({run.epoch: run for run in runs if "end" in run.words and "told" not in run.words}.items())
        if not doc or doc.policy != "strict" or doc.kind == "retry" or len(done) < 2:
            continue
        for epoch, run in done[:-1]:
            if not killed[key, epoch] and not forgetful(e, run.site):
                yield "ran-again", f"{key} ({doc.name}) ran to its end as epoch {epoch}, and again: {[n for n, _ in done]}"


# ---- one copy


def copies(e):
    for key, runs in truth.of_jobs(e.runs).items():
        ranks = collections.Counter((run.epoch, run.rank) for run in runs)
        for (epoch, rank), count in ranks.items():
            if count > 1:
                yield "started-twice", f"{key}: rank {rank} of epoch {epoch} started {count} times, at {[r.place for r in runs]}"
        doc = doc_of(e, key)
        spans = {}
        for run in runs:
            first, last, place = spans.get(run.epoch, (run.began, run.last, run.place))
            spans[run.epoch] = (min(first, run.began), max(last, run.last), place)
        order = sorted((first, last, epoch, place) for epoch, (first, last, place) in spans.items())
        for i, (first, last, epoch, place) in enumerate(order):
            for later, _, second, other in order[i + 1:]:
                if later >= last or not doc:
                    continue
                said = (f"{key} ({doc.name}): epoch {second} began at {other} {last - later:.1f} s before the last of epoch {epoch} "
                        f"at {place}")
                if doc.policy != "eager":
                    yield f"overlap-{doc.policy}", f"{said}: {e.changes[key]}"
                elif not any(change.epoch == min(epoch, second) and change.state == "suspect" for change in e.changes[key]):
                    # the site that was silent may begin with its order after the other
                    yield "overlap-eager", f"{said}, and the earlier epoch was never suspect: {e.changes[key]}"


def leaders(e):
    writers = collections.defaultdict(set)
    last = 0
    for epoch, writer in e.batches:
        writers[epoch].add(writer)
        if epoch < last:
            yield "old-leader", f"{writer} wrote as leader {epoch} after leader {last}"
        last = max(last, epoch)
    for epoch, several in writers.items():
        if len(several) > 1:
            yield "old-leader", f"leader {epoch} wrote from {sorted(several)}"


# ---- what was asked for


def capacity(e):
    places = collections.defaultdict(list)
    for run in e.runs:
        places[run.place].append(run)
    for place, runs in places.items():
        most, at = peak(runs)
        if most > world.GPUS:
            held = [f"{r.key}/{r.epoch}:{r.gpus}" for r in runs if r.began <= at < r.last]
            yield "over-capacity", f"{place} ran {most} of {world.GPUS} GPUs at {at:.1f}: {held}"


def quotas(e):
    small = [run for run in e.runs if (doc := doc_of(e, run.key)) and doc.tenant == "small"]
    most, at = peak(small)
    if most > world.QUOTA_GPUS:
        yield "over-quota", f"the tenant with {world.QUOTA_GPUS} GPUs held {most} at {at:.1f}"
    used = sum(attempt.ledger_gpu_s for (key, _), attempt in e.attempts.items() if (doc := doc_of(e, key)) and doc.tenant == "poor")
    if used > world.BUDGET_GPU_H * 3600 * 1.2 + 40:  # estimates that were too low, and one job that was estimated at its beginning
        yield "over-budget", f"{used:.0f} GPU-seconds are charged to a budget of {world.BUDGET_GPU_H * 3600:.0f}"


def throttles(e):
    arrays = collections.defaultdict(list)
    for run in e.runs:
        if (doc := doc_of(e, run.key)) and doc.throttle:
            arrays[job_of(run.key), doc.name].append(run._replace(gpus=1))
    for (job, name), runs in arrays.items():
        most, at = peak(runs)
        if most > e.docs[name].throttle and e.docs[name].policy != "eager":
            yield "over-throttle", f"{most} tasks of {job} ({name}) ran at once at {at:.1f}, asked were {e.docs[name].throttle}"


def dependencies(e):
    jobs, keys = truth.of_jobs(e.runs), collections.defaultdict(list)
    for key, row in e.rows.items():
        keys[row.name].append(key)
    for doc in e.docs.values():
        for key in keys[doc.name] if doc.after else ():
            first = min((run.began for run in jobs[key]), default=None)
            if first is None:
                continue
            if possible_ends(e, doc) == {"cancelled"}:
                yield "dependency", f"{key} ({doc.name}) ran although {doc.after} cannot come true"
            for parent in keys[doc.after[1]]:
                if doc.after[0] == "after_start":
                    what, opens = "start", min((run.began for run in jobs[parent]), default=None)
                else:
                    what, opens = "end", max((run.last for run in jobs[parent]
                                              if (a := e.attempts.get((parent, run.epoch))) and a.completes), default=None)
                if opens is not None and first < opens:
                    yield "dependency", f"{key} ({doc.name}) began {opens - first:.1f} s before the {what} of {parent}, {doc.after}"


# ---- what it cost


def accounts(e):
    killed, stopped, runs = hits(e, "shim killed"), hits(e, "shim stopped"), by_attempt(e.runs)
    for (key, epoch), ranks in runs.items():
        doc, attempt = doc_of(e, key), e.attempts.get((key, epoch))
        if not doc:
            continue
        ran = max(run.last for run in ranks) - min(run.began for run in ranks)
        slack = START_S + SHARE * ran + (0 if all("end" in run.words for run in ranks) else truth.BEAT_S)
        late = sum(episode.ended - episode.began for episode in stopped[key, epoch])
        if ranks[0].place == world.TWIN:
            continue  # its machine was switched off
        if not attempt:
            if ran > slack and not untold(e, key, epoch, ranks[0].site):
                yield "uncharged", f"{key} epoch {epoch} ({doc.name}) ran {ran:.1f} s at {ranks[0].place}: no attempt in the ledger"
        elif attempt.given_up and not forgetful(e, ranks[0].site):
            yield "uncorrected", (f"{key} epoch {epoch} ({doc.name}) was given up, and its site returned, but {attempt.run_s:.1f} s are "
                                  f"still the broker's estimate: {e.changes[key]}")
        elif attempt.estimated:
            least = ran - slack - CLAIM_S if killed[key, epoch] and not forgetful(e, ranks[0].site) else 0
            most = ran + slack + CLAIM_S + late + (world.LEASE_S + 10 if forgetful(e, ranks[0].site) else 0)
            if not least <= attempt.run_s <= most:
                yield "estimate", f"{key} epoch {epoch} ({doc.name}) ran {ran:.1f} s, estimated are {attempt.run_s:.1f} s"
        elif not ran - slack <= attempt.run_s <= ran + slack + late:
            hit = "shim killed" if killed[key, epoch] else "shim stopped" if late else "not hit"
            yield "account", (f"{key} epoch {epoch} ({doc.name}, {hit}) ran {ran:.1f} s at {ranks[0].place}, "
                              f"recorded are {attempt.run_s:.1f} s")
        if attempt and abs(attempt.ledger_gpu_s - attempt.run_s * doc.gpus) > START_S * doc.gpus:
            yield "ledger", (f"{key} epoch {epoch} ({doc.name}): {attempt.ledger_gpu_s:.1f} GPU-seconds for "
                             f"{attempt.run_s:.1f} s with {doc.gpus} GPUs")
    for (key, epoch), attempt in e.attempts.items():
        if attempt.run_s > START_S and not runs[key, epoch] and not killed[key, epoch]:
            yield "charged-unrun", f"{key} epoch {epoch} never wrote a line, and is charged {attempt.run_s:.1f} s"


# ---- machines


def daemons(e):
    for name, status, when in e.exits:
        if status < 0:
            yield "crash", f"{name} was ended by signal {-status} at {when:.1f}"
    if e.strays:
        yield "stray", f"processes of jobs run although all jobs are over: {e.strays}"


CHECKS = (submissions, ends, completions, repeats, copies, leaders, capacity, quotas, throttles, dependencies, accounts, daemons)


def violations(e):
    return [violation for check in CHECKS for violation in check(e)]
