"""What goes wrong, by kind. A fault begins, lasts for a time that the seed draws, and is undone; several can be under way at once,
but none has two of the same machine."""
import collections, os, random, signal, subprocess

from chaos.world import BROKERS, DATABASE, TWIN, now

SITES = ("north", "south", "east")
NETEM = "tc qdisc add dev lo root netem delay 1ms && tc qdisc del dev lo root"

# What happened: kind, the machines that it concerned, its begin and end by the clock since boot, and the attempts that it hit.
Episode = collections.namedtuple("Episode", "kind machines began ended attempts")


class Fault:
    """seconds: the bounds of its duration."""
    def __init__(self, kind, weight, seconds, where, begin, undo):
        self.kind, self.weight, self.seconds, self.where, self.begin, self.undo = kind, weight, seconds, where, begin, undo


def leader(w, rng):
    return [w.leader() or rng.choice(BROKERS)]


def standby(w, rng):
    leads = w.leader()
    return [name for name in BROKERS if name != leads][:1]


def site(w, rng):
    return [rng.choice(SITES)]


def one(name):
    return lambda w, rng: [name]


def with_brokers(w, rng):
    return [rng.choice(SITES), *BROKERS]


def with_one_broker(w, rng):
    return [rng.choice(SITES), *leader(w, rng)]


def with_database(w, rng):
    return [DATABASE, *leader(w, rng)]


def both(*machines):
    return lambda w, rng: list(machines)


# ---- each returns what its undo needs


def kill(w, machines, rng):
    w.kill(machines[0])


def revive(w, machines, _):
    w.revive(machines[0])


def pause(w, machines, rng):
    return [] if w.ended(machines[0]) else w.pause(machines[0])


def go_on(w, machines, pids):
    w.go_on(pids)


def cut(w, machines, rng):
    w.network.cut(machines[0])


def mend(w, machines, _):
    w.network.mend(machines[0])


def lose(*ways):
    """The first machine and each other one no longer hear one another: "in" towards the first, "out" from it."""
    def pairs(machines):
        return [(a, b) for other in machines[1:] for way in ways
                for a, b in [(other, machines[0]) if way == "in" else (machines[0], other)]]

    def begin(w, machines, rng):
        for sender, receiver in pairs(machines):
            w.network.lose(sender, receiver)

    def undo(w, machines, _):
        for sender, receiver in pairs(machines):
            w.network.deliver(sender, receiver)
    return begin, undo


def slow(w, machines, rng):
    run = ["tc", "qdisc", "add", "dev", f"to-{machines[0]}", "root", "netem", "delay", f"{rng.randint(50, 600)}ms",
           f"{rng.randint(10, 50)}ms", "loss", f"{rng.randint(0, 20)}%"]
    subprocess.run(run, check=True)


def fast(w, machines, _):
    subprocess.run(["tc", "qdisc", "del", "dev", f"to-{machines[0]}", "root"], check=True)


def disk_of(w, name):
    return w.disk if name == DATABASE else next(site.disk for site in w.sites if site.name == name)


def fill(w, machines, rng):
    disk_of(w, machines[0]).fill()


def clear(w, machines, _):
    disk_of(w, machines[0]).clear()
    if machines[0] == DATABASE and w.ended(DATABASE):
        w.revive(DATABASE)


def step(w, machines, rng):
    w.clock_of(machines[0]).set(rng.choice((-1, 1)) * rng.choice((3, 40, 3600, 86400)))


def right(w, machines, _):
    w.clock_of(machines[0]).set(0)


def restart(w, machines, rng):
    w.postgres("restart")


def forget(w, machines, rng):
    w.kill(machines[0])
    w.empty_state(machines[0])


def remember(w, machines, rng):
    w.copy_state(machines[0])


def roll_back(w, machines, _):
    w.kill(machines[0])
    w.put_back_state(machines[0])
    w.revive(machines[0])


def twin(w, machines, rng):
    alone = rng.random() < 0.5
    if alone:
        w.network.cut(machines[0])
    w.revive(TWIN)
    return alone


def no_twin(w, machines, alone):
    w.remove_twin()
    if alone:
        w.network.mend(machines[0])


def nothing(w, machines, _):
    pass


def shims(number):
    """A signal to a shim of some site; what its undo needs is the attempt and the process."""
    def begin(w, machines, rng):
        found = sorted(w.shims().items())
        if not found:
            return None
        pid, attempt = rng.choice(found)
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return None
        return pid, attempt
    return begin


def wake(w, machines, hit):
    if hit:
        w.go_on([hit[0]])


