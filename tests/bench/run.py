#!/usr/bin/env python3
"""Measures rates, each as a ratio to the bare database on the same PostgreSQL in the same run. Asserts nothing.

    tests/bench/run.py --build BUILD_DIR [--rounds 3] [--seconds 5] [--only submit|batch|cycle]

The measurements, round by round, interleaved with the peer so that a noisy machine affects both:
  batch    POST /v1/jobs, 1,000 documents a call, 2 connections: jobs a second, durable  ÷ bare unnest of 1,000 rows (the same bytes)
  single   one document a call, 64 connections                                         ÷ bare one-row inserts on 64 connections, and pgbench -c 64
  cycle    submit → placed → ordered → accepted → ran → completed → charged, all durable, with agent doubles: jobs a second
The peer runs before and after, and the ratio is to the mean of both, so that a machine that slows down affects both; for
batches once for each second of a round. Each measurement begins with a checkpoint, on a server whose log files exist already
and whose buffers hold what a round writes: otherwise file creation and buffer writes would dominate. fsync is on.
Prints median [least..most], for ratios the quartiles too, and CPU seconds per 100,000 jobs or rows by process.
"""
import argparse, os, statistics, subprocess, sys, tempfile, time, shutil

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP + "/tests/faults")
from federation import free_port  # noqa: E402


SERVER = "shared_buffers = 1GB\nmin_wal_size = 2GB\nmax_wal_size = 8GB\ncheckpoint_timeout = 1h"
LOG_FILES = 48  # of 16 MB: more than a measurement writes


def out(*args, **kw):
    return subprocess.run(args, check=True, text=True, stdout=subprocess.PIPE, **kw).stdout


class Bed:
    """PostgreSQL, a migrated database, one broker, agent doubles."""

    def __init__(self, build, sites):
        self.dir = tempfile.mkdtemp(prefix="helio-bench-")
        os.chmod(self.dir, 0o755)
        self.build, self.procs = build, []
        self.conninfo = out(TOP + "/tests/postgres.sh", "up", self.dir + "/pg", env=os.environ | {"HELIO_PGCONF": SERVER}).strip()
        self.http, self.sites_port = free_port(), free_port()
        broker = build + "/helio-broker"
        key = out(broker, "keygen", self.dir + "/broker.key").split()[-1]
        conf = self.dir + "/broker.yaml"
        with open(conf, "w") as f:
            f.write(f'database: "{self.conninfo}"\nlisten_http: 127.0.0.1:{self.http}\n'
                    f"listen_sites: tcp://127.0.0.1:{self.sites_port}\nkey_file: {self.dir}/broker.key\n")
        out(broker, "migrate", "--config", conf)
        out(broker, "tenant", "add", "demo", "--config", conf)
        self.token = out(broker, "token", "add", "--tenant", "demo", "--user", "bench", "--role", "admin",
                         "--config", conf).split()[-1]
        doubles = []
        for i in range(sites):
            name = f"site{i}"
            pub = out(broker, "keygen", f"{self.dir}/{name}.key").split()[-1]
            out(broker, "site", "add", name, pub, "--config", conf)
            doubles.append(name + ":" + open(f"{self.dir}/{name}.key").read().strip())
        log = open(self.dir + "/broker.log", "w")
        self.make_log_files()
        self.procs.append(subprocess.Popen([broker, "run", "--config", conf], stderr=log, stdout=log))
        self.wait("readyz")
        self.doubles = [build + "/tests/bench/bench_agents", f"tcp://127.0.0.1:{self.sites_port}", key] + doubles

    def make_log_files(self):
        """Writes the log files once; they are then recycled, as on any server that has run for a while."""
        script = "select pg_logical_emit_message(false, '', ''); select pg_switch_wal();\n" * LOG_FILES
        out("psql", "-qXAt", self.conninfo, input=script)

    def wait(self, path):
        for _ in range(150):
            if subprocess.run(["curl", "-fs", "-o", "/dev/null", f"http://127.0.0.1:{self.http}/{path}"]).returncode == 0:
                return
            time.sleep(0.1)
        raise SystemExit("the broker is not ready; see " + self.dir + "/broker.log")

    def start_doubles(self):
        self.procs.append(subprocess.Popen(self.doubles))

    def sql(self, query):
        return out("psql", "-qXAt", self.conninfo, "-c", query).strip()

    def bare(self, kind, seconds, connections):
        return float(out(self.build + "/tests/bench/bench_bare", self.conninfo, kind, str(seconds), str(connections)))

    def pgbench(self, seconds, clients):
        script = self.dir + "/insert.sql"
        with open(script, "w") as f:
            f.write("insert into pgb (tenant, source) values ('demo', repeat('x', 400));\n")
        self.sql("drop table if exists pgb; create table pgb (id bigint generated always as identity primary key, "
                 "tenant text, source text)")
        text = out("pgbench", "-n", "-f", script, "-c", str(clients), "-j", "2", "-T", str(seconds), "-M", "prepared",
                   self.conninfo, stderr=subprocess.DEVNULL)
        return float(next(line.split()[2] for line in text.splitlines() if line.startswith("tps")))

    def submit(self, connections, per_call, amount):
        rate, p50, p99 = map(float, out(self.build + "/tests/bench/bench_submit", str(self.http), self.token,
                                        str(connections), str(per_call), str(amount)).split())
        return rate, p50, p99

    def done(self):
        return int(self.sql("select count(*) from helio.attempts where completes"))

    def down(self):
        for proc in reversed(self.procs):
            proc.terminate()
            proc.wait()
        subprocess.run([TOP + "/tests/postgres.sh", "down", self.dir + "/pg"])
        shutil.rmtree(self.dir)


