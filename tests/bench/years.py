#!/usr/bin/env python3
"""Measures a broker after years of use: a database with millions of ended jobs, and typical queries.

    tests/bench/years.py --build BUILD_DIR [--jobs 5000000 [--like 10000000]] [--open 20000] [--sites 12] [--dir DIR [--keep]]
                         [--only start,reads,views,boards,submit]

Fills a PostgreSQL of its own with a year of sites (years.sql, years_sites.sql) and with pending jobs that were submitted
through the API. With --like N, the last 60 days have as many jobs as those of a year of N jobs, and the year before them has what is left
of --jobs: what a query of at most 30 days reads is then what it reads among N jobs, and less disk and time are needed. One of the pending jobs is as old as the ended ones (--old-open 0: none). Then prints the startup time and
memory of a broker; the times of API reads; the time of every helio_report view with a dashboard's time
range, and the large tables that its plan scans completely; p50 and p95 of the queries of dashboards (boards.py); and the rate of submissions. The next call can reuse DIR with
--keep. Asserts nothing, except that replies are successful.
"""
import argparse, concurrent.futures, json, os, re, shutil, statistics, subprocess, sys, tempfile, time, urllib.error, urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, TOP + "/tests/faults")
from federation import free_port  # noqa: E402
sys.path.insert(0, HERE)
import boards  # noqa: E402

FILLING = "shared_buffers = 2GB\nwork_mem = 64MB\nmaintenance_work_mem = 512MB\nmax_wal_size = 32GB\nmin_wal_size = 2GB\n" \
          "checkpoint_timeout = 1h\nautovacuum = off\nfsync = off\nfull_page_writes = off\nmax_parallel_workers_per_gather = 0"
SERVING = "shared_buffers = 1GB\nmin_wal_size = 2GB\nmax_wal_size = 8GB\ncheckpoint_timeout = 1h"
BIG_ROWS = 100000  # a query for one day must not scan a table with this many rows
SLICE = 250000
DAY_MS = 86400000
YEAR_MS, DENSE_DAYS = 365 * DAY_MS, 60


def out(*args, **kw):
    return subprocess.run(args, check=True, text=True, stdout=subprocess.PIPE, **kw).stdout


