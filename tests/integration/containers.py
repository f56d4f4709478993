#!/usr/bin/env python3
"""Jobs with an image at a site of the kind `local`: a real broker, agent and podman, rootless, with an image made on the spot from
one static program. Without podman the test is skipped; the command line itself is a unit test's.
  tests/integration/containers.py --build BUILD_DIR"""
import argparse, os, pwd, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import Federation, LocalSite, check  # noqa: E402

IMAGE = "localhost/helio-test:1"


class Site(LocalSite):
    nodes = 1

    def agent_keys(self, federation):
        return super().agent_keys(federation) + f"  containers: podman\n  container_probe: {IMAGE}\n  container_mounts: [{federation.records}]\n  path: {federation.path('bin')}:/usr/bin:/bin\n"


class Podman:
    """The runtime of the user that jobs run as, with storage below a home of its own. The site's `podman` has the site's files (docs/sites/local.md);
    those of the user name programs of the host that leave a mark."""

    def __init__(self, federation):
        self.home = federation.path("home")
        self.user = pwd.getpwnam(federation.job_user)
        self.wrapper = "runc" if shutil.which("runc") else "crun"
        self.config = federation.path("podman")
        os.mkdir(self.config)
        federation.write("podman/storage.conf", f'[storage]\ndriver = "vfs"\ngraphroot = "{self.home}/storage"\nrunroot = "{self.home}/run"\n')
        federation.write("podman/containers.conf",
                         f'[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "{self.wrapper}"\n')
        federation.write("podman/registries.conf", "")
        self.names = {"CONTAINERS_CONF": "containers.conf", "CONTAINERS_STORAGE_CONF": "storage.conf", "CONTAINERS_REGISTRIES_CONF": "registries.conf"}
        own = os.path.join(self.home, ".config", "containers")
        os.makedirs(own)
        self.mark, evil = f"{self.home}/mark", f"{self.home}/evil"
        for path, text in ((evil, f'#!/bin/sh\necho "$0 $*" >>{self.mark}\nexit 1\n'),
                           (f"{own}/storage.conf", f'[storage]\ndriver = "overlay"\n[storage.options]\nmount_program = "{evil}"\n'),
                           (f"{own}/containers.conf", f'[engine]\nruntime = "evil"\n[engine.runtimes]\nevil = ["{evil}"]\n')):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(evil, 0o755)
        os.mkdir(federation.path("bin"))  # jobs run as a user who has no home
        settings = "".join(f"export {name}={self.config}/{file}\n" for name, file in self.names.items())
        federation.write("bin/podman", f'#!/bin/sh\n{settings}HOME={self.home} exec /usr/bin/podman "$@"\n')
        os.chmod(federation.path("bin", "podman"), 0o755)
        for folder, _, names in os.walk(self.home):
            for path in [folder] + [os.path.join(folder, name) for name in names]:
                os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def call(self, *argv, given=None):
        who = dict(user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[]) if os.getuid() == 0 else {}
        return subprocess.run(["podman", *argv], input=given, cwd="/", env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.home, **{name: f"{self.config}/{file}" for name, file in self.names.items()}},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **who)

    def make_image(self, folder):
        """One static program under the names that the jobs use."""
        os.makedirs(f"{folder}/bin")
        os.mkdir(f"{folder}/tmp")
        shutil.copy("/bin/busybox", f"{folder}/bin/busybox")
        for name in ("sh", "echo", "sleep", "cat", "id", "kill", "true"):
            os.symlink("busybox", f"{folder}/bin/{name}")
        tar = subprocess.run(["tar", "--owner=0", "--group=0", "-C", folder, "-c", "."], stdout=subprocess.PIPE, check=True).stdout
        return self.call("import", "-", IMAGE, given=tar)