def stat(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return int(fields[1]), [int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in fields[11:15]]


def cpu_seconds(bed):
    """CPU seconds of the broker, of PostgreSQL with its ended backends, and of the ended load generators."""
    postmaster = int(open(bed.dir + "/pg/data/postmaster.pid").readline())
    server = sum(stat(postmaster)[1])
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent, times = stat(pid)
        except OSError:
            continue  # just gone
        if parent == postmaster:
            server += sum(times[:2])
    load = os.times()
    return sum(stat(bed.procs[0].pid)[1][:2]), server, load.children_user + load.children_system


class Measure:
    """The rates of one measurement over the rounds, and their CPU seconds."""

    def __init__(self):
        self.rates, self.costs = [], []

    def take(self, bed, seconds, function):
        bed.sql("checkpoint")
        before = cpu_seconds(bed)
        rate = function()
        after = cpu_seconds(bed)
        self.rates.append(rate)
        self.costs.append([(b - a) / (rate * seconds) * 1e5 for a, b in zip(before, after)])
        return rate

    def cost(self):
        each = [statistics.median(of) for of in zip(*self.costs)]
        return f"CPU s per 100,000: broker {each[0]:.2f}, PostgreSQL {each[1]:.2f}, load {each[2]:.2f}"


def spread(values, unit="/s"):
    return f"{statistics.median(values):>9,.0f}{unit} [{min(values):,.0f}..{max(values):,.0f}]"


def beside(bed, seconds, measure, function, peer, peer_function, times=1):
    """The rates as ratios to the peer's rates before and after."""
    ratios = []
    before = peer.take(bed, seconds, peer_function)
    for _ in range(times):
        rate = measure.take(bed, seconds, function)
        after = peer.take(bed, seconds, peer_function)
        ratios.append(rate / ((before + after) / 2))
        before = after
    return ratios


def over_rounds(each):
    quartiles = statistics.quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3
    return f"x{statistics.median(each):.2f} [{min(each):.2f}..{max(each):.2f}], half within {quartiles[0]:.2f}..{quartiles[2]:.2f}"


def measure_submit(args):
    batch, bare, single, bare1, pgb = Measure(), Measure(), Measure(), Measure(), Measure()
    batch_ratios, single_ratios, latencies = [], [], []
    clients = 64 if args.clients is None else args.clients
    for _ in range(args.rounds):
        bed = Bed(args.build, 0)  # anew in each round: a tenant's queue is bounded
        try:
            batch_ratios += beside(bed, 1, batch, lambda: bed.submit(2, 1000, 1)[0],
                                   bare, lambda: bed.bare("unnest", 1, 1), times=args.seconds)
            if args.only == "batch":
                continue

            def one_a_call():
                rate, *latency = bed.submit(64, 1, args.seconds)
                latencies.append(latency)
                return rate

            single_ratios += beside(bed, args.seconds, single, one_a_call,
                                    bare1, lambda: bed.bare("single", args.seconds, clients))
            pgb.take(bed, args.seconds, lambda: bed.pgbench(args.seconds, 50))
        finally:
            bed.down()
    print("durable submit, 1,000 a call      ", spread(batch.rates), " ", batch.cost())
    print("  bare unnest of 1,000 rows       ", spread(bare.rates), " ", bare.cost())
    print("  ratio, round by round           ", over_rounds(batch_ratios), " ", " ".join(f"{r:.2f}" for r in batch_ratios))
    if args.only == "batch":
        return
    print("durable submit, one a call, 64    ", spread(single.rates), " ", single.cost(),
          f"  p50 {statistics.median(l[0] for l in latencies):.1f} ms, p99 {statistics.median(l[1] for l in latencies):.1f} ms")
    print("  bare one-row inserts            ", spread(bare1.rates), " ", bare1.cost())
    print("  ratio, round by round           ", over_rounds(single_ratios), " ", " ".join(f"{r:.2f}" for r in single_ratios))
    print("  pgbench one-row inserts, 50     ", spread(pgb.rates), "  ratio", over_rounds([a / b for a, b in zip(single.rates, pgb.rates)]))


def measure_cycle(args):
    rates, bare = [], []
    for _ in range(args.rounds):
        bed = Bed(args.build, args.sites)
        try:
            bare.append(bed.bare("unnest", args.seconds, 1))
            bed.start_doubles()
            time.sleep(2)
            total = args.jobs
            began = time.monotonic()
            bed.submit(2, 500, f"={total}")
            while bed.done() < total:
                time.sleep(0.1)
                if time.monotonic() - began > 300:
                    raise SystemExit(f"{bed.done()} of {total} jobs after 300 s")
            rates.append(total / (time.monotonic() - began))
            charged = bed.sql("select count(*) from helio.ledger")
            assert int(charged) >= total, charged
        finally:
            bed.down()
    print(f"end to end, {args.sites} sites, {args.jobs} jobs   ", spread(rates))
    print("  bare unnest of 1,000 rows       ", spread(bare), "  ratio", over_rounds([a / b for a, b in zip(rates, bare)]))


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--seconds", type=int, default=5)
    args.add_argument("--sites", type=int, default=4)
    args.add_argument("--jobs", type=int, default=40000)
    args.add_argument("--clients", type=int, default=None)
    args.add_argument("--only", choices=["submit", "batch", "cycle"])
    args = args.parse_args()
    args.build = os.path.abspath(args.build)
    print(f"{os.cpu_count()} cores, {out('psql', '--version').strip()}, load {os.getloadavg()[0]:.1f}, "
          f"{args.rounds} rounds of {args.seconds} s; median [least..most]")
    if args.only != "cycle":
        measure_submit(args)
    if args.only in (None, "cycle"):
        measure_cycle(args)


if __name__ == "__main__":
    main()
