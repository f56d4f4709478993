"""A campaign: a federation, the jobs that were submitted to it, and what was found wrong."""
import subprocess

import verdict, workload

KINDS = ("strict", "lease", "eager")  # of on_site_loss
BEAT_S = 0.5  # between two records of a running job


def work(federation, name, seconds, kind="strict", **more):
    """A job that records every half second that it runs, and when it is told to stop."""
    body = workload.body(federation.records, 0, 0, "trap 'note stopped; exit 143' TERM; "
                         f"for i in $(seq {int(seconds / BEAT_S)}); do note beat; sleep {BEAT_S}; done; ")
    doc = {"name": name, "gpu": "H100:1", "time": "10m", "run": body, "on_site_loss": kind, **more}
    return workload.Job(kind, doc, "succeeded", 0, False, 1)


class Campaign:
    """A federation, and the jobs that were submitted to it."""
    def __init__(self, federation):
        self.f, self.jobs, self.faults, self.keys = federation, {}, [], 0

    def submit(self, *jobs):
        self.keys += 1
        ids = self.f.submit([job.doc for job in jobs], f"key-{self.keys}")
        self.jobs.update(zip(ids, jobs))
        return ids

    def rows(self, ids):
        found = self.f.sql("select job_id, state, coalesce(site, ''), attempts from helio_report.jobs")
        return {r[0]: r[1:] for r in found or [] if r[0] in ids}

    def all_in(self, ids, *states):
        rows = self.rows(ids)
        return len(rows) == len(ids) and all(row[0] in states for row in rows.values())

    def until(self, good, seconds, complaint):
        try:
            self.f.wait_for(good, seconds, complaint)
        except SystemExit as end:
            raise SystemExit(f"{end}: {self.rows(self.jobs)}")

    def await_state(self, ids, *states, seconds=90):
        self.until(lambda: self.all_in(ids, *states), seconds, f"jobs are not {' or '.join(states)}")

    def await_ready(self, site, seconds=90):
        ready = lambda: any(s["site"] == site.name and s["state"] == "ready" for s in self.f.site_list())
        self.f.wait_for(ready, seconds, f"{site.name} is not ready again")

    def expect(self, good, complaint):
        if not good:
            self.faults.append(complaint)

    def noted(self, job, what):
        """The true time at which a job first recorded that; None = it did not."""
        epochs = workload.notes(self.f.records)[job].values()
        return min((at for ranks in epochs for lines in ranks.values() for word, at in lines if word == what), default=None)

    def began(self, job):
        return self.noted(job, "start")

    def transitions(self, *to):
        words = ",".join(f"'{state}'" for state in to)
        return self.f.sql(f"select job_id, to_state, reason from helio_report.job_transitions where to_state in ({words})")

    def attempts(self, ids, least, most):
        for key, (state, site, tries) in self.rows(ids).items():
            self.expect(least <= int(tries) <= most, f"{key} ({self.jobs[key].kind}) was placed {tries} times, last at {site}")

    def finish(self, seconds=150):
        """When all jobs are over: every job has its expected state, none ran twice or in two places at once, and the
        ledger agrees with the records."""
        self.until(lambda: self.f.open_jobs() == 0, seconds, "jobs are not over")
        want = workload.wanted(self.jobs.keys(), self.jobs.values())
        checks = (verdict.states(self.f, want), verdict.single_copies(self.f, want), verdict.one_at_a_time(self.f, want),
                  verdict.use(self.f, {}), verdict.sane(self.f), verdict.leftovers(self.f))
        self.faults += [fault for check in checks for fault in check]


def submit_once(f, key, text, **env):
    """A client that nobody starts again. text: an open file."""
    return subprocess.Popen([f.tool("helio"), "submit", "-", "-o", "name", "--idempotency-key", key], text=True, env={**f.env, **env},
                            stdin=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Turn:
    """Takes the turn of the next batch, which waits until it is over: the server reads none of it meanwhile. Locks of a table are granted
    in the order in which they are asked for; those of a row are not."""
    def __init__(self, f):
        self.f = f
        self.psql = subprocess.Popen(["psql", "-qXAt", f.database], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.tell("select pg_backend_pid();")
        self.pid = int(self.psql.stdout.readline())
        self.tell("begin; lock table helio.federation in share row exclusive mode; select 'taken';")

    def tell(self, sql):
        self.psql.stdin.write(sql + "\n")
        self.psql.stdin.flush()

    def is_asked_for(self):
        """Whether it waits for its turn, behind all who asked before."""
        return self.f.sql(f"select pid from pg_stat_activity where pid = {self.pid} and wait_event_type = 'Lock'")

    def has_come(self):
        return self.psql.stdout.readline().strip() == "taken"

    def over(self):
        self.psql.communicate("commit;\n")