def missing():
    if not shutil.which("podman"):
        return "podman is not installed; deploy/packages/install.sh containers"
    static = subprocess.run(["ldd", "/bin/busybox"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return "" if "not a dynamic" in static.stdout else "there is no static busybox; deploy/packages/install.sh containers"


class World:
    def __init__(self, build, folder):
        self.federation = Federation(build, folder, [Site("here", 2.0)])
        self.podman = Podman(self.federation)

    def submit(self, program, **more):
        return self.federation.submit_one(image=more.pop("image", IMAGE), run=program, env={"COLOUR": "deep blue", **more.pop("env", {})}, **more)

    def state(self, job, column="state"):
        return self.federation.look_up(job, column)

    def until(self, job, *states, seconds=60):
        told = lambda: f"{job} is {self.state(job)}, not {states}: {self.federation.logs(job)}{self.federation.helio('explain', job, check=False).stdout}"
        deadline = time.monotonic() + seconds
        while self.state(job) not in states:
            if time.monotonic() > deadline:
                raise SystemExit(told() + self.federation.last_words())
            time.sleep(0.1)

    def left(self):
        """Processes of containers' runtimes that belong to this test, but for the one that keeps podman's namespace of a user."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                    if b"HOME=" + self.podman.home.encode() in environ.read() and name.read() != "podman pause\n":
                        found.append(pid)
            except OSError:
                pass
        return found


def plain(world):
    """The image's own files, the job's variables, its folder, its exit code; the process belongs to the job's user. The runtime
    ignores the variables: a PATH without podman, and a library that the host's linker would complain about."""
    job = world.submit("echo $COLOUR $HELIO_GPUS $HELIO_NODE_RANK; echo \"$TWO\" $LD_PRELOAD; cd /bin; [ -e /usr ] && echo host; echo result >$HELIO_OUTPUT_DIR/out; "
                       f"echo report >{world.federation.records}/seen; exit 3", name="plain", env={"PATH": "/nowhere", "LD_PRELOAD": "/no/such.so", "TWO": "one\ntwo"})
    world.until(job, "failed")
    check(world.federation.logs(job) == "deep blue 0 0\none\ntwo /no/such.so\n", f"the log: {world.federation.logs(job)!r}")
    check(world.state(job, "exit_code") == "3", f"exit code {world.state(job, 'exit_code')}")
    out = world.federation.path("here", "state", "output", f"helio-{job}-1", "out")
    with open(out, encoding="utf-8") as file:
        check(file.read() == "result\n", "what it wrote is not in its folder")
    check(os.stat(out).st_uid == world.podman.user.pw_uid, "what it wrote is not its user's")
    check(os.path.exists(world.federation.records + "/seen"), "the site's folder is not mounted")


def stopped(world):
    """A cancelled job gets its signal and its grace."""
    job = world.submit("trap 'echo saved; exit 0' TERM; echo began; sleep 60 & wait", name="stopped")
    world.until(job, "running")
    world.federation.wait_for(lambda: "began" in world.federation.logs(job), 20, "it does not begin")
    world.federation.helio("cancel", job)
    world.until(job, "cancelled")
    world.federation.wait_for(lambda: "saved" in world.federation.logs(job), 20, f"it had no grace: {world.federation.logs(job)!r}")


def limit(world):
    """Neither signal nor limit is heeded: it is killed, and nothing of it is left."""
    job = world.submit("trap '' TERM; while :; do sleep 1; done", name="limit", time="2s", checkpoint={"signal": "TERM", "grace": "1s"})
    world.until(job, "timeout")
    check(world.state(job, "exit_code") == "124", f"exit code {world.state(job, 'exit_code')}")


def absent(world):
    """An image that is nowhere: the runtime's words are the job's log."""
    job = world.submit("true", name="absent", image="localhost/helio-test:no-such")
    world.until(job, "failed")
    check(world.state(job, "exit_code") == "125", f"exit code {world.state(job, 'exit_code')}")
    check("no-such" in world.federation.logs(job), f"the log does not name the image: {world.federation.logs(job)!r}")


def agent_killed(world):
    job = world.submit("echo before; sleep 4; echo after", name="on")
    world.until(job, "running")
    world.federation.kill("here")
    world.federation.start("here")
    world.until(job, "succeeded")
    check(world.federation.logs(job) == "before\nafter\n", f"the log: {world.federation.logs(job)!r}")


def checked(world):
    """helio-agent check runs a container as the user of the jobs; with an image that is not there it says so."""
    f = world.federation
    said = subprocess.run([f.tool("helio-agent"), "check", "--config", f.path("here", "site.yaml")], text=True, stdout=subprocess.PIPE, check=False).stdout
    check(f"✔ containers: {f.path('bin')}/podman" in said and f"✔ container: {f.job_user} in a container of {IMAGE}" in said, said)
    with open(f.path("here", "site.yaml"), encoding="utf-8") as file:
        other = f.write("here/other.yaml", file.read().replace(f"container_probe: {IMAGE}", "container_probe: localhost/no-such:1"))
    said = subprocess.run([f.tool("helio-agent"), "check", "--config", other], text=True, stdout=subprocess.PIPE, check=False).stdout
    check(f"✗ container: {f.job_user}: " in said and "no-such" in said, said)


def own_files(world):
    """What the user's files name has not been run by any of these jobs; without the site's containers.conf it is."""
    podman = world.podman
    check(not os.path.exists(podman.mark), "a job ran a program that its user's own files name")
    podman.names.pop("CONTAINERS_CONF")
    said = podman.call("run", "--rm", "--network=host", "--cgroup-manager=cgroupfs", IMAGE, "/bin/true").stdout
    podman.names["CONTAINERS_CONF"] = "containers.conf"
    check(os.path.exists(podman.mark), f"the user's own file is not what it seems: nothing was tested: {said}")


SCENARIOS = (checked, plain, stopped, limit, absent, agent_killed, own_files)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options = parser.parse_args()
    why = missing()
    if why:
        print(f"SKIPPED: containers: {why}")
        return 77
    folder = tempfile.mkdtemp(prefix="helio-containers-")
    world = World(options.build, folder)
    made = world.podman.make_image(world.federation.path("image"))
    tried = world.podman.call("run", "--rm", "--quiet", "--network=host", "--shm-size=8g", "--log-driver=none", IMAGE, "/bin/true")
    if made.returncode or tried.returncode:
        print(f"SKIPPED: containers: podman runs none here: {(made.stdout if made.returncode else tried.stdout).decode(errors='replace').strip()[-200:]}")
        world.podman.call("system", "migrate")
        shutil.rmtree(folder, ignore_errors=True)
        return 77
    try:
        world.federation.up()
        for scenario in SCENARIOS:
            began = time.time()
            scenario(world)
            world.federation.wait_for(lambda: not world.left(), 20, f"processes are left: {world.left()}")
            print(f"{scenario.__name__:14} yes   {time.time() - began:5.1f} s", flush=True)
    finally:
        world.federation.down()
        world.podman.call("system", "migrate")
    shutil.rmtree(folder, ignore_errors=True)
    print("jobs in containers of podman, rootless")
    return 0


if __name__ == "__main__":
    sys.exit(main())
