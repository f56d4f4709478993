"""The federation of a chaos campaign: two brokers, three sites and PostgreSQL, each on a machine of its own, and what a
machine does by itself: a daemon that ends is started again, as systemd would."""
import glob, os, shutil, signal, subprocess, time

import hosts
from federation import run

BROKERS, DATABASE, TWIN = ("broker-a", "broker-b"), "postgres", "twin"
NODES, GPUS = 2, 16  # of each site
LEASE_S, SILENT_S = 20, 8
RESTART_S = 1        # from the end of a daemon to its next start
TENANTS = ("demo", "small", "poor")
QUOTA_GPUS, BUDGET_GPU_H = 4, 0.05  # of `small`, at once; of `poor`, in a month

# Who wrote each batch, as the database saw it: in a schema outside of the product.
WATCH = """
create schema chaos;
create table chaos.batches (seq bigserial, epoch bigint, writer text);
create function chaos.note() returns trigger language plpgsql security definer as $$
begin
    insert into chaos.batches (epoch, writer) values (new.broker_epoch, host(inet_client_addr()));
    return null;
end $$;
create trigger note after update on helio.federation for each row execute function chaos.note();
"""


def now():
    """Seconds since boot: the clock of the jobs' records."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Site(hosts.Site):
    nodes = NODES

    def agent_keys(self, federation):
        return super().agent_keys(federation) + "  grace: 3s\n  kill_margin: 5s\n"


class World(hosts.Hosts):
    brokers = BROKERS

    def __init__(self, build, folder):
        sites = [Site("north", 2.0), Site("south", 2.1, clock=True), Site("east", 2.2, disk="64m")]
        super().__init__(build, folder, sites, tenants=TENANTS, network=True, machines=(*BROKERS, DATABASE, TWIN),
                         disk="320m", clock=True, settings=f"lease: {LEASE_S}s\nsilent_after: {SILENT_S}s\n")
        self.due = {}    # daemon -> when it starts again
        self.off = set()  # daemons that a fault keeps from running
        self.exits = []  # (daemon, status, when): ends that no fault asked for
        self.tokens = {}
        self.began = 0

    def clock_of(self, name):  # the other broker has the true time
        return None if name == BROKERS[0] else super().clock_of(name)

    def start_database(self):
        os.environ["HELIO_PGCONF"] = "listen_addresses = '*'\nmax_wal_size = 64MB\nmin_wal_size = 32MB"
        here, _ = super().start_database()
        with open(os.path.join(self.pg, "data", "pg_hba.conf"), "a") as rules:
            rules.write("host all all 10.99.0.0/24 trust\n")
        run("psql", "-qXAt", here, "-c", "select pg_reload_conf()")
        return here, f"host={self.address(DATABASE)} port=5432 user=postgres dbname=postgres"

    def up(self):
        super().up()
        run("psql", "-qX", self.database, "-c", WATCH)
        for tenant in TENANTS:
            self.helio("tenants", "set", tenant)
            self.tokens[tenant] = self.helio("token", "add", "--tenant", tenant, "--user", tenant, "--role", "admin").stdout.split()[-1]
        for broker in BROKERS:  # a follower learns of new tokens within a moment
            self.wait_for(lambda: all(self.knows(broker, tenant) for tenant in TENANTS), 30, f"{broker} does not know the tokens")
        self.helio("quota", "set", "small", "--burst", str(QUOTA_GPUS))
        self.helio("quota", "set", "poor", "--budget", f"{BUDGET_GPU_H} gpu-h/month")
        self.make_twin()
        self.began = now()

    def knows(self, broker, tenant):
        env = dict(self.env, HELIO_BROKER=self.urls[broker], HELIO_TOKEN=self.tokens[tenant])
        return subprocess.run([self.tool("helio"), "sites"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def down(self):
        super().down()
        for pid in list(self.strays()):  # what a campaign that failed has left behind
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    # ---- its processes

    def tend(self):
        """Starts what is due, and what ended by itself."""
        for name, process in list(self.procs.items()):
            if name in self.off:
                continue
            if name in self.due:
                if now() >= self.due[name]:
                    del self.due[name]
                    self.start(name)
            elif process.poll() is not None:
                self.exits.append((name, process.returncode, now()))
                self.due[name] = now() + RESTART_S

    def kill(self, name):
        if name != DATABASE:
            self.off.add(name)
            self.due.pop(name, None)
            if self.procs[name].poll() is not None:
                return
        elif self.ended(name):
            return
        super().kill(name)

    def revive(self, name):
        self.off.discard(name)
        super().revive(name)

    def leader(self):
        """The broker that holds the lock; None = none, or the database does not say."""
        rows = self.sql("select host(a.client_addr) from pg_locks l join pg_stat_activity a using (pid) "
                        "where l.locktype = 'advisory' and l.granted", 1) or []
        return next((name for name in BROKERS for row in rows if row[0] == self.address(name)), None)

    def strays(self):
        """Processes of jobs that still run."""
        mark = f"TRUTH={self.records}".encode()
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                if mark in open(folder + "/environ", "rb").read().split(b"\0"):
                    yield int(folder[6:])
            except OSError:
                pass

    # ---- the state of an agent

    def state(self, site):
        return self.path(site, "state")

    def empty_state(self, site):
        """Again until it is empty: shims that run write files meanwhile."""
        end = now() + 10
        while entries := list(os.scandir(self.state(site))):
            for entry in entries:
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry.path, ignore_errors=now() < end)
                else:
                    os.unlink(entry.path)

    def copy_state(self, site):
        """A copy as of one moment: the agent stands still meanwhile."""
        pids = self.pause(site)
        try:
            shutil.rmtree(self.path("copy-" + site), ignore_errors=True)
            subprocess.run(["cp", "-a", self.state(site), self.path("copy-" + site)], check=False, stderr=subprocess.DEVNULL)
        finally:
            self.go_on(pids)

    def put_back_state(self, site):
        self.empty_state(site)
        run("cp", "-a", self.path("copy-" + site) + "/.", self.state(site))

    # ---- a second agent with the key of the first site, on a machine of its own

    def make_twin(self):
        site = self.sites[0].name
        os.mkdir(self.path(TWIN))
        with open(self.path(site, "site.yaml")) as conf:
            text = conf.read().replace(f"state_dir: {self.state(site)}", f"state_dir: {self.state(TWIN)}")
        self.commands[TWIN] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",  # it sees no other machine's processes
                               self.tool("helio-agent"), "--config", self.write(f"{TWIN}/site.yaml", text)]

    def remove_twin(self):
        self.kill(TWIN)
        shutil.rmtree(self.state(TWIN), ignore_errors=True)
