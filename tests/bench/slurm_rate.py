#!/usr/bin/env python3
"""How long jobs take by `helio sbatch`, compared with `sbatch` on the same real Slurm clusters in the same run.

    tests/bench/slurm_rate.py --build BUILD_DIR [--jobs 130] [--seconds 15] [--gpus 26] [--clusters 1] [--rounds 2] [--keep]

Each job has one GPU and sleeps. A loop of single commands submits them all, as a user's script would; with several clusters each gets
every Nth job of the direct runs (--clusters must divide --gpus), and the federation chooses. The direct run and the federation's take turns,
and who is first changes with each round. A job writes down when it begins and ends: the time of a run is from before the first command to the
last end. Prints the times, the least possible one, the ratio, for how long a GPU was idle between two jobs, and how long a
command took. A run begins when the federation, too, has seen that the clusters are empty. Asserts nothing; exit 77 without Slurm.
"""
import argparse, os, shutil, statistics, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP + "/tests/faults")
from federation import Federation  # noqa: E402
from kill9 import make_sites  # noqa: E402

LONGEST_SECONDS = 1800


class Run:
    """Jobs that note when they begin and end, each in a file of its own."""

    def __init__(self, world, name):
        self.folder = os.path.join(world.folder, name)
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o1777)
        self.script = os.path.join(world.folder, name + ".sh")
        with open(self.script, "w") as script:
            script.write("#!/bin/bash\n#SBATCH --time=5 --gres=gpu:1 --output=/dev/null\n"
                         f"at={self.folder}/$SLURM_CLUSTER_NAME-$SLURM_JOB_ID\nbegan=$EPOCHREALTIME\nsleep {world.seconds}\n"
                         "echo $began $EPOCHREALTIME >$at.new && mv $at.new $at\n")
        self.commands = []

    def submit(self, command, env):
        began = time.monotonic()
        subprocess.run(command, check=True, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.commands.append(time.monotonic() - began)

    def times(self):
        """(cluster, begin, end) of each job that has ended."""
        found = []
        for name in os.listdir(self.folder):
            if not name.endswith(".new"):
                with open(os.path.join(self.folder, name)) as note:
                    found.append((name.split("-")[0], *map(float, note.read().split())))
        return found


class World:
    def __init__(self, args):
        self.folder, self.seconds, self.jobs, self.gpus = tempfile.mkdtemp(prefix="helio-rate-"), args.seconds, args.jobs, args.gpus
        on_a_node = args.gpus // args.clusters if args.gpus // args.clusters <= 64 else args.gpus // args.clusters // 2
        nodes = args.gpus // args.clusters // on_a_node
        if args.clusters * nodes * on_a_node != args.gpus:
            raise SystemExit(f"{args.gpus} GPUs cannot be divided among {args.clusters} clusters")
        self.sites, self.lab = make_sites(f"slurm:{args.clusters}", NODES=str(nodes), GPUS=str(on_a_node))
        self.federation = Federation(args.build, self.folder, self.sites)

    def down(self, purge):
        self.federation.down()
        subprocess.run([TOP + "/deploy/slurm-lab/down.sh", self.lab] + (["--purge"] if purge else []), check=False,
                       stdout=subprocess.DEVNULL)
        if purge:
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, how, number):
        run = Run(self, f"{how}{number}")
        self.federation.wait_for(lambda: self.federation.metric("helio_site_gpus_free") >= self.gpus, 60,
                                 "the federation does not see that the clusters are empty")
        began = time.time()
        for i in range(self.jobs):
            if how == "direct":
                run.submit(["sbatch", run.script], dict(os.environ, SLURM_CONF=self.sites[i % len(self.sites)].conf))
            else:
                run.submit([self.federation.tool("helio"), "sbatch", run.script], self.federation.env)
        deadline = time.monotonic() + LONGEST_SECONDS
        while len(run.times()) < self.jobs:
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.jobs - len(run.times())} jobs of {how} are not over after {LONGEST_SECONDS} s")
            time.sleep(0.2)
        self.federation.wait_for(lambda: self.federation.open_jobs() == 0 and not any(
            site.slurm("squeue", "--noheader").strip() for site in self.sites), 120, "the clusters are not empty")
        return run, max(end for _, _, end in run.times()) - began


def idle(run, gpus):
    """The time between an end and the begin of the next job that can have had its GPU: ends and begins of a cluster, in order."""
    found = []
    for cluster in {cluster for cluster, _, _ in run.times()}:
        mine = [(begin, end) for each, begin, end in run.times() if each == cluster]
        begins, ends = sorted(begin for begin, _ in mine), sorted(end for _, end in mine)
        found += [begin - end for begin, end in zip(begins[gpus:], ends)]
    return found


def tell(how, took, runs, gpus):
    gaps = [gap for run in runs for gap in idle(run, gpus)] or [0]
    commands = [each for run in runs for each in run.commands]
    print(f"{how:>10}: {statistics.median(took):.1f} s ({', '.join(f'{each:.1f}' for each in took)}); idle between jobs "
          f"{statistics.median(gaps):.2f} s (median), {max(gaps):.2f} s (most); a command {1000 * statistics.median(commands):.0f} ms")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--jobs", type=int, default=130)
    args.add_argument("--seconds", type=float, default=15)
    args.add_argument("--gpus", type=int, default=26)
    args.add_argument("--clusters", type=int, default=1)
    args.add_argument("--rounds", type=int, default=2)
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    world, good = World(args), False
    took, runs = {"direct": [], "helio": []}, {"direct": [], "helio": []}
    try:
        world.federation.up()
        for number in range(args.rounds):
            for how in ("direct", "helio") if number % 2 == 0 else ("helio", "direct"):
                run, seconds = world.run(how, number)
                took[how].append(seconds)
                runs[how].append(run)
        least = -(-args.jobs // args.gpus) * args.seconds
        print(f"{args.jobs} jobs of {args.seconds:g} s on {args.gpus} GPUs of {args.clusters} clusters; at least {least:.0f} s; "
              f"load {os.getloadavg()[0]:.1f}")
        for how, times in took.items():
            tell("sbatch" if how == "direct" else how + " sbatch", times, runs[how], args.gpus // args.clusters)
        ratios = [mine / direct for mine, direct in zip(took["helio"], took["direct"])]
        print(f"helio takes {statistics.median(ratios):.3f} of the direct time ({', '.join(f'{each:.3f}' for each in ratios)})")
        good = True
    finally:
        world.down(purge=good and not args.keep)
        if not good or args.keep:
            print("all files are kept in", world.folder, world.lab)


if __name__ == "__main__":
    main()
