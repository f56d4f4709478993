"""A federation on machines that can fail: network links that can be cut, disks that can be filled, clocks that can be
set, processes that can be paused. Networks and mounts are private to this process (alone()), and end with it."""
import glob, os, signal, subprocess, sys

from federation import Federation, LocalSite, run

FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
ALONE = ["unshare", "--net", "--mount", "--propagation", "private"]
PREPARE = "ip link set lo up && mkdir -p /run/netns && mount -t tmpfs none /run/netns && mount -t tmpfs none /dev/shm"
NOWHERE = "02:00:00:00:00:99"  # an address that no interface has


def why_not_alone():
    """Why this process cannot have private networks and mounts here; None if it can."""
    probe = PREPARE + " && ip netns add probe && ip link add probe type veth peer name p netns probe"
    done = subprocess.run([*ALONE, "sh", "-c", probe], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return None if done.returncode == 0 else (done.stdout.splitlines() or ["unshare fails"])[-1]


def alone():
    """Restarts this program with private networks and mounts."""
    if "HELIO_ALONE" in os.environ:
        return
    command = [*ALONE, "sh", "-c", PREPARE + ' && exec "$@"', "sh", sys.executable, *sys.argv]
    os.execvpe(command[0], command, dict(os.environ, HELIO_ALONE="1"))


class Network:
    """Machines on one bridge, each a network namespace with an address of its own. This program is the machine HERE."""
    HERE = "here"

    def __init__(self, machines):
        self.addresses = {name: f"10.99.0.{i}" for i, name in enumerate((self.HERE, *machines), 1)}
        run("ip", "link", "add", "bridge", "type", "bridge")
        self.open([], "bridge", self.HERE)
        for name in machines:
            run("ip", "netns", "add", name)
            run("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "uplink", "netns", name)
            run("ip", "link", "set", f"to-{name}", "master", "bridge", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            self.open(["-n", name], "uplink", name)

    def open(self, inside, device, name):
        run("ip", *inside, "addr", "add", f"{self.addresses[name]}/24", "dev", device)
        run("ip", *inside, "link", "set", device, "up")

    def enter(self, name, command):
        """The command, on that machine."""
        return ["nsenter", f"--net=/run/netns/{name}", *command] if name in self.addresses and name != self.HERE else command

    # ---- the link of one machine

    def cut(self, name):
        run("ip", "link", "set", f"to-{name}", "down")

    def mend(self, name):
        run("ip", "link", "set", f"to-{name}", "up")

    # ---- one direction between two machines

    def neighbour(self, sender, receiver, *change, check=True):
        inside, device = ([], "bridge") if sender == self.HERE else (["-n", sender], "uplink")
        subprocess.run(["ip", *inside, "neigh", change[0], self.addresses[receiver], *change[1:], "dev", device], check=check)

    def lose(self, sender, receiver):
        """Packets of the sender to the receiver are lost; those of the other direction arrive."""
        self.neighbour(sender, receiver, "replace", "lladdr", NOWHERE, "nud", "permanent")

    def deliver(self, sender, receiver):
        self.neighbour(sender, receiver, "del", check=False)  # gone already where the link was down meanwhile


class Disk:
    """A small disk, mounted at a folder."""
    def __init__(self, path, size):
        self.path = path
        os.makedirs(path, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", path)

    def fill(self):
        """Fills the disk to the last byte, for root and for other users."""
        with open(os.path.join(self.path, "filler"), "ab", buffering=0) as filler:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while filler.write(b"x" * size):
                        pass
                except OSError:
                    pass

    def clear(self):
        os.unlink(os.path.join(self.path, "filler"))

    def remove(self):
        subprocess.run(["umount", "--lazy", self.path], check=False)


class Clock:
    """The wall clock of one machine: CLOCK_REALTIME of the processes started with it. Monotonic clocks are not changed."""
    def __init__(self, path):
        self.path = path
        self.set(0)

    def set(self, seconds):
        """Sets the offset from the true time. The file is replaced atomically: a process reads it whenever it reads the clock."""
        with open(self.path + ".next", "w") as f:
            f.write(f"{seconds:+d}\n")
        os.rename(self.path + ".next", self.path)
        self.ahead_s = seconds

    def environment(self):
        return [f"LD_PRELOAD={FAKETIME[0]}", f"FAKETIME_TIMESTAMP_FILE={self.path}", "FAKETIME_NO_CACHE=1",
                "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]


def children(pid):
    """The process and all its descendants."""
    found = [pid]
    for parent in found:
        for task in glob.glob(f"/proc/{parent}/task/*/children"):
            try:
                found += [int(child) for child in open(task).read().split()]
            except OSError:
                pass
    return found


class Site(LocalSite):
    """clock: a Clock of its own for the agent and its shims. disk: the size of the disk of its state."""
    def __init__(self, name, price, clock=False, disk=None, more=""):
        super().__init__(name, price)
        self.has_clock, self.disk_size, self.more, self.disk = clock, disk, more, None

    def up(self, federation):
        super().up(federation)
        if self.disk_size:
            self.disk = Disk(federation.path(self.name, "state"), self.disk_size)
            os.chmod(self.disk.path, 0o711)
        if self.has_clock:
            self.clock = Clock(federation.path(self.name, "clock"))

    def site_keys(self):
        return super().site_keys() + self.more

    def agent_keys(self, federation):
        if not self.has_clock:
            return super().agent_keys(federation)
        shim = federation.write(f"{self.name}/shim", "#!/bin/sh\n" + f"export {' '.join(self.clock.environment())}\n"
                                f'exec {federation.tool("helio-shim")} "$@"\n')
        os.chmod(shim, 0o755)
        return f"  shim: {shim}\n"

    def down(self):
        if self.disk:
            self.disk.remove()


class Hosts(Federation):
    """network: each site is a machine of its own, and so is each daemon of `machines`. disk: the size of PostgreSQL's disk.
    clock: the brokers have a clock of their own."""
    def __init__(self, build, folder, sites, network=False, machines=(), disk=None, clock=False, settings="", **more):
        super().__init__(build, folder, sites, **more)
        self.network, self.settings = Network([*machines, *(site.name for site in sites)]) if network else None, settings
        self.disk = Disk(self.path("disk"), disk) if disk else None
        self.pg = self.path("disk", "pg") if disk else self.path("pg")
        self.clock = Clock(self.path("clock")) if clock else None

    def address(self, name):
        return self.network.addresses.get(name, self.network.addresses[Network.HERE]) if self.network else super().address(name)

    def clock_of(self, name):
        """The clock of a daemon; None = the true one."""
        site = next((site for site in self.sites if site.name == name), None)
        return site.clock if site and site.has_clock else self.clock if name in self.brokers else None

    def dress(self, name, command):
        clock = self.clock_of(name)
        if clock:
            command = ["env", *clock.environment(), *command]
        return self.network.enter(name, command) if self.network else command

    def down(self):
        super().down()
        if self.disk:
            self.disk.remove()

    # ---- processes

    def kill(self, name):
        super().kill(name)
        if name != "postgres":  # what libfaketime removes at a process's own end
            for path in glob.glob(f"/dev/shm/*faketime_s*_{self.procs[name].pid}"):
                os.unlink(path)

    def pids(self, name):
        if name != "postgres":
            return [self.procs[name].pid]
        with open(os.path.join(self.pg, "data", "postmaster.pid")) as f:
            return children(int(f.readline()))

    def pause(self, name):
        """Stops it with all its children; some of those of a database end while they are being counted."""
        return self.tell(self.pids(name), signal.SIGSTOP)

    def go_on(self, pids):
        self.tell(pids, signal.SIGCONT)

    @staticmethod
    def tell(pids, number):
        """Returns those that were there."""
        there = []
        for pid in pids:
            try:
                os.kill(pid, number)
                there.append(pid)
            except ProcessLookupError:
                pass
        return there

    def ended(self, name):
        if name != "postgres":
            return self.procs[name].poll() is not None
        try:
            os.kill(self.pids(name)[0], 0)
        except (OSError, ValueError):
            return True
        return False
