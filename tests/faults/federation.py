"""A federation for campaigns: PostgreSQL, a broker and any number of sites in one folder, each of which can be killed
with SIGKILL, paused and restarted. Each kind of site is a class with the same few methods; all of them run
the same table of jobs (workload.py)."""
import collections, fcntl, glob, json, os, pwd, random, signal, socket, subprocess, sys, tempfile, time
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(TOP, "tests", "openapi"))
import exchanges  # noqa: E402


PORTS = range(24000, 32768)  # below are those of the Slurm lab (12000) and of unit tests (20000), above the kernel's own
reserved = []  # the locks of the ports that this process chose, held until it ends


def free_port():
    """A port that is free and that no other campaign chose. Campaigns run in parallel; a port is chosen seconds before
    its daemon binds it, and is free for a moment whenever that daemon is killed."""
    folder = os.path.join(tempfile.gettempdir(), f"helio-ports-{os.getuid()}")
    os.makedirs(folder, exist_ok=True)
    while True:
        port = random.choice(PORTS)
        lock = open(os.path.join(folder, str(port)), "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
            reserved.append(lock)
            return port
        except OSError:
            lock.close()


def check(good, complaint):
    """Ends the campaign with a sentence if a condition does not hold."""
    if not good:
        raise SystemExit(complaint)


def trainer(at, says=""):
    """A program that counts, saves its count in a file on USR1, and resumes from there. says: added to its first line."""
    return f"""
at={at}
step=$(cat "$at" 2>/dev/null || echo 0)
echo "from $step resume ${{HELIO_RESUME:-0}}{says}"
trap 'echo "$step" >"$at"; echo "saved $step"; exit 0' USR1
while [ "$step" -lt 100000 ]; do step=$((step + 1)); sleep 0.1; done
"""


def run(*args, **kw):
    done = subprocess.run(args, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    if done.returncode:
        raise SystemExit(f"{' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class LocalSite:
    """Processes of this machine, with declared GPUs."""
    kind = "local"
    nodes = 2
    place = "region: EU-SE\nlat: 60\nlon: 20\ntimezone: Europe/Stockholm\npue: 1.2\ncarbon_g_per_kwh: 30\n"

    def __init__(self, name, price):
        self.name, self.price = name, price

    def up(self, federation):
        self.attempts = federation.path(self.name, "state", "attempts")

    def site_keys(self):
        return (f"pools:\n  - {{name: h100, gpu: H100, memory: 80GB, nodes: {self.nodes}, gpus_per_node: 8, cpus_per_node: 64, "
                f"{OWNED}, price_usd_per_gpu_h: {self.price}}}\n")

    def agent_keys(self, federation):
        return f"  shim: {federation.tool('helio-shim')}\n"

    def leftovers(self):
        return []

    def down(self):
        pass


class SlurmSite(LocalSite):
    """One cluster of a lab of real Slurm clusters (deploy/slurm-lab), which all sites of the federation share."""
    kind = "slurm"

    def __init__(self, name, price, lab):
        super().__init__(name, price)
        self.lab = lab
        self.conf = os.path.join(lab, name, "slurm.conf")

    def up(self, federation):
        self.shared = federation.path(self.name, "shared")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o755)
        self.attempts = os.path.join(self.shared, "attempts")

    def site_keys(self):  # nodes, GPUs, CPUs and memory come from the cluster
        return f"pools:\n  - {{name: h100, gpu: H100, memory: 80GB, {OWNED}, price_usd_per_gpu_h: {self.price}}}\n"

    def agent_keys(self, federation):
        return (f"  shim: {federation.tool('helio-shim')}\n"
                f"  slurm:\n    shared: {self.shared}\n    conf: {self.conf}\n"
                f"    pools: [{{pool: h100, partition: main, gres: h100}}]\n")

    def slurm(self, *command):
        return run(*command, env=dict(os.environ, SLURM_CONF=self.conf))

    def cluster(self, *command):
        return run(TOP + "/deploy/slurm-lab/cluster.sh", self.lab, self.name, *command)

    def leftovers(self):
        """The federation's jobs that the cluster still holds; none at the end."""
        return [line for line in self.slurm("squeue", "--noheader", "--format=%i %T %j").splitlines() if "helio-" in line]


OWNED = "owned: true, power: {idle_w: 60, base_w: 86, slope_w: 243, host_w: 100}"


class Federation:
    """Subclasses can add settings of the broker, and define where processes run and machines listen."""
    settings = ""  # more lines of broker.yaml
    brokers = ("broker",)  # the first one leads; the others start with it and stand by
    judged = False  # what `helio` and the broker exchange is compared with docs/openapi.yaml at the end

    def __init__(self, build, folder, sites, tenants=("demo",)):
        self.build, self.dir, self.sites, self.tenants = os.path.abspath(build), folder, sites, tenants
        self.procs, self.starts, self.relay = {}, collections.Counter(), None
        os.chmod(folder, 0o755)
        self.pg = self.path("pg")
        self.job_user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        self.records = self.path("records")
        os.mkdir(self.records)
        os.chmod(self.records, 0o1777)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def tool(self, name):
        return os.path.join(self.build, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def address(self, name):
        """The address of the machine on which a daemon runs."""
        return "127.0.0.1"

    def dress(self, name, command):
        """The command that starts a daemon: on which machine, with which clock."""
        return command

    def postgres(self, word):
        """One of the commands of tests/postgres.sh, on the machine of the database."""
        return run(*self.dress("postgres", [TOP + "/tests/postgres.sh", word, self.pg])).strip()

    def start_database(self):
        """Makes the database; returns how this program connects to it, and how the brokers do."""
        here = self.postgres("up")
        return here, here

    def stop_database(self):
        subprocess.run([TOP + "/tests/postgres.sh", "down", self.pg], check=False)

    def up(self):
        self.database, of_brokers = self.start_database()
        broker = self.tool("helio-broker")
        broker_pub = run(broker, "keygen", self.path("broker.key")).split()[-1]
        self.urls, self.commands, endpoints = {}, {}, []
        for name in self.brokers:
            address, http, sites_port = self.address(name), free_port(), free_port()
            conf = self.write(f"{name}.yaml", f'database: "{of_brokers}"\nlisten_http: {address}:{http}\n'
                              f"listen_sites: tcp://{address}:{sites_port}\nkey_file: {self.path('broker.key')}\n"
                              f"{self.settings}")
            self.urls[name] = f"http://{address}:{http}"
            self.commands[name] = [broker, "run", "--config", conf]
            endpoints.append(f'"tcp://{address}:{sites_port}"')
        run(broker, "migrate", "--config", conf)
        run(broker, "tenant", "add", "demo", "--home", self.sites[0].name, "--config", conf)
        token = run(broker, "token", "add", "--tenant", "demo", "--user", "tester", "--role", "admin",
                    "--config", conf).split()[-1]
        self.env = dict(os.environ, HELIO_BROKER=self.urls[self.brokers[0]], HELIO_TOKEN=token, NO_COLOR="1")
        if self.judged:
            self.relay = exchanges.Relay(self.env["HELIO_BROKER"], self.path("exchanges"))
            self.env["HELIO_BROKER"] = self.relay.url
        users = ", ".join(f'{{tenant: {tenant}, user: "*", unix: {self.job_user}, shared: true}}' for tenant in self.tenants)
        for site in self.sites:
            os.mkdir(self.path(site.name))
            site.up(self)
            pub = run(self.tool("helio-agent"), "keygen", self.path(site.name, "agent.key")).split()[-1]
            run(broker, "site", "add", site.name, pub, "--config", conf)
            site_conf = self.write(f"{site.name}/site.yaml", f"""name: {site.name}
backend: {site.kind}
{site.place}{site.site_keys()}agent:
  state_dir: {self.path(site.name, 'state')}
  broker: [{", ".join(endpoints)}]
  broker_key: "{broker_pub}"
  key_file: {self.path(site.name, 'agent.key')}
  users: [{users}]
{site.agent_keys(self)}""")
            self.commands[site.name] = [self.tool("helio-agent"), "--config", site_conf]
        for name in self.commands:
            if name not in self.brokers[1:]:
                self.start(name)
        self.wait_ready()
        for name in self.brokers[1:]:
            self.start(name)

    def judge(self, *more):
        """The verdict of tests/openapi/judge.py on what went through the relay; without its packages it is skipped."""
        check(self.relay is not None, "nothing was written down")
        self.relay.close()
        if not exchanges.can_judge():
            print("SKIPPED: answers by docs/openapi.yaml: python3-jsonschema or python3-yaml is not installed (deploy/packages/clients.txt)")
            return
        done = subprocess.run([*exchanges.JUDGE, *more, self.relay.path], stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="")
        check(done.returncode == 0, f"answers are not as docs/openapi.yaml says; what was exchanged: {self.relay.path}")

    # ---- its processes

    def start(self, name):
        log = open(self.path(f"{name}.log"), "ab")
        self.procs[name] = subprocess.Popen(self.dress(name, self.commands[name]), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        self.starts[name] += 1

    def kill(self, name):
        if name == "postgres":
            self.postgres("kill")
        else:
            if self.procs[name].poll() is not None:
                raise SystemExit(f"{name} ended by itself; see {self.path(name + '.log')}")
            self.procs[name].send_signal(signal.SIGKILL)
            self.procs[name].wait()

    def revive(self, name):
        if name == "postgres":
            self.postgres("start")
        else:
            self.start(name)

    def wait_ready(self, seconds=60):
        ready = lambda: len([s for s in self.site_list() if s["state"] == "ready"]) == len(self.sites)
        try:
            self.wait_for(ready, seconds, "the federation is not ready")
        except SystemExit as end:
            raise SystemExit(f"{end}\n{self.last_words()}")

    def is_well(self, broker, role="leader"):
        """Whether a broker leads and is ready; with role "any" also whether it forwards to the one that leads."""
        try:
            with urllib.request.urlopen(f"{self.urls[broker]}/readyz?role={role}", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def metric(self, name, broker="broker"):
        """The sum of a metric over its labels."""
        asked = urllib.request.Request(f"{self.urls[broker]}/metrics", headers={"Authorization": f"Bearer {self.env['HELIO_TOKEN']}"})
        with urllib.request.urlopen(asked, timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.split("{")[0].split(" ")[0] == name)

    def log(self, name):
        """What a daemon has written so far."""
        with open(self.path(f"{name}.log"), errors="replace") as file:
            return file.read()

    def last_words(self):
        """The end of each daemon's log, and the exit of each daemon that ended."""
        said = ""
        for name, proc in self.procs.items():
            with open(self.path(f"{name}.log"), errors="replace") as log:
                said += f"--- {name}: {'runs' if proc.poll() is None else f'ended with {proc.returncode}'}\n"
                said += "".join(log.readlines()[-5:])
        return said

    def wait_for(self, what, seconds, complaint):
        deadline = time.monotonic() + seconds
        while not what():
            if time.monotonic() > deadline:
                raise SystemExit(f"{complaint} after {seconds} s; logs are in {self.dir}")
            time.sleep(0.2)

    def down(self):
        for proc in self.procs.values():
            if proc.poll() is None:
                proc.send_signal(signal.SIGCONT)
                proc.terminate()
        for proc in self.procs.values():
            try:
                proc.wait(20)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
        for pid in self.shims():  # they outlive their agents; their guardians end the jobs
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.stop_database()
        for site in self.sites:
            site.down()

    def shims(self):
        """pid -> folder of the shims of running attempts, without their guardians, and without ranks that are still to become the job."""
        found, parents = {}, {}
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                command = open(folder + "/cmdline").read().split("\0")
                name = open(folder + "/comm").read().strip()
                parent = int(open(folder + "/stat").read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            where = command[-2] if len(command) > 1 else ""
            if name == "helio-shim" and where.startswith(self.dir + os.sep):
                found[int(folder[6:])] = os.path.basename(where)
                parents[int(folder[6:])] = parent
        return {pid: where for pid, where in found.items() if parents[pid] not in found}

    # ---- its state

    def helio(self, *args, check=True, stdin=None):
        done = subprocess.run([self.tool("helio"), *args], text=True, env=self.env, input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if check and done.returncode:
            raise SystemExit(f"helio {' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def site_list(self):
        out = self.helio("sites", "-o", "json", check=False)
        return json.loads(out.stdout) if out.returncode == 0 else []

    def sql(self, query, seconds=None):
        """Rows as lists of texts; None while the database does not answer."""
        try:
            done = subprocess.run(["psql", "-qXAt", "-F", "\t", self.database, "-c", query], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return None if done.returncode else [line.split("\t") for line in done.stdout.splitlines()]

    def submit(self, docs, key):
        """One id for each document; repeated with the same idempotency key until the submission is accepted."""
        text = "".join(json.dumps(doc) + "\n" for doc in docs)
        for _ in range(60):
            out = self.helio("submit", "-", "-o", "name", "--idempotency-key", key, check=False, stdin=text)
            if out.returncode == 0:
                ids = out.stdout.split()
                if len(ids) != len(docs):
                    raise SystemExit(f"{len(docs)} documents gave {len(ids)} ids: {out.stderr}")
                return ids
            if out.returncode not in (7, 8, 1):
                raise SystemExit(f"submit: exit {out.returncode}: {out.stderr}")
            time.sleep(0.5)
        raise SystemExit("submit did not succeed: " + out.stderr)

    def submit_one(self, **doc):
        return self.helio("submit", "-", "-o", "name", stdin=json.dumps(doc)).stdout.split()[0]

    def look_up(self, key, column="state"):
        """A column of helio_report.jobs; None = no such job."""
        rows = self.sql(f"select {column} from helio_report.jobs where job_id = '{key}'")
        return rows[0][0] if rows else None

    def logs(self, key):
        return self.helio("logs", key, check=False).stdout

    def open_jobs(self):
        rows = self.sql("select count(*) from helio_report.jobs where state not in "
                        "('succeeded','failed','timeout','cancelled','lost')")
        return int(rows[0][0]) if rows else None
