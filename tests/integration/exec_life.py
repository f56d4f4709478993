#!/usr/bin/env python3
"""A federation whose sites are other engines behind adapters (deploy/adapters): a real Grid Engine cell, and a host behind a real
sshd on loopback that shares no folder with the agent's machine. One table of scenarios runs on both at once. No attempt runs twice.
  tests/integration/exec_life.py --build BUILD_DIR [--only NAME]"""
import argparse, collections, os, shlex, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import OWNED, TOP, Federation, LocalSite, check, free_port, run  # noqa: E402

LAB = TOP + "/deploy/gridengine-lab"


class ExecSite(LocalSite):
    """An engine behind an adapter. While the file `spoil` exists, a run of the adapter is killed after the seconds in it."""
    kind = "exec"
    carries = False

    def prepare(self, federation):
        self.folder = federation.path(self.name, "folder")
        self.spoil = federation.path(self.name, "spoil")
        self.attempts = os.path.join(self.folder, "attempts")
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o755)
        self.wrapper = federation.write(f"{self.name}/adapter", f'#!/bin/sh\n[ ! -e {self.spoil} ] || exec timeout -s KILL "$(cat {self.spoil})" "$@"\nexec "$@"\n')
        os.chmod(self.wrapper, 0o755)

    def site_keys(self):
        return f"pools:\n  - {{name: pool, gpu: H100, memory: 80GB, nodes: 1, gpus_per_node: 8, {OWNED}, price_usd_per_gpu_h: {self.price}}}\n"

    def agent_keys(self, federation):
        words = ", ".join(f'"{word}"' for word in [self.wrapper] + self.command())
        return (f"  shim: {federation.tool('helio-shim')}\n  kill_margin: 5s\n  exec:\n    command: [{words}]\n    folder: {self.folder}\n"
                f"    carries: {'true' if self.carries else 'false'}\n    poll: 500ms\n    timeout: 10s\n    prolog: 5s\n"
                '  containers: command\n  container_command: [/usr/bin/env, "IMAGE={image}", "{program}"]\n')