SHORT, LONG = (0.2, 8), (2, 45)
TABLE = [
    Fault("leader killed", 10, SHORT, leader, kill, revive),
    Fault("leader away", 2, (10, 30), leader, kill, revive),
    Fault("leader stopped", 5, (1, 30), leader, pause, go_on),
    Fault("leader cut off", 3, LONG, leader, cut, mend),
    Fault("standby killed", 3, SHORT, standby, kill, revive),
    Fault("standby stopped", 2, LONG, standby, pause, go_on),
    Fault("agent killed", 8, SHORT, site, kill, revive),
    Fault("agent away", 3, LONG, site, kill, revive),
    Fault("agent stopped", 5, LONG, site, pause, go_on),
    Fault("shim killed", 7, (0, 0), both("shim"), shims(signal.SIGKILL), nothing),
    Fault("shim stopped", 5, (1, 30), both("shim"), shims(signal.SIGSTOP), wake),
    Fault("database killed", 5, SHORT, one(DATABASE), kill, revive),
    Fault("database away", 2, (8, 40), one(DATABASE), kill, revive),
    Fault("database restarted", 3, (0, 0), one(DATABASE), restart, nothing),
    Fault("database stopped", 3, (1, 20), one(DATABASE), pause, go_on),
    Fault("database cut off", 3, (1, 30), one(DATABASE), cut, mend),
    Fault("database unheard by leader", 3, (1, 30), lambda w, rng: with_database(w, rng), *lose("out")),
    Fault("leader unheard by database", 3, (1, 30), lambda w, rng: with_database(w, rng), *lose("in")),
    Fault("database full", 2, (3, 15), one(DATABASE), fill, clear),
    Fault("site cut off", 6, LONG, site, cut, mend),
    Fault("site deaf", 4, LONG, with_brokers, *lose("in")),
    Fault("site mute", 4, LONG, with_brokers, *lose("out")),
    Fault("site cut off from one broker", 4, LONG, with_one_broker, *lose("in", "out")),
    Fault("brokers cut off from one another", 1, LONG, both(*BROKERS), *lose("in", "out")),
    Fault("link slow and lossy", 4, LONG, lambda w, rng: [rng.choice((*SITES, *BROKERS, DATABASE))], slow, fast),
    Fault("agent's disk full", 4, (2, 30), one("east"), fill, clear),
    Fault("site's clock set", 3, LONG, one("south"), step, right),
    Fault("broker's clock set", 3, LONG, one("broker-b"), step, right),
    Fault("agent's state put back", 5, (4, 30), site, remember, roll_back),
    Fault("agent's state deleted", 4, (0.2, 6), site, forget, revive),
    Fault("second agent", 4, (8, 40), both("north", TWIN), twin, no_twin),
]
KINDS = [fault.kind for fault in TABLE]


def lacks():
    """kind -> why this machine does not have it."""
    done = subprocess.run(["sh", "-c", NETEM], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {"link slow and lossy": "this kernel has no netem"} if done.returncode else {}


class Storm:
    """Draws faults by the seed, each with random numbers of its own, begins and undoes them; one of a machine that another fault has
    is left out. history: what is over."""
    def __init__(self, w, seed, kinds, pause_s, most=2):
        self.w, self.seed, self.pause_s, self.most, self.drawn, self.under_way, self.history = w, seed, pause_s, most, 0, [], []
        self.table = [fault for fault in TABLE if fault.kind in kinds]
        self.next_at = now() + 2

    def tend(self, going):
        """Undoes what is due; begins another one if it is time, unless the campaign is about to settle."""
        for item in list(self.under_way):
            if now() >= item[4] or not going:
                self.undo(item)
        if going and now() >= self.next_at and len(self.under_way) < self.most:
            self.drawn += 1
            rng = random.Random(f"{self.seed}, fault {self.drawn}")
            self.next_at = now() + rng.uniform(0.5, self.pause_s)
            self.begin(rng)

    def begin(self, rng):
        fault = rng.choices(self.table, [fault.weight for fault in self.table])[0]
        seconds = rng.uniform(*fault.seconds)
        machines = fault.where(self.w, rng)
        taken = {name for item in self.under_way for name in item[1]}
        if taken & set(machines) or any(name in self.w.due for name in machines):
            return
        began = now()
        kept = fault.begin(self.w, machines, rng)
        self.under_way.append((fault, machines, kept, began, began + seconds))
        print(f"{began - self.w.began:7.1f} {fault.kind}: {' '.join(machines)} for {seconds:.1f} s", flush=True)

    def undo(self, item):
        fault, machines, kept, began, _ = item
        self.under_way.remove(item)
        fault.undo(self.w, machines, kept)
        hit = [kept[1]] if fault.kind.startswith("shim") and kept else []
        if fault.kind.startswith("shim") and hit:
            print(f"        {hit[0]}", flush=True)
        self.history.append(Episode(fault.kind, tuple(machines), began, now(), tuple(hit)))
