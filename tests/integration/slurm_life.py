#!/usr/bin/env python3
"""A site on a real cluster that others use too: administrators, other users, preemption and full disks.

    tests/integration/slurm_life.py --build BUILD_DIR [--only CASE] [--keep]

One cluster of two nodes and a local site in one federation. `capacity` changes the cluster in many ways (other users'
jobs, drained, downed and reserved nodes, a waiting queue) and compares the federation's figures after each with those of
scontrol. The other cases end with the job in its expected state: every job that can run elsewhere succeeds, none
runs twice. Prints one line for each case; exit 0 only if all hold, 77 without Slurm.
"""
import argparse, glob, json, os, re, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import verdict, workload
from federation import TOP, Federation
from kill9 import make_sites

FIGURES_SECONDS = 20  # the nodes are queried with at least every fifth list


class World:
    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="helio-life-")
        self.mounts = []
        self.spool, self.state = self.mount("spool", "2m"), self.mount("state", "2m")
        extra = r"Licenses=token:1\nSchedulerParameters=batch_sched_delay=3,sched_min_interval=2000000"
        if self.spool and self.state:
            extra += rf"\nSlurmdSpoolDir={self.spool}/%n\nStateSaveLocation={self.state}"
        self.sites, self.lab = make_sites("slurm:1,local:1", PREEMPT="cancel", EXTRA=extra)
        self.north, self.eu = self.sites
        self.federation = Federation(build, self.folder, self.sites)

    def mount(self, name, size):
        """A small private disk, or None if this user cannot mount one."""
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", path],
                                         stderr=subprocess.DEVNULL).returncode:
            return None
        self.mounts.append(path)
        return path

    def down(self, purge):
        self.federation.down()
        subprocess.run([TOP + "/deploy/slurm-lab/down.sh", self.lab] + (["--purge"] if purge else []), check=False,
                       stdout=subprocess.DEVNULL)
        for path in self.mounts:
            subprocess.run(["umount", path], check=False)
        if purge:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- helpers of the cases

    def job(self, name, seconds, **more):
        return {"name": name, "gpu": "H100:2", "time": "10m",
                "run": workload.body(self.federation.records, seconds, more.pop("code", 0)), **more}

    def submit(self, *docs):
        return self.federation.submit(docs, f"life-{time.monotonic()}")

    def at_eu(self):
        return {"placement": {"sites": ["eu"]}}

    def until_let_go(self):
        """A job with these options waits in Slurm, although it fits, until the returned job is cancelled there."""
        return {"slurm": {"licenses": "token:1"}}, self.foreign("--partition=debug", "--licenses=token:1")

    def row(self, key):
        rows = self.federation.sql(f"select state, coalesce(site, ''), attempts, coalesce(exit_code, -1) from helio_report.jobs "
                                   f"where job_id = '{key}'")
        return rows[0] if rows else ["", "", "0", "-1"]

    def record(self, key):
        """What a job has written of itself so far."""
        with open(os.path.join(self.federation.records, key)) as file:
            return file.read()

    def wait_state(self, key, *states, seconds=90):
        try:
            self.federation.wait_for(lambda: self.row(key)[0] in states, seconds, f"{key} is not {states}")
        except SystemExit as end:
            raise SystemExit(f"{end}; it is {self.row(key)}")
        return self.row(key)

    def slurm_job(self, key, wanted=None, seconds=20):
        """Slurm's number of a job's live attempt, once it is in the wanted state."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in self.eu.slurm("squeue", "--noheader", "--format=%i %T %j").splitlines():
                number, state, name = line.split(None, 2)
                if key in name and wanted in (None, state):
                    return number
            time.sleep(0.05)
        raise SystemExit(f"Slurm has no {wanted or ''} job of {key}")

    def reasons(self, key):
        return " ".join(r[0] for r in self.federation.sql(
            f"select coalesce(reason, '') from helio_report.job_transitions where job_id = '{key}' order by time"))

    def resume(self, *nodes):
        """Slurm may have returned the nodes to service by itself: then resume fails, which is ignored."""
        for node in nodes:
            subprocess.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], stderr=subprocess.DEVNULL,
                           env=dict(os.environ, SLURM_CONF=self.eu.conf))

    def foreign(self, *options):
        return self.eu.slurm("sbatch", "--parsable", "--time=10", "--output=/dev/null", *options, "--wrap", "sleep 600").strip()


# ---- capacity ---------------------------------------------------------------------------------------------------------

def by_scontrol(world):
    """(GPUs of nodes that can run jobs, allocated, largest block that a gang could get) of the cluster."""
    total = allocated = 0
    free = []
    for line in world.eu.slurm("scontrol", "--details", "--oneliner", "show", "node").splitlines():
        flags = set(re.search(r"\bState=(\S+)", line)[1].replace("*", "").split("+"))
        gpus = int(re.search(r"\bGres=gpu:h100:(\d+)", line)[1])
        used = int((re.search(r"\bGresUsed=gpu:h100:(\d+)", line) or [0, 0])[1])
        if flags & {"DOWN", "NOT_RESPONDING", "FAIL", "INVAL"}:
            continue
        total, allocated = total + gpus, allocated + used
        if not flags & {"DRAIN", "DRAINING", "DRAINED", "MAINT", "MAINTENANCE"}:
            free.append(gpus - used)
    return total, allocated, max([k * sum(f >= k for f in free) for k in range(1, 9)])


def by_helio(world):
    for pool in json.loads(world.federation.helio("gpus", "-o", "json").stdout):
        if pool["site"] == "eu":
            return pool["gpus_total"], pool["gpus_allocated"], pool["largest_block_gpus"]


def case_capacity(world):
    eu, faults, steps = world.eu, [], 0
    numbers = []

    def put(*options):
        numbers.append(world.foreign(*options))

    maintenance = ["scontrol", "create", "reservation", "ReservationName=service", "Users=root", "StartTime=now",
                   "Duration=30", "Flags=MAINT,IGNORE_JOBS", "Nodes=eu-n2"]
    changes = [
        ("nothing runs", lambda: None),
        ("another user's job of 3 GPUs", lambda: put("--gres=gpu:3")),
        ("one of 8", lambda: put("--gres=gpu:8")),
        ("one more, of which there is no room", lambda: put("--gres=gpu:7")),
        ("two CPU jobs", lambda: (put("--ntasks=4"), put("--ntasks=4"))),
        ("all ended", lambda: eu.slurm("scancel", *numbers)),
        ("a node drained", lambda: eu.slurm("scontrol", "update", "NodeName=eu-n1", "State=DRAIN", "Reason=disk")),
        ("a job on the other", lambda: put("--gres=gpu:2")),
        ("resumed", lambda: eu.slurm("scontrol", "update", "NodeName=eu-n1", "State=RESUME")),
        ("a node set down", lambda: eu.slurm("scontrol", "update", "NodeName=eu-n2", "State=DOWN", "Reason=fan")),
        ("up again", lambda: world.resume("eu-n2")),
        ("a node in maintenance", lambda: eu.slurm(*maintenance)),
        ("maintenance over", lambda: eu.slurm("scontrol", "delete", "ReservationName=service")),
        ("jobs of one GPU each", lambda: [put("--gres=gpu:1") for _ in range(9)]),
        ("all ended again", lambda: eu.slurm("scancel", "--user=root")),
    ]
    for what, change in changes:
        change()
        steps += 1
        deadline, same = time.monotonic() + FIGURES_SECONDS, 0
        while time.monotonic() < deadline and same < 3:  # equal, and still so a second later
            theirs = by_scontrol(world)
            same = same + 1 if by_helio(world) == theirs == by_scontrol(world) else 0
            time.sleep(0.5)
        if same < 3:
            faults.append(f"{what}: the federation shows {by_helio(world)}, scontrol {by_scontrol(world)} "
                          "(GPUs up, allocated, largest block)")
    return faults, f"{steps} changes, shown as scontrol has them"


# ---- other users ------------------------------------------------------------------------------------------------------

def case_hold(world):
    faults = []
    waits, holds = world.until_let_go()
    key, = world.submit(world.job("held", 2, **world.at_eu(), **waits))
    number = world.slurm_job(key, "PENDING")
    world.eu.slurm("scontrol", "hold", number)
    world.eu.slurm("scancel", holds)
    time.sleep(8)
    if world.row(key)[0] != "starting":
        faults.append(f"while an admin held it, it was {world.row(key)}")
    world.eu.slurm("scontrol", "release", number)
    row = world.wait_state(key, "succeeded", "failed", "held", "lost")
    if row[:3] != ["succeeded", "eu", "1"]:
        faults.append(f"it ended as {row}")
    return faults, "waited for its release, and ran once"


def case_requeue(world):
    faults = []
    key, = world.submit(world.job("requeued", 8, **world.at_eu()))
    world.wait_state(key, "running")
    number = world.slurm_job(key, "RUNNING")
    done = subprocess.run(["scontrol", "requeue", number], env=dict(os.environ, SLURM_CONF=world.eu.conf),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 0:
        faults.append("Slurm queued it again")
    row = world.wait_state(key, "succeeded", "failed", "held", "lost")
    if row[:3] != ["succeeded", "eu", "1"]:
        faults.append(f"it ended as {row}")
    return faults, "refused by Slurm; the job ran on"


def case_scancel(world):
    faults = []
    waits, holds = world.until_let_go()
    key, = world.submit(world.job("cancelled-by-an-admin", 6, placement={"sites": ["eu", "north"]}))
    pinned, = world.submit(world.job("cancelled-while-it-waits", 2, **world.at_eu(), **waits))
    world.eu.slurm("scancel", world.slurm_job(pinned, "PENDING"), holds)
    if world.wait_state(key, "running")[1] == "eu":
        world.eu.slurm("scancel", world.slurm_job(key, "RUNNING"))
    for one in (key, pinned):
        row = world.wait_state(one, "succeeded", "failed", "held", "lost")
        if row[0] != "succeeded":
            faults.append(f"{one} ended as {row}")
    if "SiteCancelled" not in world.reasons(pinned):
        faults.append(f"the history does not say who did it: {world.reasons(pinned)}")
    return faults, "placed again: the site's doing, not the job's end"


def case_drain(world):
    faults = []
    key, = world.submit(world.job("on-a-drained-node", 8, **world.at_eu()))
    world.wait_state(key, "running")
    for node in ("eu-n1", "eu-n2"):
        world.eu.slurm("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=disk")
    faults += agent_says(world, "✗ pool h100: ", "none of them starts jobs")
    row = world.wait_state(key, "succeeded", "failed", "held", "lost")
    if row[:3] != ["succeeded", "eu", "1"]:
        faults.append(f"what ran on a drained node ended as {row}")
    world.federation.wait_for(lambda: by_helio(world)[2] == 0, FIGURES_SECONDS, "the drained nodes are still offered")
    later, = world.submit(world.job("elsewhere", 1))
    if world.wait_state(later, "succeeded")[1] != "north":
        faults.append("a new job was sent to a cluster that is drained")
    world.resume("eu-n1", "eu-n2")
    return faults, "what ran went on, what came went elsewhere"


def case_rename(world):
    """A job changes its own name in Slurm, so that the attempt's name is unknown there."""
    faults = []
    doc = world.job("renamed", 45, **world.at_eu())
    doc["run"] = "scontrol update jobid=$SLURM_JOB_ID name=innocent; " + doc["run"]
    ends, stopped = world.submit(doc), world.submit({**doc, "name": "renamed-and-stopped",
                                                     "run": doc["run"].replace("sleep 45", "sleep 600")})
    world.wait_state(ends[0], "running")
    world.wait_state(stopped[0], "running")
    time.sleep(40)  # longer than a job is assumed to run after Slurm has forgotten it
    world.federation.helio("cancel", stopped[0])
    if world.wait_state(stopped[0], "cancelled", seconds=40)[2] != "1":
        faults.append(f"the one that was cancelled is {world.row(stopped[0])}")
    row = world.wait_state(ends[0], "succeeded", "failed", "held", "lost")
    if row[:3] != ["succeeded", "eu", "1"]:
        faults.append(f"it ended as {row}: {world.reasons(ends[0])}")
    if "innocent" in world.eu.slurm("squeue", "--noheader", "--format=%j"):
        faults.append("one of them still runs")
    return faults, "it ran once, under either name, and could be stopped"


