#!/usr/bin/env python3
"""Real clusters of different shapes in one federation: other partitions, features, limits, nodes without GPUs, with several types, without
a type and of different size, and partitions that share nodes.

    tests/integration/slurm_shapes.py --build BUILD_DIR [--only CASE] [--keep]

Jobs are what people write for sbatch. Prints one line for each case; exit 0 only if all hold, 77 without Slurm.
"""
import argparse, collections, json, os, re, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import verdict
from federation import OWNED, TOP, Federation, SlurmSite
from kill9 import make_sites

OVER = ("succeeded", "failed", "timeout", "cancelled", "held", "lost")


class Shaped(SlurmSite):
    """One node with GPUs, and one without, in a partition and a pool of its own."""

    def site_keys(self):
        return (f"pools:\n  - {{name: h100, gpu: H100, memory: 80GB, {OWNED}, price_usd_per_gpu_h: {self.price}}}\n"
                "  - {name: cpu, owned: true}\n")

    def agent_keys(self, federation):
        return super().agent_keys(federation).replace("gres: h100}]", "gres: h100}, {pool: cpu, partition: cpu}]")

    def configure(self, change):
        with open(self.conf) as conf:
            text = conf.read()
        with open(self.conf, "w") as conf:
            conf.write(change(text))
        self.slurm("scontrol", "reconfigure")


class Mixed(SlurmSite):
    """Nodes with other GPUs each, in one partition; the site file names no pools."""
    shape = "h100:4@32 a100:2,l4:2@16 4@8"

    def site_keys(self):
        return ""

    def agent_keys(self, federation):
        return re.sub(r" *pools: .*\n", "", super().agent_keys(federation))


class Overlapping(Shaped):
    """GPUs without a type, nodes of different size, and one node in two partitions, each of which is a pool."""
    shape = "4@16 8@64 2@16"

    def site_keys(self):
        return "pools:\n" + "".join(f"  - {{name: {name}, gpu: A40, memory: 48GB, {OWNED}, price_usd_per_gpu_h: {self.price}}}\n"
                                    for name in ("all", "fast"))

    def agent_keys(self, federation):
        return re.sub("pools: .*", "pools: [{pool: all, partition: main}, {pool: fast, partition: fast}]", SlurmSite.agent_keys(self, federation))


class Cut(SlurmSite):
    """GPUs that jobs share: a node with slices, and one whose GPUs have four shares each."""
    shape = "a100_1g.5gb:4@16 l4:2@16"

    def site_keys(self):
        return (f"pools:\n  - {{name: slices, gpu: A100/1g.5gb, sharing: mig, {OWNED}, price_usd_per_gpu_h: {self.price}}}\n"
                f"  - {{name: shares, gpu: L4, sharing: timeslice, {OWNED}, price_usd_per_gpu_h: {self.price}}}\n")

    def agent_keys(self, federation):
        return re.sub("pools: .*", "pools: [{pool: slices, partition: main}, {pool: shares, partition: main, gres: shard}]", super().agent_keys(federation))


