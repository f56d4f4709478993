"""A federation on machines that can fail: sites behind cables that can be cut, disks that can be filled, clocks that can be
set, processes that can be paused. Networks and mounts are this process's own (alone()), and end with it."""
import glob, os, signal, subprocess, sys

from federation import Federation, LocalSite, run

FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
ALONE = ["unshare", "--net", "--mount", "--propagation", "private"]
PREPARE = "ip link set lo up && mkdir -p /run/netns && mount -t tmpfs none /run/netns && mount -t tmpfs none /dev/shm"
NOWHERE = "02:00:00:00:00:99"  # an address that no card has


def why_not_alone():
    """Why this machine cannot give us networks and mounts of our own; None when it can."""
    probe = PREPARE + " && ip netns add probe && ip link add probe type veth peer name p netns probe"
    done = subprocess.run([*ALONE, "sh", "-c", probe], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return None if done.returncode == 0 else (done.stdout.splitlines() or ["unshare fails"])[-1]


def alone():
    """This program again, with networks and mounts of its own."""
    if "HELIO_ALONE" in os.environ:
        return
    command = [*ALONE, "sh", "-c", PREPARE + ' && exec "$@"', "sh", sys.executable, *sys.argv]
    os.execvpe(command[0], command, dict(os.environ, HELIO_ALONE="1"))


class Disk:
    """A small one, at a folder."""
    def __init__(self, path, size):
        self.path = path
        os.makedirs(path, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", path)

    def fill(self):
        """To the last byte, whoever is root or not."""
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
    """The wall clock of one machine: CLOCK_REALTIME of what is started with it. The clocks that only go forward stay."""
    def __init__(self, path):
        self.path = path
        self.set(0)

    def set(self, seconds):
        """So much ahead of the true one. Replaced at once: a process reads it at every look at the clock."""
        with open(self.path + ".next", "w") as f:
            f.write(f"{seconds:+d}\n")
        os.rename(self.path + ".next", self.path)
        self.ahead_s = seconds

    def environment(self):
        return [f"LD_PRELOAD={FAKETIME[0]}", f"FAKETIME_TIMESTAMP_FILE={self.path}", "FAKETIME_NO_CACHE=1",
                "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]


def children(pid):
    """It and all that it started, and those in turn."""
    found = [pid]
    for parent in found:
        for task in glob.glob(f"/proc/{parent}/task/*/children"):
            try:
                found += [int(child) for child in open(task).read().split()]
            except OSError:
                pass
    return found


class Site(LocalSite):
    """clock: a Clock of its own for the agent and its shims. disk: the size of the disk that its state is on."""
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
    """network: each site is a machine of its own, at the end of a cable to the broker's. disk: the size of PostgreSQL's."""
    def __init__(self, build, folder, sites, network=False, disk=None, clock=False, settings=""):
        super().__init__(build, folder, sites)
        self.network, self.settings = network, settings
        self.listen = "0.0.0.0" if network else "127.0.0.1"
        self.disk = Disk(self.path("disk"), disk) if disk else None
        self.pg = self.path("disk", "pg") if disk else self.path("pg")
        self.clock = Clock(self.path("clock")) if clock else None
        for i, site in enumerate(sites if network else []):
            run("ip", "netns", "add", site.name)
            run("ip", "link", "add", f"to-{site.name}", "type", "veth", "peer", "name", "uplink", "netns", site.name)
            for end, device, inside in ((1, f"to-{site.name}", []), (2, "uplink", ["-n", site.name])):
                run("ip", *inside, "addr", "add", f"10.99.{i}.{end}/30", "dev", device)
                run("ip", *inside, "link", "set", device, "up")
            run("ip", "-n", site.name, "link", "set", "lo", "up")

    def broker_host(self, site):
        return f"10.99.{self.sites.index(site)}.1" if self.network else self.listen

    def dress(self, name, command):
        site = next((site for site in self.sites if site.name == name), None)
        clock = site.clock if site and site.has_clock else None if site else self.clock
        if clock:
            command = ["env", *clock.environment(), *command]
        return ["nsenter", f"--net=/run/netns/{name}", *command] if site and self.network else command

    def down(self):
        super().down()
        if self.disk:
            self.disk.remove()

    # ---- cables

    def cut(self, site):
        run("ip", "link", "set", f"to-{site.name}", "down")

    def mend(self, site):
        run("ip", "link", "set", f"to-{site.name}", "up")

    def half(self, site, ear, *change):
        i = self.sites.index(site)
        inside, device, far = ([], f"to-{site.name}", 2) if ear == "site" else (["-n", site.name], "uplink", 1)
        run("ip", *inside, "neigh", change[0], f"10.99.{i}.{far}", *change[1:], "dev", device)

    def deafen(self, site, ear):
        """Half a cable: what is sent to the one end is lost, the other hears everything. ear: the site's or the broker's."""
        self.half(site, ear, "replace", "lladdr", NOWHERE, "nud", "permanent")

    def undeafen(self, site, ear):
        self.half(site, ear, "del")

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
        pids = self.pids(name)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        return pids

    def go_on(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass

    def ended(self, name):
        if name != "postgres":
            return self.procs[name].poll() is not None
        try:
            os.kill(self.pids(name)[0], 0)
        except (OSError, ValueError):
            return True
        return False