def case_cut_off(world):
    """Slurm gives up a node whose daemon is dead, although the machine and the job on it are alive."""
    faults = []
    key, = world.submit(world.job("on-a-node-given-up", 60, **world.at_eu()))
    site = world.wait_state(key, "running")[1]
    if site != "eu":
        return [f"it runs at {site}"], ""
    node = next(line.split()[0] for line in world.eu.slurm("squeue", "--noheader", "--format=%N %j").splitlines() if key in line)
    world.eu.cluster("kill9-slurmd", node)
    row = world.wait_state(key, "succeeded", "failed", "held", "lost", seconds=120)
    if row[:3] != ["succeeded", "eu", "1"]:
        faults.append(f"it ended as {row}: {world.reasons(key)}")
    world.eu.cluster("start-slurmd", node)
    world.resume(node)
    return faults, "its job ran to its end, and once"


def case_suspend(world):
    """The job's time continues while an administrator has it suspended; it cannot run until it is resumed."""
    faults = []
    key, = world.submit(world.job("suspended", 60, **world.at_eu()) | {"time": "15s"})
    world.wait_state(key, "running")
    began = time.monotonic()
    number = world.slurm_job(key, "RUNNING")
    world.eu.slurm("scontrol", "suspend", number)
    world.wait_state(key, "suspended")
    while time.monotonic() < began + 17:
        time.sleep(0.2)
    if world.row(key)[0] != "suspended":
        faults.append(f"past its time, and suspended, it was {world.row(key)}")
    world.eu.slurm("scontrol", "resume", number)
    row = world.wait_state(key, "succeeded", "failed", "timeout", "held", "lost")
    if row != ["timeout", "eu", "1", "124"]:
        faults.append(f"it ended as {row}, with timeout 124 expected: {world.reasons(key)}")
    return faults, "its time went on, and ended it when it was resumed"


