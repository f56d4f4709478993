#!/usr/bin/env python3
"""Ordinary sbatch scripts on ordinary clusters under disturbances; the ledger is compared with `sacct`.

    tests/faults/slurm_campaign.py --build BUILD_DIR [--jobs 300] [--clusters 3] [--longest 12] [--calm] [--seed 1] [--keep]

Every script of tests/data/sbatch is submitted again and again with `helio sbatch`, each copy with a pause of up to --longest
seconds before its first command. Meanwhile controllers die or hang, nodes are drained, node daemons, agents, the broker
and PostgreSQL are killed, other users' jobs fill a cluster, and administrators cancel attempts. --calm leaves all of that out.

The check: every job ends as its script says; no attempt is charged less than its shim recorded, by more than whole seconds make
of it, nor more by more than its launch; for every attempt `sacct` and the ledger agree in exit code, user, number of nodes and GPUs,
and run time, of half of the attempts within a second, and for the attempt that completed a job also in its state; and the sums of
GPU-seconds agree within a hundredth. What happens while a controller is away, or is killed before
it has saved it, its accounting shows late, wrongly or not at all; such attempts are counted, and not compared with it.
Exit 0 only if all of this holds; 77 without Slurm.
"""
import argparse, collections, glob, os, random, re, shutil, subprocess, sys, tempfile, time

import verdict
from federation import TOP, Federation
from kill9 import ACCOUNTING_MEDIAN_SECONDS, ACCOUNTING_WORST_SECONDS, make_sites