class Years:
    def __init__(self, args):
        self.args, self.build = args, args.build
        self.dir = args.dir or tempfile.mkdtemp(prefix="helio-years-")
        os.makedirs(self.dir, exist_ok=True)
        os.chmod(self.dir, 0o755)
        self.pg, self.broker = self.dir + "/pg", None
        self.conninfo = f"host={self.pg} port=5432 user=postgres dbname=postgres"
        self.tool = self.build + "/helio-broker"
        self.conf = self.dir + "/broker.yaml"

    # ---- the database --------------------------------------------------------------------------------------

    def server(self, command, conf):
        return out(TOP + "/tests/postgres.sh", command, self.pg, env=os.environ | {"HELIO_PGCONF": conf}).strip()

    def restart(self, conf):
        self.sql("checkpoint")
        with open(self.pg + "/data/postgresql.auto.conf") as f:
            own = f.read().split("\n# what it is for\n")[0]
        with open(self.pg + "/data/postgresql.auto.conf", "w") as f:
            f.write(own + "\n# what it is for\n" + conf + "\n")
        self.server("kill", "")
        self.server("start", "")

    def sql(self, query):
        return out("psql", "-qXAt", "-v", "ON_ERROR_STOP=1", self.conninfo, "-c", query).strip()

    def script(self, name, **values):
        flags = [word for key, value in values.items() for word in ("-v", f"{key}={value}")]
        out("psql", "-qX", "-v", "ON_ERROR_STOP=1", *flags, "-f", f"{HERE}/{name}", self.conninfo)

    def make(self):
        """Tables, a tenant, pending jobs; then the history before them."""
        self.server("up", "")
        self.configure()
        out(self.tool, "migrate", "--config", self.conf)
        out(self.tool, "tenant", "add", "demo", "--config", self.conf)
        token = out(self.tool, "token", "add", "--tenant", "demo", "--user", "bench", "--role", "admin", "--config", self.conf)
        with open(self.dir + "/token", "w") as f:
            f.write(token.split()[-1])
        self.restart(FILLING)
        end_ms = int(time.time() * 1000) - 600000
        self.start()
        self.submit(2, 1000, f"={self.args.open}")
        self.stop()
        self.fill(end_ms)
        self.old_open()
        self.sum_up()
        self.restart(SERVING)

    def fill(self, end_ms):
        began, jobs = time.monotonic(), self.args.jobs
        slices = []
        for base, count, start_ms, length_ms in self.stretches(end_ms):
            slices += [{"from": base + at, "to": base + min(at + SLICE, count) - 1, "base": base, "start_ms": start_ms,
                        "gap_ms": length_ms // count, "key_every": 25} for at in range(0, count, SLICE)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            rest = pool.submit(self.script, "years_sites.sql", end_ms=end_ms, days=self.args.days, sites=self.args.sites)
            for done in [pool.submit(self.script, "years.sql", sites=self.args.sites, **values) for values in slices]:
                done.result()
            rest.result()
        self.sql("set work_mem = '512MB'; select helio.sum_up()")
        # nothing is summed up by the hour of what was written without triggers
        self.sql(f"update helio.rolled set rolled_to = helio.ms_at({end_ms // 3600000 * 3600000 - 367 * DAY_MS}), announced_to = "
                 f"helio.ms_at({end_ms // 3600000 * 3600000 - 367 * DAY_MS})")
        self.sql("vacuum analyze")
        print(f"filled: {jobs:,} jobs that ended, {time.monotonic() - began:.0f} s, "
              + self.sql("select pg_size_pretty(pg_database_size(current_database()))"), flush=True)
        for line in self.sql("select relname || ' ' || pg_size_pretty(pg_total_relation_size(c.oid)) || ' ' || reltuples::bigint "
                             "from pg_class c where relnamespace = 'helio'::regnamespace and relkind = 'r' and reltuples > 10000 "
                             "order by pg_total_relation_size(c.oid) desc").splitlines():
            print("   ", line)

    def sum_up(self):
        """As the leading broker does in its first minutes, a step a second."""
        self.sql("delete from helio.unsettled; update helio.settled set mark = default, looked = default") # the broker that took the pending jobs saw none before them
        began = time.monotonic()
        self.sql("do $$ begin while helio.settle(20000) > 0 loop null; end loop; end $$")
        print(f"compacted: {time.monotonic() - began:.0f} s", flush=True)
        began, steps = time.monotonic(), []
        while not steps or steps[-1][1] > 0:
            one = time.monotonic()
            hours = int(self.sql("set jit = off; set enable_seqscan = off; select helio.roll_up(24)").splitlines()[-1])
            steps.append((time.monotonic() - one, hours))
        late = sorted(took for took, hours in steps if hours)[-50:]
        print(f"summed up by the hour: {time.monotonic() - began:.0f} s, {len(steps)} steps of a day, of the longest 50 the median "
              f"{statistics.median(late):.1f} s", flush=True)
        self.sql("vacuum analyze")

    def stretches(self, end_ms):
        """[(first job, jobs, start, length)]: the whole year; or its beginning and, as dense as asked for, its last days."""
        jobs, like = self.args.jobs, self.args.like
        if not like:
            return [(0, jobs, end_ms - YEAR_MS, YEAR_MS - 6000000)]
        dense = like * DENSE_DAYS // 365
        if dense >= jobs:
            raise SystemExit(f"--like {like} needs more than {dense} --jobs")
        late_ms = DENSE_DAYS * DAY_MS
        return [(0, jobs - dense, end_ms - YEAR_MS, YEAR_MS - late_ms), (jobs - dense, dense, end_ms - late_ms, late_ms - 6000000)]

    def old_open(self):
        """A job that was not released for most of a year: like the other pending jobs, but with an old id, and held."""
        if not self.args.old_open:
            return
        old_ms = int(time.time() * 1000) - 360 * DAY_MS
        self.sql(f"""with made as (insert into helio.jobs select (lpad(to_hex({old_ms}::bigint), 12, '0') || '7fff8' ||
            substr(md5('old'), 1, 15))::uuid as job_id, helio.ms_at({old_ms}) as submitted_at, time_limit_ms, class_id, gpus,
            nodes, tier, kind, tenant, user_name, queue, 'forgotten' as name, home_site, gpu_model, null, spec_hash, source, tasks
            from helio.jobs where tenant = 'demo' order by job_id desc limit 1 returning job_id)
            insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, reason, at,
            gpu_ms, cost_micro_usd, energy_j, carbon_mg, units_done)
            select job_id, -1, 13, 0, 0, 0, 0, 2, 2, 'ImagePullFailed', helio.ms_at({old_ms}), 0, 0, 0, 0, 0 from made""")
        self.sql("update helio.federation set open_from = (select job_id from helio.jobs where name = 'forgotten')")

    # ---- the broker ----------------------------------------------------------------------------------------

    def configure(self):
        self.http, sites_port = free_port(), free_port()
        if not os.path.exists(self.dir + "/broker.key"):
            out(self.tool, "keygen", self.dir + "/broker.key")
        with open(self.conf, "w") as f:
            f.write(f'database: "{self.conninfo}"\nlisten_http: 127.0.0.1:{self.http}\n'
                    f"listen_sites: tcp://127.0.0.1:{sites_port}\nkey_file: {self.dir}/broker.key\nlog_level: warn\n"
                    "limits: {queued: 50000000, queued_per_tenant: 50000000}\n")

    def start(self):
        """Seconds until it is ready."""
        self.token = open(self.dir + "/token").read()
        began = time.monotonic()
        self.broker = subprocess.Popen([self.tool, "run", "--config", self.conf], stderr=open(self.dir + "/broker.log", "a"))
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.http}/readyz", timeout=5).close()
                return time.monotonic() - began
            except OSError:
                if self.broker.poll() is not None or time.monotonic() - began > 900:
                    raise SystemExit(f"the broker is not ready; see {self.dir}/broker.log")
                time.sleep(0.05)

    def stop(self):
        if self.broker:
            self.broker.terminate()
            self.broker.wait()
        self.broker = None

    def memory_mb(self):
        status = open(f"/proc/{self.broker.pid}/status").read()
        return {key: int(re.search(key + r":\s+(\d+)", status).group(1)) / 1024 for key in ("VmRSS", "VmHWM")}

    def get(self, path):
        began = time.monotonic()
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", headers={"Authorization": "Bearer " + self.token})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return time.monotonic() - began, json.load(answer)
        except urllib.error.HTTPError as error:
            return time.monotonic() - began, {"error": f"{error.code} {error.read()[:200]!r}"}

    def submit(self, connections, per_call, amount):
        return float(out(self.build + "/tests/bench/bench_submit", str(self.http), self.token, str(connections), str(per_call),
                         str(amount)).split()[0])

    def down(self):
        self.stop()
        if not self.args.keep:
            self.server("down", "")
            shutil.rmtree(self.dir)

    # ---- measurements --------------------------------------------------------------------------------------

    def measure_start(self):
        first = self.start()
        memory = self.memory_mb()
        self.stop()
        again = self.start()
        print(f"ready after {first:.1f} s, again {again:.1f} s; memory {memory['VmRSS']:.0f} MB, most {memory['VmHWM']:.0f} MB",
              flush=True)

    def measure_reads(self):
        old, mid = (self.sql(f"select helio.job_text(job_id, -1) from helio.jobs where job_id >= helio.id_bound(helio.job_text("
                             f"(lpad(to_hex({ms}::bigint), 12, '0') || repeat('0', 20))::uuid, -1), '0') order by job_id limit 1")
                    for ms in (int(time.time() * 1000) - days * DAY_MS for days in (300, 30)))
        deep = f"/v1/jobs?limit=100&cursor={old}"
        for what, path in (
                ("helio ls (newest 100)", "/v1/jobs?limit=100"),
                ("a page from 300 days ago", deep),
                ("state=queued", "/v1/jobs?state=queued&limit=100"),
                ("state=running", "/v1/jobs?state=running&limit=100"),
                ("state=held", "/v1/jobs?state=held&limit=100"),
                ("state=failed", "/v1/jobs?state=failed&limit=100"),
                ("state=lost (none)", "/v1/jobs?state=lost&limit=100"),
                ("queue=express", "/v1/jobs?queue=express&limit=100"),
                ("name, once, a year ago", "/v1/jobs?name=forgotten&limit=100"),
                ("name, none", "/v1/jobs?name=nobody&limit=100"),
                ("mine", "/v1/jobs?mine=true&limit=100"),
                ("user, newest", "/v1/jobs?user=user7&limit=100"),
                ("user, none", "/v1/jobs?user=nobody&limit=100"),
                ("user and site", "/v1/jobs?user=user7&site=site3&limit=100"),
                ("user, state=running", "/v1/jobs?user=user7&state=running&limit=100"),
                ("user, state=failed", "/v1/jobs?user=user7&state=failed&limit=100"),
                ("site", "/v1/jobs?site=site3&limit=100"),
                ("site, none (a page)", "/v1/jobs?site=nowhere&limit=100"),
                ("label", "/v1/jobs?label=team%3Dt3&limit=100"),
                ("label, rare", "/v1/jobs?label=sweep&limit=100"),
                ("label and state", "/v1/jobs?label=team%3Dt3&state=failed&limit=100"),
                ("since, until, 200 days ago", f"/v1/jobs?since={day_text(201)}&until={day_text(200)}&limit=100"),
                ("whole arrays", "/v1/jobs?arrays=whole&limit=100"),
                ("sorted by cost, running", "/v1/jobs?sort=cost&state=running&limit=100"),
                ("sorted by start, queued", "/v1/jobs?sort=started&state=queued&limit=100"),
                ("sorted by cost, user", "/v1/jobs?sort=cost&user=user7&limit=100"),
                ("sorted by cost, all", "/v1/jobs?sort=cost&limit=100"),
                ("sorted by energy, a week", f"/v1/jobs?sort=energy&since={day_text(7)}&limit=100"),
                ("helio show, 30 days old", f"/v1/jobs/{mid}"),
                ("helio show, 300 days old", f"/v1/jobs/{old}"),
                ("helio show, by its end", f"/v1/jobs/{old[-8:]}"),
                ("helio explain, 300 days old", f"/v1/jobs/{old}/explain"),
                ("helio report, a day", "/v1/report?days=1"),
                ("helio report, 30 days", "/v1/report?days=30"),
                ("helio report, 365 days", "/v1/report?days=365"),
                ("balance, 7 days", "/v1/balance?days=7"),
                ("queues", "/v1/queues"), ("order of 20,000 that wait", "/v1/order"), ("quotas", "/v1/quotas"), ("tenants", "/v1/tenants"), ("sites", "/v1/sites"),
                ("history, 24 hours", "/v1/history"), ("history, 7 days", "/v1/history?hours=168"),
                ("history of a site", "/v1/history?site=site1"), ("forecast of a site", "/v1/sites/site1/forecast"), ("audit", "/v1/audit"), ("metrics", "/metrics")):
            if self.args.match and not re.search(self.args.match, what):
                continue
            if path == "/metrics":
                began = time.monotonic()
                request = urllib.request.Request(f"http://127.0.0.1:{self.http}/metrics", headers={"Authorization": "Bearer " + self.token})
                urllib.request.urlopen(request, timeout=300).read()
                took, answer = time.monotonic() - began, None
            else:
                took, answer = self.get(path)
            if path != "/metrics" and took < 2:
                took = min(took, self.get(path)[0])
            trouble = f"  ({answer['error']})" if isinstance(answer, dict) and "error" in answer else ""
            print(f"  {what:32} {took * 1000:10.1f} ms{trouble}", flush=True)

    def measure_views(self):
        big = set(self.sql(f"select relname from pg_class where relkind = 'r' and reltuples >= {BIG_ROWS}").splitlines())
        columns = dict(line.split("|") for line in self.sql(
            "select c.relname, string_agg(a.attname, ',') from pg_class c join pg_attribute a on a.attrelid = c.oid "
            "where c.relnamespace = 'helio_report'::regnamespace and a.attnum > 0 group by 1 order by 1").splitlines())
        for view, names in columns.items():
            if self.args.match and not re.search(self.args.match, view):
                continue
            names = names.split(",")
            range_on = next((name for name in ("submitted_at", "issued_at", "time") if name in names), None)
            if view == "forecast_latest":
                range_on = "time"
            for days in (1, 30) if range_on else (0,):
                where = f" where {range_on} >= now() - interval '{days} days'" if days else ""
                query = f"set statement_timeout = '120s'; set jit = off; explain (analyze, format json) select * from helio_report.{view}{where}"
                done = subprocess.run(["psql", "-qXAt", self.conninfo, "-c", query], text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
                if done.returncode:
                    print(f"  {view:32} {days:3} days  {done.stderr.strip().splitlines()[0]}", flush=True)
                    continue
                plan = json.loads(done.stdout)[0]
                read = sorted(set(whole(plan["Plan"], big)))
                print(f"  {view:32} {days:3} days {plan['Execution Time']:10.1f} ms {plan['Plan']['Actual Rows']:8} rows"
                      + ("  reads all of " + ", ".join(read) if read else ""), flush=True)

    def measure_boards(self):
        boards.measure(self.sql, self.conninfo, self.args.runs, self.args.match, DENSE_DAYS if self.args.like else 330,
                       self.args.processor)

    def measure_submit(self):
        self.submit(2, 1000, 1)
        rates = [self.submit(2, 1000, 1) for _ in range(7)]
        print(f"submit, 1,000 a call: {statistics.median(rates):,.0f}/s [{min(rates):,.0f}..{max(rates):,.0f}]")
        rates = [self.submit(64, 1, 3) for _ in range(2)]
        print(f"submit, one a call, 64: {statistics.median(rates):,.0f}/s [{min(rates):,.0f}..{max(rates):,.0f}]", flush=True)


def day_text(days):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * 86400))


