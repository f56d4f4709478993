#!/usr/bin/env python3
"""An agent's memory goes back while its jobs run: an older journal, a state folder that was deleted, before or below the
running agent, a folder that cannot be read. And who is taken for the site's agent: one that restarts together with the broker,
and a second agent with the same key.

    tests/faults/memory.py --build BUILD_DIR [--only CASE] [--keep]

The jobs themselves record when they start, live and end, and on which GPUs. By these records no two attempts of a job overlap
and no GPU has two jobs at a time; by the ledger all jobs succeed. Prints one line for each case; exit 0 only if all hold.
"""
import argparse, glob, os, shutil, signal, sys, tempfile, time

from federation import OWNED, Federation, LocalSite, run

GPUS = 4
READY_S = 5  # from a new leader to a session with a site that restarted together with it
ALIVE_S = 15  # the broker takes an agent for alive that it heard within this time


class Machine(LocalSite):
    """One machine of a few GPUs, so that a GPU that is offered twice is used twice."""

    def site_keys(self):
        return (f"pools:\n  - {{name: h100, gpu: H100, memory: 80GB, nodes: 1, gpus_per_node: {GPUS}, cpus_per_node: 64, {OWNED}, "
                f"price_usd_per_gpu_h: {self.price}}}\n")


def body(records, seconds):
    return (f"note() {{ echo \"$1 $HELIO_EPOCH $HELIO_NODE_RANK $(date +%s.%N) $CUDA_VISIBLE_DEVICES\" >> {records}/$HELIO_JOB_ID; }}; "
            f"note start; for i in $(seq {int(seconds * 5)}); do sleep 0.2; note beat; done; note end")


class World:
    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="helio-memory-")
        self.federation = Federation(build, self.folder, [Machine("north", 2.0)])
        self.federation.settings = "silent_after: 20s\n"
        self.state = self.federation.path("north", "state")
        self.ids = []

    def submit(self, *seconds, gpus=1):
        docs = [{"name": f"job-{len(self.ids) + i}", "gpu": f"H100:{gpus}", "time": "20m", "run": body(self.federation.records, s)}
                for i, s in enumerate(seconds)]
        ids = self.federation.submit(docs, f"memory-{self.folder}-{len(self.ids)}")
        self.ids += ids
        return ids

    def until(self, ids, *states, seconds=60):
        look = lambda: {key: self.federation.look_up(key) for key in ids}
        try:
            self.federation.wait_for(lambda: set(look().values()) <= set(states), seconds, f"not all jobs are {states}")
        except SystemExit as end:
            raise SystemExit(f"{end}\n{look()}\n{self.federation.last_words()}")

    def running(self, *seconds, **how):
        ids = self.submit(*seconds, **how)
        self.until(ids, "running")
        return ids

    def folder_of(self, key):
        return glob.glob(os.path.join(self.state, "attempts", f"helio-{key}-*"))[0]

    def spans(self):
        """(job, epoch) -> first and last record of it, and its GPUs."""
        found = {}
        for path in glob.glob(self.federation.records + "/*"):
            for line in open(path):
                _, epoch, _, at, gpus = (line.split() + [""])[:5]
                begin, _, _ = found.get((os.path.basename(path), epoch), (float(at), 0, ""))
                found[(os.path.basename(path), epoch)] = (begin, float(at), gpus)
        return found

    def faults(self):
        spans = sorted((begin, end, key, epoch, gpus) for (key, epoch), (begin, end, gpus) in self.spans().items())
        for i, (_, end, key, epoch, gpus) in enumerate(spans):
            for begin, _, other, its_epoch, its_gpus in spans[i + 1:]:
                if begin >= end:
                    continue
                if key == other:
                    yield f"{key}: epoch {its_epoch} began {end - begin:.1f} s before epoch {epoch} ended"
                elif set(gpus.split(",")) & set(its_gpus.split(",")):
                    yield f"{other} began on GPUs {its_gpus} {end - begin:.1f} s before {key} left GPUs {gpus}"
        if {key for key, _ in self.spans()} != set(self.ids):
            yield "not every job recorded a run"

    def logged(self, words, seconds=30, name="north"):
        self.federation.wait_for(lambda: words in self.federation.log(name), seconds, f"{name} does not log '{words}'")


def copy_journal(world):
    copies = world.federation.path("journal")
    shutil.rmtree(copies, ignore_errors=True)
    os.mkdir(copies)
    for path in glob.glob(os.path.join(world.state, "journal.db*")):
        shutil.copy2(path, copies)
    return copies


def put_back_journal(world, copies):
    for path in glob.glob(os.path.join(world.state, "journal.db*")):
        os.remove(path)
    for path in glob.glob(os.path.join(copies, "*")):
        shutil.copy2(path, world.state)


def go_back(world):
    """One job that the older journal knows and two that it does not; all three run when it is put back. The agent is dead."""
    f = world.federation
    f.up()
    known = world.running(10)
    f.kill("north")
    copies = copy_journal(world)
    f.start("north")
    unknown = world.running(10, 10)
    f.kill("north")
    put_back_journal(world, copies)
    return known, unknown


def case_older(world):
    known, unknown = go_back(world)
    world.federation.start("north")
    later = world.submit(1, 1, gpus=2)
    world.until(known + unknown + later, "succeeded")
    return "an older journal was put back; its jobs, those that it does not know and new ones succeeded"