class GridEngineSite(ExecSite):
    kind_of = "gridengine"

    @staticmethod
    def missing():
        return ("needs root" if os.getuid() else "" if all(shutil.which(one) for one in ("qsub", "qconf", "gcc"))
                else "Grid Engine is not installed; deploy/packages/install.sh gridengine")

    def up(self, federation):
        self.prepare(federation)
        self.lab = federation.path("cell")
        run(LAB + "/up.sh", self.lab)
        with open(self.lab + "/env", encoding="utf-8") as file:
            self.settings = shlex.split(file.read())[1:]
        self.env = dict(os.environ, **dict(word.split("=", 1) for word in self.settings), PATH="/usr/lib/gridengine:/usr/bin:/bin")

    def command(self):
        return ["env"] + self.settings + ["PATH=" + self.env["PATH"], TOP + "/deploy/adapters/gridengine"]

    def call(self, *argv):
        return subprocess.run(argv, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout

    def pids(self):
        with open(self.lab + "/pids", encoding="utf-8") as file:
            return [int(line.split()[0]) for line in file if "qmaster" in line]

    def leftovers(self):
        return [line for line in self.call("qstat", "-u", "*").splitlines() if "helio-" in line]

    def down(self):
        run(LAB + "/down.sh", self.lab)


class SshSite(ExecSite):
    """The host is another mount namespace: at the path of the attempts' folder it has a folder of its own."""
    kind_of = "ssh"
    carries = True

    @staticmethod
    def missing():
        if os.getuid() or not shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin"):
            return "needs root" if os.getuid() else "sshd is not installed; deploy/packages/install.sh ssh"
        works = subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0
        return "" if works else "no mount namespace can be made here"

    def up(self, federation):
        self.prepare(federation)
        home = federation.path(self.name, "ssh")
        self.host, self.port = federation.path(self.name, "host"), free_port()
        for folder in (home, self.host):
            os.mkdir(folder)
            os.chmod(folder, 0o755)
        for key in ("hostkey", "key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{home}/{key}")
        config = federation.write(f"{self.name}/ssh/config", f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {home}/hostkey\nPidFile none\n"
                                  f"AuthorizedKeysFile {home}/key.pub\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\nMaxStartups 100\n")
        os.makedirs("/run/sshd", exist_ok=True)
        log = open(f"{home}/log", "ab")
        self.process = subprocess.Popen(["unshare", "-m", "sh", "-c", f"mount --bind {self.host} {self.folder} && exec /usr/sbin/sshd -D -e -f {config}"],
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        client = federation.write(f"{self.name}/ssh/client", f"Port {self.port}\nIdentityFile {home}/key\nBatchMode yes\nConnectTimeout 5\n"
                                  "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n")
        self.ssh = f"ssh -F {client}"
        reached = lambda: subprocess.run(self.ssh.split() + ["127.0.0.1", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0
        federation.wait_for(reached, 20, "sshd does not answer")

    def command(self):
        return [TOP + "/deploy/adapters/ssh", "127.0.0.1", "--gpus", "8", "--ssh", self.ssh]

    def pids(self):
        return [self.process.pid]

    def leftovers(self):
        folder = os.path.join(self.host, "attempts")
        return [name for name in os.listdir(folder) if name.startswith("helio-") and not os.path.exists(f"{folder}/{name}/done")
                and not os.path.exists(f"{self.host}/.kept/{name}/closed")]

    def down(self):
        self.process.terminate()
        self.process.wait(20)


class UnderLease(Federation):
    settings = "lease: 20s\n"


class World:
    def __init__(self, build, folder, sites):
        self.sites = sites
        self.federation = UnderLease(build, folder, sites)

    def submit(self, program, site, gpus=1, **more):
        """Each attempt says that it begins, in a file of its own name: two of one epoch are seen."""
        mark = f'echo begun >>{self.federation.records}/$HELIO_JOB_ID-$HELIO_EPOCH-${{HELIO_ARRAY_INDEX:-x}}; '
        return self.federation.submit_one(gpu=f"H100:{gpus}", time=more.pop("time", "10m"), run=mark + program, placement={"sites": [site.name]},
                                          **{"name": "job", **more})

    def on_all(self, program, **more):
        return [self.submit(program, site, **more) for site in self.sites]

    def state(self, job, column="state"):
        return self.federation.look_up(job, column)

    def until(self, jobs, *states, seconds=60):
        deadline = time.monotonic() + seconds
        for job in jobs:
            while self.state(job) not in states:
                if time.monotonic() > deadline:
                    raise SystemExit(f"{job} is {self.state(job)}, not {states}, after {seconds} s:\n"
                                     f"{self.federation.helio('explain', job, check=False).stdout}\n{self.federation.last_words()}")
                time.sleep(0.1)

    def once(self, jobs, parts=1):
        for job in jobs:
            found = {}
            for name in os.listdir(self.federation.records):
                if name.startswith(job):
                    with open(os.path.join(self.federation.records, name), encoding="utf-8") as file:
                        found[name] = len(file.readlines())
            check(sorted(found.values()) == [1] * parts, f"{job} has begun {found}, and not {parts} times once")

    def restart(self, forget=False):
        for site in self.sites:
            self.federation.kill(site.name)
            if forget:
                shutil.rmtree(self.federation.path(site.name, "state"))
        for site in self.sites:
            self.federation.start(site.name)


# ---- the scenarios

def plain(world):
    """Success, with output and variables; failure, with its code; charges."""
    good = world.on_all("echo $HELIO_GPUS of $HELIO_NODES; sleep 2", gpus=2)
    bad = world.on_all("exit 3")
    world.until(good, "succeeded")
    world.until(bad, "failed")
    for job in good:
        check(world.federation.logs(job) == "2 of 1\n", f"the log: {world.federation.logs(job)!r}")
        ran, charged = (float(world.state(job, column)) for column in ("run_seconds", "gpu_seconds"))
        check(1.9 < ran < 6 and abs(charged - 2 * ran) < 0.1, f"it ran {ran} s and is charged {charged} GPU seconds")
    for job in bad:
        check(world.state(job, "exit_code") == "3", f"exit code {world.state(job, 'exit_code')}")
    world.once(good + bad)


def array(world):
    jobs = world.on_all("exit $((HELIO_ARRAY_INDEX == 3))", array="1-6")
    world.federation.wait_for(lambda: world.federation.open_jobs() == 0, 60, "the arrays do not end")
    for job in jobs:
        ends = sorted(row[0] for row in world.federation.sql(f"select state from helio_report.jobs where job_id like '{job}.%'"))
        check(ends == ["failed"] + ["succeeded"] * 5, f"the tasks: {ends}")
    world.once(jobs, 6)


def image(world):
    """The site's command stands for a runtime: the nodes run it around the job's program."""
    jobs = world.on_all("echo in $IMAGE", image="registry/train:1")
    world.until(jobs, "succeeded")
    for job in jobs:
        check(world.federation.logs(job) == "in registry/train:1\n", f"the log: {world.federation.logs(job)!r}")


def limit(world):
    jobs = world.on_all("sleep 60", time="2s")
    world.until(jobs, "timeout")
    for job in jobs:
        check(world.state(job, "exit_code") == "124", f"exit code {world.state(job, 'exit_code')}")


def cancel(world):
    """A job that runs gets its signal and its grace."""
    jobs = world.on_all("trap 'echo saved; exit 0' TERM; echo began; sleep 60 & wait")
    world.until(jobs, "running")
    for job in jobs:
        world.federation.helio("cancel", job)
    world.until(jobs, "cancelled")
    for job in jobs:
        world.federation.wait_for(lambda: world.federation.logs(job) == "began\nsaved\n", 20, f"its output is {world.federation.logs(job)!r}")


def agent_killed(world):
    """kill -9 of the agent while one job runs, another ends, and a third is being submitted."""
    long, short = world.on_all("sleep 5; echo done"), world.on_all("sleep 1")
    world.until(long + short, "running", "succeeded")
    third = world.on_all("echo third")
    time.sleep(0.3)
    for site in world.sites:
        world.federation.kill(site.name)
    time.sleep(1.5)
    for site in world.sites:
        world.federation.start(site.name)
    world.until(long + short + third, "succeeded")
    world.once(long + short + third)
    for job in long:
        check(world.federation.logs(job) == "done\n", "the output after the restart is lost")


def agent_forgets(world):
    """kill -9, and a new agent without its journal: it finds what runs."""
    jobs = world.on_all("sleep 6; echo done")
    world.until(jobs, "running")
    world.restart(forget=True)
    world.until(jobs, "succeeded", seconds=90)
    world.once(jobs)


def adapter_killed(world):
    """kill -9 of the adapter in the midst of submissions: each outcome is unknown, and each job runs once."""
    jobs = []
    for seconds in ("0.04", "0.09", "0.15", "0.25"):
        for site in world.sites:
            with open(site.spoil, "w", encoding="utf-8") as file:
                file.write(seconds)
        jobs += world.on_all("sleep 1", gpus=2)
        time.sleep(1.2)
    for site in world.sites:
        os.unlink(site.spoil)
    world.until(jobs, "succeeded", seconds=90)
    world.once(jobs)


def engine_away(world):
    """The engine does not answer for a while: no end is reported of what runs, and it is found again."""
    jobs = world.on_all("sleep 6; echo done")
    world.until(jobs, "running")
    for site in world.sites:
        for pid in site.pids():
            os.kill(pid, 19)
    time.sleep(6)
    check(all(world.state(job) in ("running", "succeeded") for job in jobs), f"{[world.state(job) for job in jobs]} although nobody knows")
    for site in world.sites:
        for pid in site.pids():
            os.kill(pid, 18)
    world.until(jobs, "succeeded")
    world.once(jobs)


def orphan(world):
    """A job of this site's name that no folder and no journal knows is cancelled."""
    for site in world.sites:
        if site.kind_of == "gridengine":
            site.call("qsub", "-b", "y", "-o", "/dev/null", "-j", "y", "-N", f"helio-01k9x2m4q8r70000000000000a-1.{site.name}", "/bin/sleep", "600")
    for site in world.sites:
        world.federation.wait_for(lambda: not site.leftovers(), 40, f"{site.kind_of} still has {site.leftovers()}")


def lease(world):
    """There is no agent: the shim ends a job under a lease when the lease is over, and it runs again under a new one."""
    jobs = world.on_all("sleep 300", on_site_loss="lease")
    world.until(jobs, "running")
    for site in world.sites:
        world.federation.kill(site.name)
    world.federation.wait_for(lambda: not any(site.leftovers() for site in world.sites), 60, "a job outlives its lease")
    for site in world.sites:
        world.federation.start(site.name)
    for job in jobs:
        again = f"select count(*) from helio_report.job_transitions where job_id = '{job}' and to_state = 'running'"
        world.federation.wait_for(lambda: world.federation.sql(again) == [["2"]], 90, f"{job} does not run again")
        world.federation.helio("cancel", job)
    world.until(jobs, "cancelled")


def unclaimed(world):
    """A job removes what its shim has written, and its user renames and holds it at the engine: it is not over while it runs, and is charged
    by the engine's own times."""
    alive = lambda job: os.path.join(world.federation.records, "alive-" + job)
    last = lambda job: os.stat(alive(job)).st_mtime if os.path.exists(alive(job)) else 0
    jobs = world.on_all('cd "$(dirname "$HELIO_REPORT")"; rm -f claim started; trap "" TERM; while :; do : >"$R/alive-$HELIO_JOB_ID"; sleep 0.1; done'
                        .replace("$R", world.federation.records))
    world.federation.wait_for(lambda: all(last(job) for job in jobs), 60, "they do not begin")
    for site in (one for one in world.sites if one.kind_of == "gridengine"):
        for number in [line.split()[0] for line in site.leftovers()]:
            site.call("qalter", "-N", "other", number)
            site.call("qhold", number)
    began = time.time()
    world.federation.wait_for(lambda: min(last(job) for job in jobs) > began + 11, 60, "they do not run")
    for job in jobs:
        world.federation.helio("cancel", job)
    told = {}
    for job in jobs:
        world.until([job], "cancelled", seconds=60)
        told[job] = time.time()
    time.sleep(1)
    for job, site in zip(jobs, world.sites):
        check(last(job) < told[job] + 0.3, f"{site.kind_of}: it runs on for {last(job) - told[job]:.1f} s after its cancel was confirmed")
        if site.kind_of == "gridengine":
            check(float(world.state(job, "gpu_seconds")) > 2, f"it ran 11 s, and is charged {world.state(job, 'gpu_seconds')} GPU seconds")
        os.unlink(alive(job))


HOSTILE = r"""
cd FOLDER/attempts/helio-$HELIO_JOB_ID-$HELIO_EPOCH || exit 9
for name in .stop .claim stop closed_ms engine.log devices submitted owner; do rm -f $name; ln -s SECRET $name; done
printf '1 1 1 0\nATTEMPT helio-01k9x2m4q8r70000000000000b-1 runs 8 8 8 0\nFILE ../../outside 0 4 1\nEVIL' >asked
rm -f log; ln -s SECRET log; rm -f report; mkfifo report
printf 'pid=VICTIM\nstart_ticks=TICKS\nboot_id=x\nhost=x\nscheduler_id=x\n' >claim
: >laid; trap 'exit 0' TERM; sleep 60 & wait
"""


def hostile(world):
    """A job's user forges everything in the folder on the host: no file and no process of another is reached, and others' jobs go on."""
    for site in (one for one in world.sites if one.carries):
        secret = os.path.join(site.host, "secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("the secret of root\n")
        os.chmod(secret, 0o600)
        victim = subprocess.Popen(["sleep", "600"])
        try:
            with open(f"/proc/{victim.pid}/stat", encoding="utf-8") as file:
                ticks = file.read().rpartition(")")[2].split()[19]
            program = HOSTILE
            for word, value in (("FOLDER", site.folder), ("SECRET", site.folder + "/secret"), ("VICTIM", str(victim.pid)), ("TICKS", ticks)):
                program = program.replace(word, value)
            bad = world.submit(program, site)
            laid = os.path.join(site.host, "attempts", f"helio-{bad}-1", "laid")
            world.federation.wait_for(lambda: os.path.exists(laid), 60, "the hostile job does not begin")
            good = world.submit("echo good", site, gpus=7)
            world.until([good], "succeeded")
            check(world.federation.logs(good) == "good\n", f"the log of the good job is {world.federation.logs(good)!r}")
            world.federation.helio("cancel", bad)
            world.until([bad], "cancelled", "failed", "succeeded", seconds=60)
            check("secret" not in world.federation.logs(bad), "a file of root was read for a job")
            with open(secret, encoding="utf-8") as file:
                check(file.read() == "the secret of root\n", "a file of root was written for a job")
            check(victim.poll() is None, "a process of root was killed for a job")
            check(not os.path.exists(os.path.join(site.folder, "outside")), "a file outside the attempt was written")
        finally:
            victim.kill()
            victim.wait()


SCENARIOS = (plain, array, image, limit, cancel, orphan, agent_killed, agent_forgets, adapter_killed, engine_away, unclaimed, hostile, lease)
NOT_HERE = {"gang": "each site has one node; check-backend runs gangs on the grid engine (exec_docs.sh)"}


def refused(world):
    """What cannot run says so before it is placed."""
    for more, word in (({"nodes": 2}, "TooSmall"),):
        for site in world.sites:
            told = world.federation.helio("submit", "-", check=False,
                                          stdin='{"gpu": "H100:1", "run": "true", "placement": {"sites": ["%s"]}, %s}' % (site.name, str(more)[1:-1].replace("'", '"')))
            check(told.returncode == 5 and word in told.stdout + told.stderr, f"{more}: exit {told.returncode}: {told.stdout}{told.stderr}")


def books(world):
    f = world.federation
    f.wait_for(lambda: f.open_jobs() == 0, 30, "jobs are not over")
    twice = f.sql("select job_id, count(*) from helio.attempts where completes group by job_id, task having count(*) > 1")
    check(twice == [], f"two completions: {twice}")
    for site in world.sites:
        f.wait_for(lambda: not site.leftovers(), 30, f"{site.kind_of} still has {site.leftovers()}")
    uncharged = f.sql("select a.job_id, a.epoch, a.run_ms, a.gpu_ms from helio.attempts a where a.gpu_ms is distinct from coalesce("
                      "(select sum(l.gpu_ms) from helio.ledger l where l.job_id = a.job_id and l.task = a.task and l.epoch = a.epoch), 0)")
    check(uncharged == [], f"attempts that the ledger charges wrongly: {uncharged}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only")
    options = parser.parse_args()
    lacking = {kind.kind_of: kind.missing() for kind in (GridEngineSite, SshSite)}
    for name, why in lacking.items():
        if why:
            print(f"SKIPPED: the adapter {name}: {why}")
    sites = [kind(name, 2.0) for kind, name in ((GridEngineSite, "cell"), (SshSite, "host")) if not lacking[kind.kind_of]]
    if not sites:
        return 77
    for site in sites:
        site.name = {"gridengine": "grid", "ssh": "remote"}[site.kind_of]
    folder = tempfile.mkdtemp(prefix="helio-exec-")
    world = World(options.build, folder, sites)
    heads = [site.kind_of for site in sites]
    try:
        world.federation.up()
        print(f"{'':16}" + "".join(f"{head:14}" for head in heads))
        for scenario in SCENARIOS + (refused,):
            if options.only in (None, scenario.__name__):
                began = time.time()
                scenario(world)
                print(f"{scenario.__name__:16}" + "".join(f"{'yes':14}" for _ in heads) + f"{time.time() - began:5.1f} s", flush=True)
        for name, why in NOT_HERE.items():
            print(f"{name:16}" + "".join(f"{'no':14}" for _ in heads) + why)
        books(world)
    finally:
        world.federation.down()
    for site in sites:
        check(world.federation.procs[site.name].returncode == 0, f"the agent does not end in order:\n{world.federation.last_words()}")
    shutil.rmtree(folder, ignore_errors=True)
    print(f"the lives of jobs behind adapters: {', '.join(heads)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