def case_node_set_down(world):
    """An administrator sets the node of a job down: Slurm kills the job."""
    faults = []
    world.federation.wait_for(lambda: by_helio(world) and by_helio(world)[2] == 16, FIGURES_SECONDS, "the GPUs are not offered")
    key, = world.submit(world.job("on-a-node-set-down", 20, placement={"sites": ["eu", "north"]}))
    if world.wait_state(key, "running")[1] != "eu":
        return [f"it did not run at eu: {world.row(key)}"], ""
    node = next(line.split()[0] for line in world.eu.slurm("squeue", "--noheader", "--format=%N %j").splitlines() if key in line)
    world.eu.slurm("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=fire")
    row = world.wait_state(key, "succeeded", "failed", "held", "lost", seconds=120)
    world.resume(node)
    if row[:1] + row[2:3] != ["succeeded", "2"]:
        faults.append(f"it ended as {row}, with success at the second attempt expected: {world.reasons(key)}")
    if "NodeFailed" not in world.reasons(key):
        faults.append(f"the history does not say why: {world.reasons(key)}")
    return faults, f"its job ran again at {row[1]}"


def agent_says(world, *words):
    """`helio-agent check` while the agent runs."""
    agent, *config = world.federation.commands["eu"]
    text = subprocess.run([agent, "check", *config], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    return [f"helio-agent check does not say '{word}': {text}" for word in words if word not in text]


def log_count(world, event):
    with open(world.federation.path("eu.log")) as log:
        return log.read().count(f" {event} ")


def case_partition_gone(world):
    """slurm.conf is changed while the agent runs: its partition gets another name."""
    faults, empty = [], log_count(world, "pool_empty")
    with open(world.eu.conf) as conf:
        before = conf.read()

    def configure(text):
        with open(world.eu.conf, "w") as conf:
            conf.write(text)
        world.eu.slurm("scontrol", "reconfigure")

    world.federation.wait_for(lambda: by_helio(world) and by_helio(world)[0] == 16, FIGURES_SECONDS, "the GPUs are not offered")
    words, holds = world.until_let_go()
    waits, = world.submit(world.job("waits-in-the-partition", 1, **world.at_eu(), **words))
    world.slurm_job(waits, "PENDING")
    configure(before.replace("PartitionName=main ", "PartitionName=prod "))
    world.federation.wait_for(lambda: by_helio(world)[0] == 0, FIGURES_SECONDS, "GPUs of a partition that is not there are offered")
    free, pinned = world.submit(world.job("may-go-elsewhere", 1, placement={"sites": ["eu", "north"]}),
                                world.job("waits-for-the-partition", 1, **world.at_eu()))
    if world.wait_state(free, "succeeded", "failed", "held", "lost")[:2] != ["succeeded", "north"]:
        faults.append(f"what may go elsewhere is {world.row(free)}")
    if world.row(pinned)[0] != "queued":
        faults.append(f"what may not waits as {world.row(pinned)}")
    faults += agent_says(world, "✗ pools: pool 'h100': the cluster has no partition 'main'")
    if log_count(world, "pool_empty") != empty + 1:
        faults.append("the agent's log does not say once that the pool is empty")
    world.wait_state(waits, "queued", "succeeded", "failed", "held", "lost")  # Slurm ends it as if a node had failed
    world.eu.slurm("scancel", holds)
    configure(before)
    row = world.wait_state(waits, "succeeded", "failed", "held", "lost")
    # a second time, or a third if the partition was away during the minute of the new submission
    if row[:2] != ["succeeded", "eu"] or row[2] not in "23" or "Withdrawn: Slurm ended it in the queue" not in world.reasons(waits):
        faults.append(f"what had been handed in to it ended as {row}: {world.reasons(waits)}")
    if world.wait_state(pinned, "succeeded", "failed", "held", "lost")[:3] != ["succeeded", "eu", "1"]:
        faults.append(f"with the partition back, it is {world.row(pinned)}")
    return faults, "nothing of it was offered, what waited ran when it was back"


def case_preemption(world):
    faults = []
    world.federation.helio("drain", "north", "--reason", "so that it runs at eu")
    key, = world.submit(world.job("preempted", 10, gpu="H100:8", nodes=2, placement={"sites": ["eu", "north"]}))
    if world.wait_state(key, "running")[1] != "eu":
        world.federation.helio("undrain", "north")
        return ["it did not run at eu"], ""
    world.federation.helio("undrain", "north")
    urgent = world.foreign("--partition=urgent", "--nodes=2", "--gres=gpu:8")
    world.federation.wait_for(lambda: int(world.row(key)[2]) > 1, 60, "Slurm's preemption was not noticed")
    world.eu.slurm("scancel", urgent)
    row = world.wait_state(key, "succeeded", "failed", "held", "lost")
    if row[0] != "succeeded":
        faults.append(f"it ended as {row}")
    if "Preempted" not in world.reasons(key) and "SiteCancelled" not in world.reasons(key):
        faults.append(f"the history does not say why: {world.reasons(key)}")
    return faults, f"a gang of 2x8 preempted by another partition ran again at {row[1]}"


def case_signals(world):
    """A signal reaches the programs of a job on each of its nodes, whatever starts them."""
    faults = []
    notes = world.federation.path("said")
    os.mkdir(notes)
    os.chmod(notes, 0o1777)
    script = (f'#!/bin/bash\nsay() {{ echo "$1 $SLURMD_NODENAME" >>{notes}/$SLURMD_NODENAME; }}\n'
              'trap "say heard; exit 0" USR2\nsay ready\nsleep 600 & while :; do wait; done\n')
    key, = world.submit({"name": "gang", "gpu": "H100:8", "nodes": 2, "time": "10m", "run": script, **world.at_eu()})

    def said():
        return sorted(line for path in glob.glob(notes + "/*") for line in open(path).read().splitlines())

    def count(word):
        return sum(line.startswith(word) for line in said())

    world.wait_state(key, "running")
    world.federation.wait_for(lambda: count("ready") == 2, 60, "the two nodes did not begin")
    world.federation.helio("scancel", "--signal=USR2", key)
    row = world.wait_state(key, "succeeded", "failed", "held", "lost", "timeout", seconds=30)
    if row[0] != "succeeded" or count("heard") != 2:
        faults.append(f"the job is {row}; its nodes said {said()}")
    return faults, "a signal reached both nodes of a job"


def case_entered(world):
    """Users of `srun` and `salloc` work in an allocation of the cluster; it is given back when they leave."""
    faults = []

    def enter(*words, said=""):
        done = subprocess.run([world.federation.tool("helio"), *words], input=said, env=world.federation.env, text=True,
                              capture_output=True, timeout=120)
        return done, re.search(r"submitted (\S+);", done.stderr)

    in_job = "echo $SLURM_JOB_ID,$HELIO_SITE,${CUDA_VISIBLE_DEVICES:+gpus}"
    for words, said, code in ((("srun", "-M", "eu", "--gres=gpu:H100:1", "-t", "5", "sh", "-c", in_job + "; exit 9"), "", 9),
                              (("salloc", "-M", "eu", "--gres=gpu:H100:1", "-t", "5"), in_job + "\nexit 4\n", 4)):
        done, job = enter(*words, said=said)
        if done.returncode != code or not re.search(r"^\d+,eu,gpus$", done.stdout, re.M) or not job:
            faults.append(f"{words[0]}: exit {done.returncode}, {done.stdout!r}, {done.stderr!r}")
        elif world.row(job[1])[0] != "cancelled":
            faults.append(f"{words[0]}: its job is {world.row(job[1])}")
    key, = world.submit(world.job("entered", 60, **world.at_eu()))
    world.wait_state(key, "running")
    done, _ = enter("exec", key, "--", "sh", "-c", "cat; " + in_job, said="typed\n")
    if done.returncode or not re.fullmatch(r"typed\n\d+,eu,gpus\n", done.stdout):
        faults.append(f"exec: exit {done.returncode}, {done.stdout!r}, {done.stderr!r}")
    world.federation.helio("cancel", key)
    world.wait_state(key, "cancelled")
    return faults, "srun, salloc and exec worked in allocations of the cluster"


# ---- full disks -------------------------------------------------------------------------------------------------------

def case_spool_full(world):
    """Without a small disk (None) the case is skipped."""
    if not world.spool:
        return [], None
    faults = []
    running, = world.submit(world.job("runs-meanwhile", 15, code=5, **world.at_eu()))
    world.wait_state(running, "running")
    ballast = os.path.join(world.spool, "ballast")
    subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=64k"], stderr=subprocess.DEVNULL)
    key, = world.submit(world.job("may-go-elsewhere", 1, placement={"sites": ["eu", "north"]}))
    row = world.wait_state(key, "succeeded", "failed", "held", "lost", seconds=120)
    if row[0] != "succeeded":
        faults.append(f"with the nodes' spool full, a job that may run elsewhere ended as {row}: {world.reasons(key)}")
    row = world.wait_state(running, "succeeded", "failed", "held", "lost")
    if row[:4] != ["failed", "eu", "1", "5"]:
        faults.append(f"what ran while the disk was full ended as {row}, with its own exit code 5 expected")
    os.remove(ballast)
    world.resume("eu-n1", "eu-n2")  # Slurm drains nodes that could not launch
    after, = world.submit(world.job("afterwards", 1, **world.at_eu()))
    if world.wait_state(after, "succeeded", "failed", "held", "lost")[0] != "succeeded":
        faults.append(f"with room again, a job ended as {world.row(after)}")
    return faults, "what ran kept its end, what came went where there is room"


def case_state_full(world):
    """The controller cannot store a submission: it reports an error, and the agent repeats until it can. Whatever runs keeps the
    disk full: the controller deletes its script at its end, which leaves room for another."""
    if not world.state:
        return [], None
    faults, seen = [], set()
    running, = world.submit(world.job("runs-meanwhile", 8, code=5, **world.at_eu()))
    world.wait_state(running, "running")
    ballast = os.path.join(world.state, "ballast")
    subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], stderr=subprocess.DEVNULL)
    key, = world.submit(world.job("is-handed-in-again", 1, **world.at_eu()))
    state, bound = world.row(key)[0], time.monotonic() + 60
    while "end " not in world.record(running) and time.monotonic() < bound:
        seen.add(state)
        time.sleep(0.1)
        state = world.row(key)[0]
    if "starting" not in seen or seen - {"queued", "placed", "starting"}:
        faults.append(f"while the controller can write nothing, a new job is {sorted(seen)}: {world.reasons(key)}")
    if world.wait_state(running, "succeeded", "failed", "held", "lost")[:4] != ["failed", "eu", "1", "5"]:
        faults.append(f"what ran while the disk was full ended as {world.row(running)}, with its own exit code 5 expected")
    os.remove(ballast)
    row = world.wait_state(key, "succeeded", "failed", "held", "lost")
    if row[:3] != ["succeeded", "eu", "1"]:
        faults.append(f"with room again, it ended as {row}: {world.reasons(key)}")
    return faults, "what was handed in meanwhile ran once there was room"


