#!/usr/bin/env python3
"""Two real clusters of different shapes in one federation: other partitions, features, limits, and nodes without GPUs.

    tests/integration/slurm_shapes.py --build BUILD_DIR [--only CASE] [--keep]

Jobs are what people write for sbatch. Prints one line for each case; exit 0 only if all hold, 77 without Slurm.
"""
import argparse, json, os, shutil, subprocess, sys, tempfile, time

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


class World:
    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="helio-shapes-")
        sites, self.lab = make_sites("slurm:2", CPU_NODES="1", EXTRA="AccountingStorageEnforce=associations,limits,qos\\nAccountingStorageTRES=gres/gpu")
        self.eu, self.us = self.sites = [Shaped(site.name, site.price, self.lab) for site in sites]  # eu is the cheaper one
        for words in ("add qos short set MaxWall=10", "modify account lab set qos+=short",
                      "add user nobody,root account=lab cluster=eu,us"):
            subprocess.run(["sacctmgr", "--immediate", *words.split()], stdout=subprocess.DEVNULL, check=False,
                           env=dict(os.environ, SLURM_CONF=self.eu.conf))
        self.us.configure(lambda text: text.replace("us-n1 NodeHostname", "us-n1 Feature=ib,rack1 NodeHostname") +
                          "PartitionName=special Nodes=us-n1 MaxTime=INFINITE State=UP\n")
        self.federation = Federation(build, self.folder, self.sites)

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
    done = subprocess.run([world.federation.tool("helio-agent"), "check", "--config", world.federation.path("eu", "site.yaml")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if "✔ pool cpu: 1 nodes with 0 GPUs" not in done.stdout:
        faults.append("the check says: " + done.stdout)
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


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--only", choices=sorted(CASES))
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    world, bad = World(args.build), 0
    try:
        world.federation.up()
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
