"""All that is known at the end of a campaign: what the jobs wrote, what the database holds, what the users were told, what failed."""
import collections, re

from chaos import truth

# rows: key -> Row, of every job and task. attempts: (key, epoch) -> Attempt. changes: key -> [Change] in their order. batches: (epoch
# of the leader, address that wrote) in the order of their commits. strays: processes of jobs that run although all jobs are over.
Evidence = collections.namedtuple("Evidence", "docs ids rows attempts changes runs episodes batches exits strays complaints")
Row = collections.namedtuple("Row", "name state code why", defaults=("",))
Attempt = collections.namedtuple("Attempt", "site run_s gpu_s ledger_gpu_s completes fenced estimated given_up")
Change = collections.namedtuple("Change", "epoch state why")

ROWS = """select j.job_id, j.name, j.state, coalesce(j.exit_code, -1), coalesce(s.details::text, '') from helio_report.jobs j
    left join helio.job_state s on helio.job_text(s.job_id, s.task) = j.job_id"""
ATTEMPTS = """select helio.job_text(a.job_id, a.task), a.epoch, a.site, a.run_ms / 1000.0, a.gpu_ms / 1000.0, coalesce(l.gpu_s, 0),
    a.completes, a.fenced, a.basis = 1 or coalesce(l.estimated, false), a.basis = 1 from helio.attempts a left join (
    select job_id, task, epoch, sum(gpu_ms) / 1000.0 as gpu_s, sum(gpu_ms) filter (where estimated) > 0 as estimated
    from helio.ledger group by 1, 2, 3) l using (job_id, task, epoch)"""
CHANGES = """select helio.job_text(job_id, task), epoch, helio.state_word(to_state), coalesce(details::text, reason, '')
    from helio.transitions order by seq"""
BATCHES = "select epoch, coalesce(writer, '') from chaos.batches order by seq"


def attempt_of(folder):
    """(key, epoch) of an attempt's folder."""
    job, task, epoch = re.fullmatch(r"helio-([0-9a-z]{26})(?:-(\d+))?-(\d+)", folder).groups()
    return job + (f".{task}" if task is not None else ""), int(epoch)


def gather(w, users, storm):
    changes = collections.defaultdict(list)
    for key, epoch, state, why in w.sql(CHANGES):
        changes[key].append(Change(int(epoch), state, why))
    attempts = {(key, int(epoch)): Attempt(site, float(run), float(gpu), float(ledger), *(flag == "t" for flag in flags))
                for key, epoch, site, run, gpu, ledger, *flags in w.sql(ATTEMPTS)}
    rows = {key: Row(name, state, int(code), why) for key, name, state, code, why in w.sql(ROWS)}
    batches = [(int(epoch), writer) for epoch, writer in w.sql(BATCHES)]
    return Evidence(users.docs, users.ids, rows, attempts, changes, truth.read(w.records), storm.history, batches, w.exits,
                    sorted(w.strays()), users.complaints)