EXPECTED = {"exit-3": ("failed", 3)}  # every other script succeeds
STATE_OF = {"COMPLETED": "succeeded", "FAILED": "failed", "TIMEOUT": "timeout"}
UNFINISHED = {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED"}
LONGEST_SECONDS = 900  # for all jobs to end
SAVED_SECONDS = 8      # after which a controller has saved what happened (it may take 5 s)
APART_PERCENT = 1.0    # the sums of GPU-seconds
SETTLED_SECONDS = 60   # after which every cluster has noticed the end of its jobs, also those that ended while it was away

Attempt = collections.namedtuple("Attempt", "state code user nodes gpus seconds")
Span = collections.namedtuple("Span", "site begin end")  # begin, end: seconds of the wall clock


def paused_copy(script, seconds, path):
    """The script with a pause before its first command, which is where its header of comments ends."""
    lines = open(script).read().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#"))
    pause = f"import time; time.sleep({seconds})\n" if "python" in lines[0] else f"sleep {seconds}\n"
    with open(path, "w") as copy:
        copy.write("".join(lines[:first] + [pause] + lines[first:]))
    return path


class Campaign:
    def __init__(self, federation, rng, longest_s):
        self.federation, self.rng, self.sites, self.longest_s = federation, rng, federation.sites, longest_s
        self.want = {}  # submission -> (script, state, exit code)
        self.done = collections.Counter()
        self.cancelled = set()  # jobs of which an administrator cancelled an attempt: a second time would hold them
        self.away = []  # a Span for each time that a controller was away, from what it may not have saved
        self.deck = []  # disturbances that are still to come before any of them comes again
        self.disturbances = {f.__name__: f for f in (
            self.controller_killed, self.controller_hangs, self.node_daemon_killed, self.node_drained, self.cluster_full,
            self.attempt_cancelled, self.daemon_killed, self.database_killed, self.accounting_killed)}

    # ---- what users do

    def submit(self, script, prepared):
        name = os.path.basename(script)[:-3]
        folder = self.federation.path("run", f"{len(self.want)}-{name}")
        os.makedirs(folder, mode=0o777)
        os.chmod(folder, 0o777)
        copy = paused_copy(script, round(self.rng.uniform(1, self.longest_s), 1), os.path.join(folder, name + ".sh"))
        after = [f"--dependency=afterok:{prepared}"] if name == "chain-train" and prepared else []
        for _ in range(60):  # the broker may be away
            done = self.federation.helio("sbatch", "--parsable", "-D", folder, *after, copy, check=False)
            if done.returncode == 0:
                key = done.stdout.strip()
                self.want[key] = (name, *EXPECTED.get(name, ("succeeded", 0)))
                return key
            if done.returncode not in (1, 7, 8):
                break
            time.sleep(0.5)
        raise SystemExit(f"helio sbatch {name}: exit {done.returncode}: {done.stderr}")

    # ---- what happens to clusters and daemons

    def slurm(self, site, *command):
        """An administrator's command; it may fail, as the cluster may be disturbed."""
        try:
            done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20,
                                  env=dict(os.environ, SLURM_CONF=site.conf))
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout if done.returncode == 0 else ""

    def a_site(self):
        return self.rng.choice(self.sites)

    def a_node(self, site):
        return f"{site.name}-n{self.rng.randint(1, 2)}"

    def controller_away(self, gone, seconds, back):
        site, began = self.a_site(), time.time()
        site.cluster(gone)
        time.sleep(seconds)
        site.cluster(back)
        self.away.append(Span(site.name, began - SAVED_SECONDS, time.time()))

    def controller_killed(self):
        self.controller_away("kill9-ctld", self.rng.uniform(0.5, 6), "start-ctld")

    def controller_hangs(self):
        self.controller_away("pause-ctld", self.rng.uniform(2, 12), "cont-ctld")

    def node_daemon_killed(self):
        site = self.a_site()
        node = self.a_node(site)
        site.cluster("kill9-slurmd", node)
        time.sleep(self.rng.uniform(0.2, 3))
        self.slurm(site, "scontrol", "update", f"NodeName={node}", "State=RESUME")  # if Slurm has drained it: "Duplicate jobid"
        site.cluster("start-slurmd", node)

    def node_drained(self):
        site = self.a_site()
        node = self.a_node(site)
        self.slurm(site, "scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=fan")
        time.sleep(self.rng.uniform(2, 8))
        self.slurm(site, "scontrol", "update", f"NodeName={node}", "State=RESUME")

    def cluster_full(self):
        site = self.a_site()
        numbers = [self.slurm(site, "sbatch", "--parsable", "--time=10", "--output=/dev/null", "--gres=gpu:8", "--wrap",
                              "sleep 600").strip() for _ in range(2)]
        time.sleep(self.rng.uniform(4, 10))
        numbers = [number for number in numbers if number]
        if numbers:
            for _ in range(5):  # a controller may just have been restarted
                if not self.slurm(site, "squeue", "--noheader", f"--jobs={','.join(numbers)}"):
                    break
                self.slurm(site, "scancel", *numbers)
                time.sleep(0.5)

    def attempt_cancelled(self):
        site = self.a_site()
        attempts = dict(reversed(line.split()) for line in self.slurm(site, "squeue", "--noheader", "--format=%i %j").splitlines())
        jobs = {name.rpartition("-")[0]: name for name in attempts if name.startswith("helio-")}
        if jobs.keys() - self.cancelled:
            job = self.rng.choice(sorted(jobs.keys() - self.cancelled))
            self.cancelled.add(job)
            self.slurm(site, "scancel", attempts[jobs[job]])

    def revive_later(self, name):
        self.federation.kill(name)
        time.sleep(self.rng.uniform(0.1, 2))
        self.federation.revive(name)

    def daemon_killed(self):
        self.revive_later(self.rng.choice(["broker", *(site.name for site in self.sites)]))

    def database_killed(self):
        self.revive_later("postgres")

    def accounting_killed(self):
        site = self.sites[0]
        site.cluster("kill9-dbd")
        time.sleep(self.rng.uniform(0.5, 3))
        site.cluster("start-dbd")

    def disturb(self):
        if not self.deck:
            self.deck = sorted(self.disturbances)
            self.rng.shuffle(self.deck)
        name = self.deck.pop()
        self.disturbances[name]()
        self.done[name] += 1

    def open_jobs(self):
        """Without those that are held: they stay so, which is a fault."""
        rows = self.federation.sql("select count(*) from helio_report.jobs where finished_at is null and state <> 'held'")
        return int(rows[0][0]) if rows else None

    def drive(self, scripts, jobs, calm):
        began, prepared, turn = time.monotonic(), None, 0
        while len(self.want) < jobs or self.open_jobs() != 0:
            for _ in range(min(10, jobs - len(self.want))):
                key = self.submit(scripts[turn % len(scripts)], prepared)
                prepared = key if self.want[key][0] == "chain-prepare" else prepared
                turn += 1
            if not calm and len(self.want) >= 20:
                self.disturb()
            time.sleep(1)
            if time.monotonic() - began > LONGEST_SECONDS:
                raise SystemExit(f"{self.open_jobs()} jobs are not over after {LONGEST_SECONDS} s; logs are in {self.federation.dir}")
        return time.monotonic() - began