def whole(node, big):
    """The large tables that a plan scans completely."""
    if node["Node Type"] == "Seq Scan" and node["Relation Name"] in big:
        yield node["Relation Name"]
    if node["Node Type"].startswith("Index") and "Index Cond" not in node and node.get("Relation Name") in big \
            and node["Actual Rows"] * node["Actual Loops"] >= BIG_ROWS:
        yield node["Relation Name"] + " (by index)"
    for child in node.get("Plans", []):
        yield from whole(child, big)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--jobs", type=int, default=5000000)
    args.add_argument("--like", type=int, help="as many in a year as the last 60 days stand for")
    args.add_argument("--sites", type=int, default=12)
    args.add_argument("--open", type=int, default=20000)
    args.add_argument("--days", type=int, default=365, help="of samples and series")
    args.add_argument("--old-open", type=int, default=1)
    args.add_argument("--dir")
    args.add_argument("--keep", action="store_true")
    args.add_argument("--match", help="reads and views whose name fits")
    args.add_argument("--runs", type=int, default=9, help="of each dashboard query")
    args.add_argument("--processor", action="store_true", help="of a processor, where dashboard queries else show elapsed time")
    args.add_argument("--only", default="start,reads,views,boards,submit")
    args = args.parse_args()
    args.build = os.path.abspath(args.build)
    years = Years(args)
    try:
        if os.path.exists(years.pg + "/data"):
            years.configure()
            out(years.tool, "migrate", "--config", years.conf)
        else:
            years.make()
        wanted = args.only.split(",")
        if "start" in wanted:
            years.measure_start()
        elif "reads" in wanted or "submit" in wanted:
            years.start()
        for what in ("reads", "views", "boards", "submit"):
            if what in wanted:
                getattr(years, "measure_" + what)()
    finally:
        years.down()


if __name__ == "__main__":
    main()