class World:
    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="helio-shapes-")
        sites, self.lab = make_sites("slurm:5", CPU_NODES="1", SHAPE_asia=Mixed.shape, SHAPE_sa=Overlapping.shape, SHAPE_af=Cut.shape, SHARDS_af="4",
                                     EXTRA="AccountingStorageEnforce=associations,limits,qos\\nAccountingStorageTRES=gres/gpu")
        self.eu, self.us, self.asia, self.sa, self.af = self.sites = [
            kind(site.name, site.price, self.lab) for kind, site in zip((Shaped, Shaped, Mixed, Overlapping, Cut), sites)]  # eu is cheaper than us
        for words in ("add qos short set MaxWall=10", "modify account lab set qos+=short",
                      "add user nobody,root account=lab cluster=eu,us,asia,sa,af"):
            subprocess.run(["sacctmgr", "--immediate", *words.split()], stdout=subprocess.DEVNULL, check=False,
                           env=dict(os.environ, SLURM_CONF=self.eu.conf))
        self.us.configure(lambda text: text.replace("us-n1 NodeHostname", "us-n1 Feature=ib,rack1 NodeHostname") +
                          "PartitionName=special Nodes=us-n1 MaxTime=INFINITE State=UP\n")
        self.sa.configure(lambda text: text.replace("main Nodes=sa-n1,sa-n2,sa-n3", "main Nodes=sa-n1,sa-n2") +
                          "PartitionName=fast Nodes=sa-n2,sa-n3 MaxTime=INFINITE State=UP\n")
        self.federation = Federation(build, self.folder, self.sites)

    def up(self):
        self.federation.up()
        for site in (self.asia, self.sa, self.af):  # only their own cases use them
            self.federation.helio("drain", site.name, "--reason", "not its turn")

    def down(self, purge):
        self.federation.down()
        subprocess.run([TOP + "/deploy/slurm-lab/down.sh", self.lab] + (["--purge"] if purge else []), check=False,
                       stdout=subprocess.DEVNULL)
        if purge:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- helpers of the cases

    def sbatch(self, *options, script="true", check=True):
        """Returns the id, or what `helio sbatch` printed if it failed and was allowed to."""
        path = os.path.join(self.folder, "script.sh")
        with open(path, "w") as out:
            out.write("#!/bin/bash\n#SBATCH --time=10\n" + script + "\n")
        done = self.federation.helio("sbatch", "--parsable", *options, path, check=check)
        return done.stdout.strip() if done.returncode == 0 else done.stderr

    def row(self, key):
        rows = self.federation.sql(f"select state, coalesce(site, ''), attempts, coalesce(exit_code, -1) from helio_report.jobs "
                                   f"where job_id = '{key}'")
        return rows[0] if rows else ["", "", "0", "-1"]

    def wait_state(self, key, *states, seconds=90):
        try:
            self.federation.wait_for(lambda: self.row(key)[0] in states, seconds, f"{key} is not {states}")
        except SystemExit as end:
            raise SystemExit(f"{end}; it is {self.row(key)}")
        return self.row(key)

    def slurm_job(self, site, key):
        for line in site.slurm("squeue", "--noheader", "--states=running", "--format=%i %j").splitlines():
            number, name = line.split(None, 1)
            if key in name:
                return number
        return None

    def check(self, site):
        """What `helio-agent check` prints of the site."""
        return subprocess.run([self.federation.tool("helio-agent"), "check", "--config", self.federation.path(site.name, "site.yaml")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout

    def offered(self, site):
        """Of each pool of the site: GPUs, and those in use."""
        pools = json.loads(self.federation.helio("gpus", "-o", "json").stdout)
        return {pool["pool"]: (pool["gpus_total"], pool["gpus_allocated"]) for pool in pools if pool["site"] == site.name}

    def place(self, site, key):
        """The node of a job that runs, and its GPUs by Slurm."""
        text = site.slurm("scontrol", "--details", "show", "job", self.slurm_job(site, key))
        return re.search(r"\bNodes=(\S+) .*GRES=gpu:?(\S*)\(IDX", text).groups()

    def pool(self, site, name, figure):
        pools = json.loads(self.federation.helio("gpus", "-o", "json").stdout)
        return next((pool[figure] for pool in pools if (pool["site"], pool["pool"]) == (site, name)), None)


# ---- cases ------------------------------------------------------------------------------------------------------------

def case_names(world):
    """A partition and a feature that one cluster has: its jobs go there at once, and none is refused."""
    faults = []
    for option in ("--partition=special", "--constraint=ib&rack1", "--constraint=ib|rack1"):
        key = world.sbatch("--gres=gpu:1", option)
        if world.wait_state(key, *OVER) != ["succeeded", "us", "1", "0"]:
            faults.append(f"a job with {option} is {world.row(key)}")
    said = world.sbatch("--gres=gpu:1", "--partition=elsewhere", check=False)
    if "no cluster that could run it has partition 'elsewhere'" not in said or "special" not in said:
        faults.append(f"of a partition that no cluster has it is said: {said}")
    world.eu.configure(lambda text: text + "PartitionName=elsewhere Nodes=eu-n1 MaxTime=INFINITE State=UP\n")
    world.federation.wait_for(lambda: " " not in world.sbatch("--gres=gpu:1", "--partition=elsewhere", check=False),
                              30, "a partition that an administrator adds is not found")
    return faults, "each ran at the cluster that has the name, at the first attempt"


def case_cpu_pool(world):
    faults = []
    site = world.eu
    said = world.check(site)
    if "✔ pool cpu: 1 nodes with 0 GPUs" not in said:
        faults.append("the check says: " + said)
    key = world.sbatch("--partition=cpu", "--cpus-per-task=2", "-M", site.name, script="hostname; echo $SLURMD_NODENAME $SLURM_CPUS_PER_TASK")
    if world.wait_state(key, *OVER) != ["succeeded", "eu", "1", "0"] or "eu-n2 2" not in world.federation.logs(key):
        faults.append(f"a job without GPUs is {world.row(key)}, and printed {world.federation.logs(key)}")
    return faults, "a job without GPUs ran on a node without GPUs"


def case_limits(world):
    """Grace and margin are added to a job's time only as far as its QOS allows."""
    key = world.sbatch("--gres=gpu:1", "--qos=short", "--account=lab")
    row = world.wait_state(key, *OVER)
    faults = [] if row[0] == "succeeded" and row[2:] == ["1", "0"] else [f"a job as long as its QOS allows is {row}"]
    return faults, "a job as long as its QOS allows ran"


def case_account(world):
    """A limit of the account bounds what its cluster is asked for: the other jobs run elsewhere at once."""
    limit = lambda gpus: subprocess.run(["sacctmgr", "--immediate", "modify", "account", "lab", "where", "cluster=eu", "set",
                                         f"GrpTRES=gres/gpu={gpus}"], env=dict(os.environ, SLURM_CONF=world.eu.conf),
                                        stdout=subprocess.DEVNULL, check=True)
    limit(2)
    world.federation.wait_for(lambda: world.pool("eu", "h100", "gpus_free") == 2, 40, "the limit does not bound what is free")
    keys = [world.sbatch("--gres=gpu:1", script="sleep 6") for _ in range(6)]
    for key in keys:
        world.wait_state(key, *OVER)
    rows = [world.row(key) for key in keys]
    limit(-1)
    faults = [f"a job beside the limit is {row}" for row in rows if row[0] != "succeeded" or row[2:] != ["1", "0"]]
    at_eu = sum(row[1] == "eu" for row in rows)
    if not 1 <= at_eu <= 2:
        faults.append(f"{at_eu} jobs ran where two may: {rows}")
    return faults, f"{at_eu} jobs ran where two may, the others elsewhere"


def case_exclusive(world):
    faults = []
    key = world.sbatch("--exclusive", "--gres=gpu:1", "-M", "eu", script="sleep 600")
    world.wait_state(key, "running")
    world.federation.wait_for(lambda: world.pool("eu", "h100", "gpus_allocated") == 8, 30, "its GPUs are not allocated")
    number = world.slurm_job(world.eu, key)
    if "GRES=gpu:h100:8" not in world.eu.slurm("scontrol", "--details", "show", "job", number):
        faults.append("Slurm did not give it all GPUs: " + world.eu.slurm("scontrol", "--details", "show", "job", number))
    world.federation.helio("cancel", key)
    world.wait_state(key, "cancelled")
    gpu_seconds, run_seconds = map(float, world.federation.sql(
        f"select gpu_seconds, run_seconds from helio_report.jobs where job_id = '{key}'")[0])
    if run_seconds <= 0 or abs(gpu_seconds - 8 * run_seconds) > 0.1:
        faults.append(f"it is charged {gpu_seconds} GPU-seconds for {run_seconds} s")
    return faults, "it holds, and is charged, all GPUs of its node"


def case_signal(world):
    faults = []
    key = world.sbatch("--gres=gpu:1", script="trap 'echo heard; exit 7' USR1; echo ready; while :; do sleep 0.1; done")
    site = {"eu": world.eu, "us": world.us}[world.wait_state(key, "running")[1]]
    world.federation.wait_for(lambda: "ready" in world.federation.logs(key), 30, "it does not begin")
    site.slurm("scancel", "--batch", "--signal=USR1", world.slurm_job(site, key))
    row = world.wait_state(key, *OVER)
    if row[0] != "failed" or row[2:] != ["1", "7"] or "heard" not in world.federation.logs(key):
        faults.append(f"a script that handles USR1 is {row}")
    return faults, "a signal for the script reached it"


def case_waiting(world):
    """A job waits for the start of another, one for its end, which a signal by helio brings; the limit of what waits is changed."""
    faults = []
    first = world.sbatch("--gres=gpu:1", script="trap 'echo heard; exit 0' USR2\nsleep 600 & echo ready\nwhile :; do wait; done")
    second = world.sbatch("--gres=gpu:1", "--dependency=after:" + first)
    third = world.sbatch("--gres=gpu:1", f"--dependency=afterok:{first}", script="sleep 600")
    if world.wait_state(second, *OVER)[0] != "succeeded" or world.row(first)[0] != "running":
        faults.append(f"after a start: {world.row(second)}, beside {world.row(first)}")
    world.federation.wait_for(lambda: "ready" in world.federation.logs(first), 30, "it does not begin")
    world.federation.helio("scontrol", "update", "JobId=" + third, "TimeLimit=2:00:00")
    world.federation.helio("edit", third, "--time", "-30m")
    said = world.federation.helio("scontrol", "-o", "show", "job", third).stdout
    if "JobState=PENDING" not in said or "TimeLimit=01:30:00" not in said:
        faults.append("an edited job is " + said)
    refused = world.federation.helio("scontrol", "update", "JobId=" + first, "TimeLimit=5", check=False)
    if refused.returncode == 0 or "only queued or held jobs can be edited" not in refused.stderr:
        faults.append(f"the limit of a job that runs: {refused.stderr}")
    world.federation.helio("scancel", "--batch", "--signal=USR2", first)
    if world.wait_state(first, *OVER)[0] != "succeeded" or "heard" not in world.federation.logs(first):
        faults.append(f"a script that handles USR2 is {world.row(first)}")
    site = {"eu": world.eu, "us": world.us}[world.wait_state(third, "running")[1]]
    shown = site.slurm("squeue", "--noheader", "--format=%l", "--job=" + world.slurm_job(site, third)).strip()
    if not shown.startswith("1:3"):
        faults.append(f"Slurm has the limit {shown}")
    late = world.federation.helio("scancel", "-b", "--signal=USR2", first, check=False)
    if late.returncode != 6:
        faults.append(f"a signal for a job that is over: {late.returncode} {late.stderr}")
    world.federation.helio("cancel", third)
    world.wait_state(third, "cancelled")
    return faults, "a start, a signal and a new limit were obeyed"


def case_arrays(world):
    """Tasks of one array wait for those of another, one for one, and a task whose like fails is cancelled."""
    faults = []
    first = world.sbatch("--array=0-3", "--gres=gpu:1", script='case $SLURM_ARRAY_TASK_ID in 1) exit 3 ;; 2) sleep 600 ;; esac')
    second = world.sbatch("--array=0-2", "--gres=gpu:1", f"--dependency=aftercorr:{first}")
    ends = [world.wait_state(f"{second}.{task}", *OVER)[0] for task in (0, 1)]
    waits = world.federation.helio("squeue", "-h", "-j", f"{second}_2", "-o", "%T %r").stdout.strip()
    if ends != ["succeeded", "cancelled"] or waits != f"PENDING Gated: waits for job {first}.2 to succeed":
        faults.append(f"the first two tasks are {ends}, the third one: {waits}")
    world.federation.helio("cancel", first + ".2")
    if world.wait_state(second + ".2", *OVER)[0] != "cancelled":
        faults.append(f"the task after one that was cancelled is {world.row(second + '.2')}")
    said = world.sbatch("--array=0-5", "--gres=gpu:1", f"--dependency=aftercorr:{first}", check=False)
    if "depends.after_task[0]" not in said:
        faults.append(f"of an array with more tasks it is said: {said}")
    return faults, "each task waited for that of its index"


def case_ahead(world):
    """More short jobs than GPUs: each is in Slurm's queue before the GPU that it gets is free."""
    docs = [{"name": "short", "gpu": "H100:1", "time": "5m", "placement": {"sites": ["eu"]}, "run": "sleep 4"} for _ in range(24)]
    keys = world.federation.submit(docs, "ahead")
    for key in keys:
        world.wait_state(key, *OVER)
    told = world.eu.slurm("env", "SLURM_TIME_FORMAT=%s", "sacct", "--noheader", "--allocations", "--parsable2",
                          "--name=" + ",".join(f"helio-{key}-1" for key in keys), "--format=Submit,Start,End")
    runs = sorted((tuple(map(int, line.split("|"))) for line in told.splitlines()), key=lambda run: run[1])
    ends = sorted(end for _, _, end in runs)
    early = [start > submit for submit, start, _ in runs[12:]]
    faults = [] if len(runs) == len(keys) else [f"Slurm ran {len(runs)} jobs of {len(keys)}"]
    if sum(early) < len(early) / 2:
        faults.append(f"only {sum(early)} of {len(early)} jobs waited in Slurm's queue; submit, start, end: {runs}")
    idle = sorted(start - ends[i] for i, (_, start, _) in enumerate(runs[8:]))
    return faults, f"a GPU was idle for {idle[len(idle) // 2]} s between two jobs (median)"


def case_commands(world):
    """Slurm's commands by deploy/slurm-wrappers: ids of the federation go to helio, numbers to the cluster."""
    faults = []
    env = dict(world.federation.env, SLURM_CONF=world.eu.conf,
               PATH=os.pathsep.join([TOP + "/deploy/slurm-wrappers", world.federation.tool(""), os.environ["PATH"]]))

    def command(*words):
        done = subprocess.run(words, env=env, text=True, stdout=subprocess.PIPE, check=False)
        return done.stdout.strip()

    key = command("sbatch", "--parsable", "-M", "eu", "-J", "wrapped", "--gres=gpu:1", "-t", "5", "--wrap", "sleep 600")
    world.wait_state(key, "running")
    number = world.slurm_job(world.eu, key)
    expected = [(("squeue", "-h", "-j", key, "-o", "%i %j %T %N %b"), f"{key} wrapped RUNNING eu/h100 gres/gpu:H100:1"),
                (("squeue", "-h", "-n", "wrapped", "-o", "%t"), "R"),
                (("squeue", "-h", "-j", number, "-o", "%i %j"), f"{number} helio-{key}-1"),
                (("scontrol", "show", "job", key), f"JobId={key} JobName=wrapped"),
                (("scontrol", "show", "job", number), f"JobId={number} JobName=helio-{key}-1"),
                (("scontrol", "show", "partition", "main"), "PartitionName=main"),
                (("scancel", "-n", "wrapped", "-t", "RUNNING"), "")]
    for words, start in expected:
        said = command(*words)
        if not said.startswith(start):
            faults.append(f"{' '.join(words)} prints: {said}")
    world.wait_state(key, "cancelled")
    said = command("sacct", "-n", "-P", "-j", key, "-o", "JobID,JobName,State,Cluster")
    if said != f"{key}|wrapped|CANCELLED|eu":
        faults.append(f"sacct prints: {said}")
    return faults, "ids of the federation and of the cluster found their commands"


def in_cluster(site):
    """Of each type of GPU, by Slurm: how many there are, and how many are in use. "" = without a type."""
    sums = collections.defaultdict(lambda: [0, 0])
    for column, field in enumerate(("Gres", "GresUsed")):
        for node in re.findall(rf" {field}=(\S+)", site.slurm("scontrol", "--details", "--oneliner", "show", "node")):
            for kind, count in re.findall(r"gpu:(?:([a-z]\w*):)?(\d+)", node):
                sums[kind][column] += int(count)
    return {kind: tuple(counts) for kind, counts in sums.items()}


def case_mixed(world):
    """Each type of GPU is a pool, and so are those without one; a job that names a type gets it."""
    faults, site = [], world.asia
    world.federation.helio("undrain", site.name)
    said = world.check(site)
    for line in ("h100: 1 nodes with 4 GPUs H100, partition 'main', GRES type 'h100'", "a100: 1 nodes with 2 GPUs A100",
                 "l4: 1 nodes with 2 GPUs L4", "main: 1 nodes with 4 GPUs GPU"):
        if f"✔ pool {line}" not in said:
            faults.append(f"the check lacks '{line}': {said}")
    script = "echo $SLURMD_NODENAME; sleep 600"
    asked = {"h100:3": "asia-n1", "a100:2": "asia-n2", "l4:1": "asia-n2"}
    keys = {gpus: world.sbatch("--gres=gpu:" + gpus, "-M", site.name, script=script) for gpus in asked}
    for gpus, node in asked.items():
        world.wait_state(keys[gpus], "running")
        if world.place(site, keys[gpus]) != (node, gpus):
            faults.append(f"a job with gpu:{gpus} has {world.place(site, keys[gpus])}")
    world.wait_state(last := world.sbatch("--gres=gpu:4", "-M", site.name, script=script), "running")
    if world.place(site, last) != ("asia-n3", "4"):
        faults.append(f"a job with gpu:4 has {world.place(site, last)}")
    expected = {"h100": (4, 3), "a100": (2, 2), "l4": (2, 1), "": (4, 4)}
    pools = {name or "main": counts for name, counts in expected.items()}
    world.federation.wait_for(lambda: world.offered(site) == pools, 30, f"of its GPUs {world.offered(site)} are offered, not {pools}")
    if in_cluster(site) != expected:
        faults.append(f"by Slurm it has {in_cluster(site)}")
    for key in (last, *keys.values()):
        world.federation.helio("cancel", key)
        world.wait_state(key, "cancelled")
    world.federation.helio("drain", site.name, "--reason", "its turn is over")
    return faults, "each of four jobs had the GPUs of its type, and each GPU is of one pool"


def case_overlapping(world):
    """No GPU is offered twice through partitions that share a node, and jobs can name either."""
    faults, site = [], world.sa
    world.federation.helio("undrain", site.name)
    said = world.check(site)
    for line in ("✔ pool all: 2 nodes with 8 GPUs A40, partition 'main'", "✔ pool fast: 1 nodes with 2 GPUs A40, partition 'fast'",
                 "pool 'all' has 1 nodes of that partition, too, and it offers them"):
        if line not in said:
            faults.append(f"the check lacks '{line}': {said}")
    total = in_cluster(site)[""][0]
    world.federation.wait_for(lambda: world.offered(site) == {"all": (12, 0), "fast": (2, 0)}, 30,
                              f"of its {total} GPUs these are offered: {world.offered(site)}")
    keys = [world.sbatch("--gres=gpu:8", "--partition=fast", "-M", site.name, script="sleep 600")]
    world.wait_state(keys[0], "running")
    if world.place(site, keys[0]) != ("sa-n2", "8"):
        faults.append(f"a job with 8 GPUs of the partition fast has {world.place(site, keys[0])}")
    docs = [{"name": "one", "gpu": "A40:1", "time": "20m", "placement": {"sites": [site.name]}, "run": "sleep 600"}] * (total - 8 + 4)
    keys += world.federation.submit(docs, "overlapping")
    world.federation.wait_for(lambda: in_cluster(site)[""][1] == total, 60, "not all GPUs are in use")
    rows = [world.row(key) for key in keys]
    waits = site.slurm("squeue", "--noheader", "--states=pending", "--format=%j %r")
    if waits or sum(row[0] == "queued" for row in rows) != 4:
        faults.append(f"beside {total} jobs with a GPU each these wait in Slurm's queue: {waits}; jobs are {rows}")
    for key in keys:
        world.federation.helio("cancel", key)
    for key in keys:
        world.wait_state(key, "cancelled")
    world.federation.helio("drain", site.name, "--reason", "its turn is over")
    return faults, f"{total} GPUs were offered once each, and the jobs without one waited in the federation"


def case_cut(world):
    """Slices and shares are handed out by Slurm, and what jobs see of them is theirs; who shares a GPU may not have it whole."""
    faults, site = [], world.af
    world.federation.helio("undrain", site.name)
    said = world.check(site)
    for line in ("✔ pool slices: 1 nodes with 4 GPUs A100/1g.5gb, partition 'main', GRES type 'a100_1g.5gb'",
                 "✔ pool shares: 1 nodes with 8 GPUs L4, partition 'main', GRES type 'shard'"):
        if line not in said:
            faults.append(f"the check lacks '{line}': {said}")
    program = 'echo "$CUDA_VISIBLE_DEVICES of $HELIO_GPUS"; sleep 600'
    doc = {"time": "20m", "placement": {"sites": [site.name]}, "run": program}
    keys = [world.federation.submit_one(name="slices", gpu="A100/1g.5gb:3", **doc), world.federation.submit_one(name="slice", gpu="A100/1g.5gb:1", **doc)]
    keys += [world.federation.submit_one(name=f"share{i}", gpu="L4:1", sharing="timeslice", **doc) for i in range(8)]
    for key in keys:
        world.wait_state(key, "running")
        world.federation.wait_for(lambda: " of " in world.federation.logs(key), 30, f"{key} says nothing")
    seen = [world.federation.logs(key).split() for key in keys]
    if seen[0] != ["0,1,2", "of", "3"] and len(set(seen[0][0].split(",")) & set(seen[1][0].split(","))):
        faults.append(f"jobs with slices see {seen[:2]}")
    if [line[2] for line in seen] != ["3"] + ["1"] * 9 or collections.Counter(line[0] for line in seen[2:]) != {"0": 4, "1": 4}:
        faults.append(f"jobs with slices and shares see {seen}")
    full = {"slices": (4, 4), "shares": (8, 8)}
    world.federation.wait_for(lambda: world.offered(site) == full, 30, f"it offers {world.offered(site)}, not {full}")
    waits = world.federation.submit_one(name="ninth", gpu="L4:1", sharing="timeslice", **doc)
    time.sleep(2)  # rounds in which it would be placed
    if world.row(waits)[0] != "queued":
        faults.append(f"a ninth job on eight shares is {world.row(waits)}")
    for key in (waits, *keys):
        world.federation.helio("cancel", key)
        world.wait_state(key, "cancelled")
    world.federation.wait_for(lambda: world.offered(site) == {"slices": (4, 0), "shares": (8, 0)}, 30, f"in the end it offers {world.offered(site)}")
    world.federation.helio("drain", site.name, "--reason", "its turn is over")
    return faults, "four slices and eight shares of two GPUs were handed out, and no more"


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--only", choices=sorted(CASES))
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    world, bad = World(args.build), 0
    try:
        world.up()
        for name, case in CASES.items():
            if args.only in (None, name):
                began = time.monotonic()
                faults, what = case(world)
                for fault in faults:
                    print("FAULT", name, fault)
                print(f"{name}: {what}; {time.monotonic() - began:.0f} s; {len(faults)} faults", flush=True)
                bad += len(faults)
        for fault in [*verdict.single_copies(world.federation, {}), *verdict.leftovers(world.federation)]:
            print("FAULT", fault)
            bad += 1
    except SystemExit as end:
        print(end)
        bad += 1
    finally:
        world.down(purge=not bad and not args.keep)
        if bad or args.keep:
            print("all files are kept in", world.folder, world.lab)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