# ---- the verdict ------------------------------------------------------------------------------------------------------

def by_sacct(sites):
    """(job, epoch) -> Attempt of every attempt that a cluster's accounting knows."""
    found = {}
    for site in sites:
        out = site.slurm("sacct", "--noheader", "--parsable2", "--allocations", "--duplicates", "--allusers", "--starttime=now-1days",
                         "--format=jobname,state,exitcode,user,nnodes,alloctres,elapsedraw")
        for line in out.splitlines():
            name, state, code, user, nodes, tres, elapsed = line.rsplit("|", 6)
            m = re.fullmatch(r"helio-([0-9a-z]{26})(?:-(\d+))?-(\d+)", name)
            if m:
                gpus = re.search(r"gres/gpu=(\d+)", tres)
                exit_code, signal = map(int, code.split(":"))
                found[m[1] + (f".{m[2]}" if m[2] is not None else ""), int(m[3])] = Attempt(
                    state.split()[0], exit_code or (128 + signal if signal else 0), user, int(nodes),
                    int(gpus[1]) if gpus else 0, int(elapsed))
    return found


def settle_accounting(sites):
    """Waits for the controllers' last messages to slurmdbd, which one that was away for a while gets late."""
    deadline = time.monotonic() + SETTLED_SECONDS
    time.sleep(3)
    while any(each.state in UNFINISHED for each in by_sacct(sites).values()) and time.monotonic() < deadline:
        time.sleep(1)


def by_ledger(federation):
    """(job, epoch) -> (Attempt, its Span, whether it completed its job) of every attempt that ran to an end."""
    rows = federation.sql("""
        select a.key, a.epoch, j.state, coalesce(a.exit_code, -1), j.nodes, coalesce(round(l.gpu_ms / nullif(a.run_ms, 0)), 0),
               a.run_ms / 1000.0, a.completes, a.site, extract(epoch from coalesce(a.started_at, a.at)), extract(epoch from a.at)
        from (select *, helio.job_text(a.job_id, a.task) as key from helio.attempts a where run_ms > 0) a
        join helio_report.jobs j on j.job_id = a.key
        left join (select helio.job_text(job_id, task) as key, epoch, sum(gpu_ms) as gpu_ms from helio.ledger group by 1, 2) l
          on l.key = a.key and l.epoch = a.epoch""")
    return {(r[0], int(r[1])): (Attempt(r[2], int(r[3]), federation.job_user, int(r[4]), int(float(r[5])), float(r[6])),
                                Span(r[8], float(r[9]), float(r[10])), r[7] == "t") for r in rows}


def ends(federation, want):
    rows = federation.sql("select job_id, state, coalesce(exit_code, -1), coalesce(reason, '') from helio_report.jobs")
    seen = collections.Counter(r[0].split(".")[0] for r in rows)
    for key in want:
        if not seen[key]:
            yield f"{key} ({want[key][0]}) is missing"
    for key, state, code, reason in rows:
        name, wanted_state, wanted_code = want[key.split(".")[0]]
        if (state, int(code)) != (wanted_state, wanted_code):
            yield f"{key} ({name}): {state} with exit code {code}, expected {wanted_state} with {wanted_code}: {reason}"


def as_recorded(federation, figures):
    """The run time of every attempt is that which its shim recorded, and its launch."""
    ledger, differences = by_ledger(federation), []
    for key, run_s in verdict.shim_records(federation.sites).items():
        charged = ledger[key][0].seconds if key in ledger else 0.0
        differences.append(abs(run_s - charged))
        if not verdict.is_charged(charged, run_s, True):
            yield f"{key[0]} epoch {key[1]}: ran {run_s:.1f} s, recorded are {charged:.1f} s"
    figures.update(recorded=len(differences), recorded_worst=max(differences, default=0))


def overlap(one, other):
    return one.site == other.site and one.begin < other.end and other.begin < one.end


