#!/usr/bin/env python3
"""Kills broker, agents and PostgreSQL with SIGKILL, in turn, while jobs run, and then compares what the ledger says
with what the processes themselves wrote down.

    tests/faults/kill9.py --build BUILD_DIR [--jobs 500] [--seed 1] [--keep]

Every job appends to a file of its own: one line when it starts, one when it ends, with its own clock. The check:
every job is in the state and has the exit code that it must have; no (job, epoch) started twice and no job has two
epochs that both ran to their end; the ledger's GPU-seconds agree with the shim's record of every attempt within a second;
the site's views agree with the jobs' totals. Exit 0 only if all of it holds.
"""
import argparse, collections, glob, json, os, pwd, random, re, shutil, signal, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Lab:
    """PostgreSQL, a broker and two sites in one folder; knows how to kill and restart each of them."""

    def __init__(self, build, folder):
        self.build, self.dir = build, folder
        self.procs = {}
        self.starts = collections.Counter()
        os.chmod(folder, 0o755)
        self.job_user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        self.records = os.path.join(folder, "records")
        os.mkdir(self.records)
        os.chmod(self.records, 0o1777)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def tool(self, name):
        return os.path.join(self.build, name)

    def run(self, *args, **kw):
        return subprocess.run(args, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw).stdout

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w") as f:
            f.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def up(self):
        self.database = self.run(TOP + "/tests/postgres.sh", "up", self.path("pg")).strip()
        self.http = free_port()
        self.sites_port = free_port()
        self.run(self.tool("helio-broker"), "keygen", self.path("broker.key"))
        broker_pub = self.run(self.tool("helio-broker"), "keygen", self.path("unused.key"))  # shape check only
        assert broker_pub.strip(), "keygen prints the public key"
        os.remove(self.path("broker.key"))
        broker_pub = self.run(self.tool("helio-broker"), "keygen", self.path("broker.key")).split()[-1]
        conf = self.write("broker.yaml", f'database: "{self.database}"\nlisten_http: 127.0.0.1:{self.http}\n'
                          f"listen_sites: tcp://127.0.0.1:{self.sites_port}\nkey_file: {self.path('broker.key')}\n")
        broker = self.tool("helio-broker")
        self.run(broker, "migrate", "--config", conf)
        self.run(broker, "tenant", "add", "demo", "--home", "north", "--config", conf)
        token = self.run(broker, "token", "add", "--tenant", "demo", "--user", "tester", "--role", "admin",
                         "--config", conf).split()[-1]
        self.env = dict(os.environ, HELIO_BROKER=f"http://127.0.0.1:{self.http}", HELIO_TOKEN=token, NO_COLOR="1")
        self.commands = {"broker": [broker, "run", "--config", conf]}
        for site, price, nodes in (("north", 2.9, 4), ("south", 2.1, 4)):
            os.mkdir(self.path(site))
            pub = self.run(self.tool("helio-agent"), "keygen", self.path(site, "agent.key")).split()[-1]
            self.run(broker, "site", "add", site, pub, "--config", conf)
            site_conf = self.write(f"{site}/site.yaml", f"""name: {site}
backend: local
region: EU-SE
lat: 60
lon: 20
timezone: Europe/Stockholm
pue: 1.2
carbon_g_per_kwh: 30
pools:
  - {{name: h100, gpu: H100, memory: 80GB, nodes: {nodes}, gpus_per_node: 4, cpus_per_node: 64, owned: true, price_usd_per_gpu_h: {price},
     power: {{idle_w: 60, base_w: 86, slope_w: 243, host_w: 100}}}}
agent:
  state_dir: {self.path(site, 'state')}
  broker: ["tcp://127.0.0.1:{self.sites_port}"]
  broker_key: "{broker_pub}"
  key_file: {self.path(site, 'agent.key')}
  shim: {self.tool('helio-shim')}
  users: [{{tenant: demo, user: "*", unix: {self.job_user}}}]
""")
            self.commands[site] = [self.tool("helio-agent"), "--config", site_conf]
        for name in self.commands:
            self.start(name)
        self.wait_ready()

    def start(self, name):
        log = open(self.path(f"{name}.log"), "ab")
        self.procs[name] = subprocess.Popen(self.commands[name], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        self.starts[name] += 1

    def kill(self, name):
        if name == "postgres":
            self.run(TOP + "/tests/postgres.sh", "kill", self.path("pg"))
        else:
            assert self.procs[name].poll() is None, f"{name} ended by itself; see {self.path(name + '.log')}"
            self.procs[name].send_signal(signal.SIGKILL)
            self.procs[name].wait()

    def revive(self, name):
        if name == "postgres":
            self.run(TOP + "/tests/postgres.sh", "start", self.path("pg"))
        else:
            self.start(name)

    def wait_ready(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            out = self.helio("sites", "-o", "json", check=False)
            if out.returncode == 0 and sum(s["state"] == "ready" for s in json.loads(out.stdout)) == 2:
                return
            time.sleep(0.2)
        raise SystemExit("the federation is not ready after 60 s; logs are in " + self.dir)

    def helio(self, *args, check=True, stdin=None):
        return subprocess.run([self.tool("helio"), *args], check=check, text=True, env=self.env, input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def sql(self, query):
        out = self.run("psql", "-qXAt", "-F", "\t", self.database, "-c", query)
        return [line.split("\t") for line in out.splitlines()]

    def down(self):
        for name, proc in self.procs.items():
            if proc.poll() is None:
                proc.terminate()
        for proc in self.procs.values():
            try:
                proc.wait(20)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
        subprocess.run([TOP + "/tests/postgres.sh", "down", self.path("pg")], check=False)


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def body(records, seconds, code):
    """A program that notes its own beginning and end, and survives nothing: it is what the ledger is compared with."""
    return (f"note() {{ echo \"$1 $HELIO_EPOCH $HELIO_NODE_RANK $(date +%s.%N) $HELIO_GPUS\" >> {records}/$HELIO_JOB_ID${{HELIO_ARRAY_INDEX:+.$HELIO_ARRAY_INDEX}}; }}; "
            f"note start; sleep {seconds}; note end; exit {code}")


def make_jobs(count, rng, records):
    """(document, expected state, expected exit code, cancel?, tasks) in the proportions of a mixed morning."""
    jobs, made = [], 0
    while made < count:
        kind = rng.choices(["single", "gang", "array", "fail", "retry", "cancel", "timeout", "cpu"],
                           [40, 12, 4, 10, 4, 10, 6, 14])[0]
        seconds = round(rng.uniform(0.2, 6), 1)
        doc = {"name": f"{kind}-{made}", "gpu": "H100:1", "time": "5m"}
        state, code, cancel, tasks = "succeeded", 0, False, 1
        if kind == "gang":
            doc["gpu"] = "H100:4"
        elif kind == "array":
            tasks = rng.randint(3, 8)
            doc["array"] = f"0-{tasks - 1}%{rng.randint(1, 4)}"
        elif kind == "fail":
            state, code = "failed", rng.randint(1, 100)
        elif kind == "retry":
            doc["retries"] = 1
            state, code = "failed", 7
        elif kind == "cancel":
            seconds, state, code, cancel = 600, "cancelled", 130, True
        elif kind == "timeout":
            seconds, state, code = 600, "timeout", 124
            doc["time"] = "2s"
        elif kind == "cpu":
            del doc["gpu"]
            doc["cpus"] = 1
        doc["run"] = body(records, seconds, code if kind in ("fail", "retry") else 0)
        jobs.append((doc, state, code, cancel, tasks, kind))
        made += tasks
    return jobs


def drive(lab, jobs, rng, kills):
    """Submits everything, cancels what is to be cancelled, and kills in turn until all is over."""
    ids, cancels = [], []
    victims = ["broker", "north", "south", "postgres"]
    killed = collections.Counter()
    lines = [json.dumps(doc) for doc, *_ in jobs]
    for start in range(0, len(lines), 50):  # idempotency keys: a submission may be repeated after a crash
        for attempt in range(60):
            out = lab.helio("submit", "-", "-o", "name", "--idempotency-key", f"part-{start}", check=False,
                            stdin="\n".join(lines[start:start + 50]) + "\n")
            if out.returncode == 0:
                break
            if out.returncode not in (7, 8, 1):
                raise SystemExit(f"submit: exit {out.returncode}: {out.stderr}")
            time.sleep(0.5)
        else:
            raise SystemExit("submit did not succeed: " + out.stderr)
        got = out.stdout.split()
        assert len(got) == len(lines[start:start + 50]), (len(got), out.stdout, out.stderr)
        ids += got
        if start == 100:
            lab.kill("broker"); killed["broker"] += 1
            time.sleep(0.3)
            lab.revive("broker")
    assert len(set(ids)) == len(jobs), "ids are not distinct"
    cancels = [i for i, job in zip(ids, jobs) if job[3]]
    rng.shuffle(cancels)
    last, turn, began = time.monotonic(), 0, time.monotonic()
    while True:
        open_jobs = None
        try:
            open_jobs = int(lab.sql("select count(*) from helio_report.jobs where state not in "
                                    "('succeeded','failed','timeout','cancelled','lost')")[0][0])
        except subprocess.CalledProcessError:
            pass  # PostgreSQL was just killed
        for _ in range(min(3, len(cancels))):
            out = lab.helio("cancel", cancels[-1], check=False)
            if out.returncode == 0:
                cancels.pop()
        if open_jobs == 0 and not cancels:
            break
        if time.monotonic() - began > 900:
            raise SystemExit(f"{open_jobs} jobs are not over after 15 minutes; logs are in {lab.dir}")
        if turn < kills and time.monotonic() - last > 2.5:
            name = victims[turn % len(victims)]
            lab.kill(name); killed[name] += 1
            time.sleep(rng.uniform(0.1, 1.5))
            lab.revive(name)
            turn += 1
            last = time.monotonic()
        time.sleep(0.3)
    return ids, killed


def check(lab, ids, jobs):
    faults = []
    rows = {r[0]: r[1:] for r in lab.sql("select job_id, state, coalesce(exit_code,-1), attempts, coalesce(gpu_seconds,0), "
                                         "gpus from helio_report.jobs")}
    want = {}
    for job_id, (doc, state, code, cancel, tasks, kind) in zip(ids, jobs):
        for key in ([job_id] if tasks == 1 and "array" not in doc else [f"{job_id}.{t}" for t in range(tasks)]):
            want[key] = (state, code, kind)
    if set(rows) != set(want):
        faults.append(f"{len(set(want) - set(rows))} jobs are missing, {len(set(rows) - set(want))} are unknown")
    for key, (state, code, kind) in want.items():
        row = rows.get(key)
        if row and (row[0] != state or int(row[1]) != code):
            faults.append(f"{key} ({kind}): {row[0]} with exit code {row[1]}, expected {state} with {code}")
    # no (job, epoch) began twice; at most one epoch of a job ran to its own end, unless it failed and was retried
    for path in glob.glob(lab.records + "/*"):
        key = os.path.basename(path)
        starts, ends = collections.Counter(), collections.Counter()
        for line in open(path):
            what, epoch = line.split()[:2]
            (starts if what == "start" else ends)[int(epoch)] += 1
        for epoch, n in starts.items():
            if n > 1:
                faults.append(f"{key}: epoch {epoch} started {n} times")
        if len(ends) > (2 if want.get(key, ("", 0, ""))[2] == "retry" else 1):
            faults.append(f"{key}: epochs {sorted(ends)} all ran to their end")
    # the ledger against the shims' own records, attempt by attempt
    ledger = {(r[0], int(r[1])): float(r[2]) for r in lab.sql(
        "select helio.job_text(job_id, task), epoch, sum(gpu_ms) / 1000.0 from helio.ledger group by 1, 2")}
    shims = read_shims(lab)
    gpus = {key: float(row[4] or 0) for key, row in rows.items()}
    compared, worst = 0, 0.0
    for (key, epoch), run_s in shims.items():
        mine = run_s * gpus.get(key, 0)
        booked = ledger.pop((key, epoch), 0.0)
        compared += 1
        per_gpu = abs(mine - booked) / max(gpus.get(key, 0), 1)
        worst = max(worst, per_gpu)
        if per_gpu > 1.0:
            faults.append(f"{key} epoch {epoch}: ran {mine:.1f} GPU-seconds, booked {booked:.1f}")
    for (key, epoch), booked in ledger.items():
        faults.append(f"{key} epoch {epoch}: {booked:.1f} GPU-seconds booked, but no process wrote of it")
    # and against what the programs themselves wrote down, with their own clock
    attempts = {(r[0], int(r[1])): int(r[2]) / 1000 for r in lab.sql(
        "select helio.job_text(job_id, task), epoch, run_ms from helio.attempts")}
    for key, notes in read_notes(lab).items():
        for epoch, (start, end) in notes.items():
            if start and end and abs((end - start) - attempts.get((key, epoch), 0)) > 1.0:
                faults.append(f"{key} epoch {epoch}: its program ran {end - start:.1f} s, "
                              f"recorded are {attempts.get((key, epoch), 0):.1f} s")
    total = lab.sql("select count(*), count(distinct (job_id, task)) from helio.attempts where completes")[0]
    if total[0] != total[1]:
        faults.append(f"{total[0]} completions of {total[1]} jobs")
    return faults, compared, worst


def read_notes(lab):
    """job -> epoch -> [first start, last end] as the program itself noted them."""
    found = collections.defaultdict(dict)
    for path in glob.glob(lab.records + "/*"):
        for line in open(path):
            what, epoch, _, at = line.split()[:4]
            entry = found[os.path.basename(path)].setdefault(int(epoch), [None, None])
            if what == "start":
                entry[0] = min(entry[0] or float(at), float(at))
            else:
                entry[1] = max(entry[1] or 0, float(at))
    return found


def read_shims(lab):
    """(job, epoch) -> seconds that it ran, from the `done` file of every attempt directory of both sites."""
    found = {}
    for done in glob.glob(lab.path("*", "state", "attempts", "*", "done")):
        name = os.path.basename(os.path.dirname(done))
        m = re.fullmatch(r"helio-([0-9a-z]{26})(?:-(\d+))?-(\d+)", name)
        assert m, name
        key = m[1] + (f".{m[2]}" if m[2] is not None else "")
        fields = dict(line.strip().split("=", 1) for line in open(done) if "=" in line)
        found[(key, int(m[3]))] = int(fields["run_ms"]) / 1000
    return found


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--jobs", type=int, default=500)
    args.add_argument("--kills", type=int, default=12)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    rng = random.Random(args.seed)
    folder = tempfile.mkdtemp(prefix="helio-kill9-")
    lab = Lab(os.path.abspath(args.build), folder)
    ok = False
    try:
        lab.up()
        jobs = make_jobs(args.jobs, rng, lab.records)
        began = time.monotonic()
        ids, killed = drive(lab, jobs, rng, args.kills)
        faults, compared, worst = check(lab, ids, jobs)
        for fault in faults[:40]:
            print("FAULT", fault)
        tasks = sum(job[4] for job in jobs)
        print(f"{tasks} jobs in {time.monotonic() - began:.0f} s, killed -9: "
              + ", ".join(f"{n} {name}" for name, n in sorted(killed.items()))
              + f"; {compared} attempts compared with the ledger, worst {worst:.3f} s; {len(faults)} faults (seed {args.seed})")
        ok = not faults
    finally:
        lab.down()
        if ok and not args.keep:
            shutil.rmtree(folder)
        else:
            print("everything is kept in", folder)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