def case_nodes_renamed(world):
    """slurm.conf gets other names for the nodes; controller and daemons are restarted, as Slurm requires."""
    faults = []
    with open(world.eu.conf) as conf:
        text = conf.read()
    for node in ("eu-n1", "eu-n2"):
        world.eu.cluster("kill9-slurmd", node)
    world.eu.cluster("kill9-ctld")
    with open(world.eu.conf, "w") as conf:
        conf.write(re.sub(r"\beu-n([12])\b", r"eu-n1\1", text))
    world.eu.cluster("start-ctld")
    for node in ("eu-n11", "eu-n12"):
        world.eu.cluster("start-slurmd", node)
    world.federation.wait_for(lambda: by_helio(world) == by_scontrol(world) == (16, 0, 16), FIGURES_SECONDS, "the GPUs are not offered")
    key, = world.submit(world.job("on-a-node-with-another-name", 1, **world.at_eu()))
    row = world.wait_state(key, "succeeded", "failed", "held", "lost")
    if row[:3] != ["succeeded", "eu", "1"]:
        faults.append(f"it ended as {row}: {world.reasons(key)}")
    return faults, "its GPUs are offered, and run jobs, under their other names"


# ---- accounting -------------------------------------------------------------------------------------------------------

def accounted_as(world, key):
    listed = world.eu.slurm("sacct", "--noheader", "--parsable2", "--allusers", "--allocations", "--format=jobname,state")
    return [line.split("|")[1] for line in listed.splitlines() if key in line]