def agreement(federation, want, away, figures):
    theirs, differences, sums = by_sacct(federation.sites), [], [0.0, 0.0]
    for (key, epoch), (mine, span, completes) in sorted(by_ledger(federation).items()):
        what = f"{key} epoch {epoch} ({want[key.split('.')[0]][0]})"
        if any(overlap(span, each) for each in away):
            figures["unseen"] += 1
            continue
        their = theirs.get((key, epoch))
        if not their:
            yield f"{what}: sacct does not know it"
            continue
        for field in ["user", "nodes", "gpus"] + (["code"] if completes else []):
            if getattr(mine, field) != getattr(their, field):
                yield f"{what}: {field} {getattr(mine, field)}, by sacct {getattr(their, field)}"
        if completes and STATE_OF.get(their.state, their.state) != mine.state:
            yield f"{what}: {mine.state}, by sacct {their.state}"
        differences.append(abs(their.seconds - mine.seconds))
        if differences[-1] > ACCOUNTING_WORST_SECONDS:
            yield f"{what}: ran {mine.seconds:.1f} s, by sacct {their.seconds} s"
        sums[0] += mine.gpus * mine.seconds
        sums[1] += their.gpus * their.seconds
    differences.sort()
    figures.update(attempts=len(differences),
                   median=differences[len(differences) // 2] if differences else 0, worst=differences[-1] if differences else 0)
    if figures["median"] > ACCOUNTING_MEDIAN_SECONDS:
        yield f"half of the attempts differ from sacct by over {figures['median']:.1f} s"
    figures["apart"] = 100 * (sums[0] - sums[1]) / max(sums[1], 1)
    if abs(figures["apart"]) > APART_PERCENT:
        yield f"the sums of GPU-seconds are {figures['apart']:+.2f} % apart"


def reach(campaign, jobs, calm):
    """The cases without which passing proves nothing."""
    ran_at = verdict.spread(campaign.federation)
    for site in campaign.sites:
        if not ran_at[site.name]:
            yield f"no job ran at {site.name}"
    if not calm and jobs >= 120:
        for name in campaign.disturbances:
            if not campaign.done[name]:
                yield f"no disturbance of the kind '{name}' happened"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--jobs", type=int, default=300)
    args.add_argument("--clusters", type=int, default=3)
    args.add_argument("--longest", type=float, default=12)
    args.add_argument("--calm", action="store_true")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-campaign-")
    sites, lab = make_sites(f"slurm:{args.clusters}", EXTRA=r"AccountingStorageTRES=gres/gpu")
    federation = Federation(args.build, folder, sites)
    scripts = sorted(glob.glob(TOP + "/tests/data/sbatch/*.sh"))
    faults = []
    try:
        federation.up()
        campaign = Campaign(federation, random.Random(args.seed), args.longest)
        figures = collections.Counter()
        took = campaign.drive(scripts, args.jobs, args.calm)
        deadline = time.monotonic() + SETTLED_SECONDS
        while any(verdict.leftovers(federation)) and time.monotonic() < deadline:
            time.sleep(1)
        settle_accounting(federation.sites)
        faults += [*ends(federation, campaign.want), *agreement(federation, campaign.want, campaign.away, figures),
                   *as_recorded(federation, figures), *verdict.leftovers(federation), *reach(campaign, args.jobs, args.calm)]
        for fault in faults:
            print("FAULT", fault)
        print(", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(campaign.done.items())))
        print(f"{len(campaign.want)} jobs of {len(scripts)} scripts in {took:.0f} s; {figures['recorded']} attempts compared with their shims' "
              f"records, worst {figures['recorded_worst']:.1f} s; {figures['attempts']} with sacct: {figures['median']:.1f} s apart (median), "
              f"{figures['worst']:.1f} s (worst), GPU-seconds {figures['apart']:+.2f} % in sum; {figures['unseen']} while a controller was away; "
              f"{len(faults)} faults")
    except SystemExit as end:
        print(end)
        faults.append(str(end))
    finally:
        federation.down()
        keep = faults or args.keep
        subprocess.run([TOP + "/deploy/slurm-lab/down.sh", lab] + ([] if keep else ["--purge"]), check=False,
                       stdout=subprocess.DEVNULL)
        if keep:
            print("all files are kept in", folder, lab)
        else:
            shutil.rmtree(folder)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