def case_unreadable(world):
    """As before, and the folder of a job that the journal does not know cannot be opened for a while."""
    known, unknown = go_back(world)
    place = world.folder_of(unknown[0])
    away = world.federation.path("away")
    os.rename(place, away)
    open(place, "w").close()
    world.federation.start("north")
    later = world.submit(1, 1, gpus=2)
    world.logged("survey_incomplete")
    time.sleep(4)
    os.remove(place)
    os.rename(away, place)
    world.logged("survey_complete")
    world.until(known + unknown + later, "succeeded")
    return "nothing started on the GPUs of a job whose folder could not be read; all succeeded once it could"


def case_deleted(world):
    f = world.federation
    f.up()
    ids = world.running(8, 8, gpus=2)
    f.kill("north")
    shutil.rmtree(world.state)
    f.start("north")
    later = world.submit(1)
    world.until(ids + later, "succeeded", seconds=90)
    return "the state folder was deleted; its jobs were found, and ran again only after their end"


def case_emptied(world):
    """All files of the state folder are deleted below the running agent. It notices, ends, and its next start finds its jobs."""
    f = world.federation
    f.up()
    ids = world.running(14, 14, gpus=2)
    for path in glob.glob(os.path.join(world.state, "*")):
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    f.wait_for(lambda: f.procs["north"].poll() is not None, 12, "the agent does not notice that its memory is gone")
    world.logged("state_gone", seconds=1)
    f.wait_for(lambda: "h100 offers nothing: its agent ended because its state folder" in f.helio("sites").stdout, 10,
               "helio sites does not say why the agent ended")
    f.start("north")
    later = world.submit(1)
    world.until(ids + later, "succeeded", seconds=90)
    return "the state folder was emptied below the running agent, which ended; its jobs were found, and ran again only after their end"


def end(world, name, how):
    world.federation.procs[name].send_signal(how)
    world.federation.procs[name].wait()


def case_together(world):
    """Broker and agent restart together, killed or in order, so that no process of the agent has said goodbye to the leader."""
    f = world.federation
    f.up()
    ids = world.running(25)
    took = []
    for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        opened = f.log("north").count("session_open")
        end(world, "broker", how)
        end(world, "north", how)
        f.start("north")
        time.sleep(1)
        end(world, "north", how)  # and once more while no broker is there
        f.start("broker")
        f.wait_for(lambda: f.is_well("broker"), 30, "the broker does not lead")
        since = time.monotonic()
        f.start("north")
        f.wait_for(lambda: f.log("north").count("session_open") > opened, READY_S, "the new leader does not take the agent back")
        took.append(time.monotonic() - since)
    later = world.submit(1)
    world.until(ids + later, "succeeded")
    return f"broker and agent restarted together 3 times; a session was open {max(took):.1f} s after the start at the latest"


def clone(world, copied):
    """A clone with the same key beside the first agent, and before it at a new leader. copied: with a copy of its state."""
    f = world.federation
    f.up()
    ids = world.running(ALIVE_S + 15)
    with open(f.path("north", "site.yaml")) as file:
        text = file.read()
    state = f.path("clone", "state")
    os.mkdir(f.path("clone"))
    f.commands["clone"] = [*f.commands["north"][:-1], f.write("clone/site.yaml", text.replace(world.state, state))]
    if copied:
        run("cp", "-a", world.state, state)
    held = len(glob.glob(state + "/attempts/*"))
    f.start("clone")
    world.logged("broker_refused", name="clone")
    f.procs["north"].send_signal(signal.SIGSTOP)
    f.kill("broker")
    f.start("broker")
    time.sleep(8)
    f.kill("clone")  # a copy that restarts is no successor either
    f.start("clone")
    time.sleep(3)
    f.procs["north"].send_signal(signal.SIGCONT)
    f.wait_ready()
    if "session_open" in f.log("clone"):
        raise SystemExit("a new leader took the clone for the site's agent")
    later = world.submit(1)
    world.until(ids + later, "succeeded", seconds=90)
    if len(glob.glob(state + "/attempts/*")) > held:
        raise SystemExit("the clone ran a job")
    return "was refused, by the next leader too, which heard it first"


def case_second(world):
    return "a second agent with the key " + clone(world, copied=False)


def case_copied(world):
    return "a second agent with the key and a copy of the state folder " + clone(world, copied=True)


CASES = {name[len("case_"):]: case for name, case in list(globals().items()) if name.startswith("case_")}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--only", choices=sorted(CASES))
    args.add_argument("--keep", action="store_true")
    args = args.parse_args()
    bad = 0
    for name, case in CASES.items():
        if args.only not in (None, name):
            continue
        world, began = World(args.build), time.monotonic()
        try:
            what = case(world)
            faults = list(world.faults())
        except SystemExit as end:
            faults, what = [str(end), *world.faults()], "not finished"
        finally:
            world.federation.down()
        for fault in faults:
            print("FAULT", name, fault)
        print(f"{name}: {what}; {time.monotonic() - began:.0f} s; {len(faults)} faults", flush=True)
        bad += len(faults)
        if faults or args.keep:
            print("all files are kept in", world.folder)
        else:
            shutil.rmtree(world.folder, ignore_errors=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