def case_accounting_down(world):
    """slurmdbd is dead while jobs end: status files and the queue suffice, and the operator is told."""
    faults = [*agent_says(world, "✔ accounting: kept", "held by the agent that runs")]
    own, killed = world.submit(world.job("ends-meanwhile", 2, code=3, **world.at_eu()),
                               world.job("cancelled-meanwhile", 60, placement={"sites": ["eu", "north"]}))
    world.eu.cluster("kill9-dbd")
    faults += agent_says(world, "✗ accounting: ", "is slurmdbd running?")
    if world.wait_state(own, "succeeded", "failed", "held", "lost")[:4] != ["failed", "eu", "1", "3"]:
        faults.append(f"what ended by itself is {world.row(own)}")
    if world.wait_state(killed, "running")[1] == "eu":
        world.eu.slurm("scancel", world.slurm_job(killed, "RUNNING"))
        world.federation.wait_for(lambda: int(world.row(killed)[2]) > 1, 90, "nobody noticed a scancel")
        if "SiteCancelled" not in world.reasons(killed):
            faults.append(f"the history does not say why: {world.reasons(killed)}")
    world.federation.helio("cancel", killed)
    world.wait_state(killed, "cancelled")
    world.eu.cluster("start-dbd")
    told = lambda: accounted_as(world, own) == ["FAILED"]  # the controller kept it meanwhile
    world.federation.wait_for(told, 30, "Slurm's accounting does not hear of what ended without it")
    return faults + agent_says(world, "✔ accounting: kept"), "ends were told without it; it was told of them when it was back"


CASES = {name[len("case_"):]: case for name, case in list(globals().items()) if name.startswith("case_")}


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
                if what is None:
                    print(f"SKIPPED: {name}: this user cannot mount a small disk", flush=True)
                    continue
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
