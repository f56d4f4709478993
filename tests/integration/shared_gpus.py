#!/usr/bin/env python3
"""GPUs that jobs share at a site of one machine: slices, shares by MPS and by time-slicing, with a real broker and agent. The driver's library is the
double of the unit tests, and MPS's daemon is a script that keeps its files: no GPU is needed.
  tests/integration/shared_gpus.py --build BUILD_DIR"""
import argparse, os, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import OWNED, Federation, LocalSite, check  # noqa: E402

H100, L4, A10 = "NVIDIA H100 80GB HBM3", "NVIDIA L4", "NVIDIA A10"
FIRST, OTHER = "0:1g.10gb@a,1g.10gb@b,1g.10gb@c", "0:1g.10gb@c,1g.10gb@d,,1g.10gb@a"  # b was cut anew, and the order is another
CONTROL = """#!/bin/sh
setsid sleep 600 </dev/null >/dev/null 2>&1 &
echo "$CUDA_VISIBLE_DEVICES" >"$CUDA_MPS_LOG_DIRECTORY/devices"
echo $! >"$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"
"""
SHOW = 'echo "$CUDA_VISIBLE_DEVICES of $HELIO_GPUS mps=$CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE $CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"; '


class Site(LocalSite):
    def site_keys(self):
        return ("pools:\n"
                f"  - {{name: small, gpu: H100/1g.10gb, sharing: mig, nodes: 1, {OWNED}, price_usd_per_gpu_h: 1}}\n"
                f"  - {{name: l4, gpu: L4, sharing: timeslice, nodes: 1, {OWNED}, price_usd_per_gpu_h: 1}}\n"
                f"  - {{name: a10, gpu: A10, sharing: mps, nodes: 1, {OWNED}, price_usd_per_gpu_h: 1}}\n")

    def agent_keys(self, federation):
        return super().agent_keys(federation) + ("  shares:\n    - {pool: l4, jobs_per_gpu: 2}\n"
                                                 f"    - {{pool: a10, jobs_per_gpu: 4, mps_command: [{federation.path('control')}]}}\n")


class Machine(Federation):
    slices = FIRST

    def dress(self, name, command):
        if name != "here":
            return command
        return ["env", f"LD_LIBRARY_PATH={self.path('driver')}", f"NVML_DOUBLE_NAMES={H100};{L4};{L4};{A10}", f"NVML_DOUBLE_MIG={self.slices}", *command]

    def pipe(self):
        return self.path("here", "state", "mps", "a10", "pipe")

    def daemon(self):
        try:
            with open(f"{self.pipe()}/nvidia-cuda-mps-control.pid", encoding="utf-8") as file:
                return int(file.read())
        except (OSError, ValueError):
            return 0

    def job(self, gpu, program, **more):
        return self.submit_one(gpu=gpu, run=SHOW + program, time="5m", **more)

    def seen(self, job):
        """The first line of its log, once it is there."""
        self.wait_for(lambda: "\n" in self.logs(job), 30, f"{job} does not begin: {self.helio('explain', job, check=False).stdout}")
        return self.logs(job).splitlines()[0]

    def free(self, pool):
        rows = self.sql(f"select gpus_total - gpus_allocated from helio_report.fleet_now where pool = '{pool}'")
        return int(rows[0][0]) if rows and rows[0][0] else -1

    def restart(self):
        begun = self.log("here").count("session_open")
        self.kill("here")
        self.start("here")
        self.wait_for(lambda: self.log("here").count("session_open") > begun, 30, "the agent does not come back")

    def end(self, *jobs):
        self.helio("cancel", *jobs)
        for job in jobs:
            self.wait_for(lambda: self.look_up(job) == "cancelled", 30, f"{job} is not cancelled")


def slices(f):
    """Three slices: three jobs, each with one of its own by UUID; a fourth waits. A new agent, before which the driver lists them otherwise, gives
    nobody's slice to another."""
    jobs = [f.job("H100/1g.10gb:1", "sleep 300") for _ in range(3)]
    held = {job: f.seen(job).split()[0] for job in jobs}
    check(sorted(held.values()) == ["MIG-double-a", "MIG-double-b", "MIG-double-c"], f"the slices: {held}")
    waits = f.job("H100/1g.10gb:1", "sleep 300")
    f.wait_for(lambda: f.free("small") == 0, 20, "the pool is not full")
    check(f.look_up(waits) == "queued", f"a fourth job on three slices is {f.look_up(waits)}")
    f.slices = OTHER
    f.restart()
    of_b = next(job for job, device in held.items() if device == "MIG-double-b")
    f.end(of_b)  # its slice is gone: the new one is in its place
    check(f.seen(waits).split()[0] == "MIG-double-d", f"the next job sees {f.seen(waits)}")
    check(all(f.look_up(job) == "running" for job in jobs if job != of_b), "a job did not outlive the agent")
    f.end(waits, *(job for job in jobs if job != of_b))


def timeslice(f):
    """Two GPUs, two jobs each. The first two have a GPU for themselves. Who does not tolerate neighbours is refused."""
    try:
        f.job("L4:1", "true")
    except SystemExit as refused:
        check("NoSharing" in str(refused), f"it is refused otherwise: {refused}")
    else:
        check(False, "a job that tolerates no neighbours was accepted")
    jobs = [f.job("L4:1", "sleep 300", sharing="timeslice") for _ in range(4)]
    devices = [f.seen(job).split()[0] for job in jobs]
    check(sorted(devices) == ["1", "1", "2", "2"], f"the devices: {devices}")
    f.wait_for(lambda: f.free("l4") == 0, 20, "the pool is not full")
    f.end(*jobs)


def mps(f):
    """A quarter of a GPU, by the variables of MPS. While no daemon runs nothing is offered, and it is started again."""
    first = f.daemon()
    check(first > 1, "no daemon runs")
    job = f.job("A10:1", "sleep 300", sharing="mps")
    check(f.seen(job) == f"3 of 1 mps={f.pipe()} 25 0=20480M", f"it sees {f.seen(job)}")
    double = f.job("A10:2", "true", sharing="mps", env={"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "100"})
    check(f.seen(double) == f"3 of 1 mps={f.pipe()} 50 0=40960M", f"two shares see {f.seen(double)}")
    f.restart()
    check(f.daemon() == first, "the next agent did not find the daemon")
    os.kill(first, signal.SIGKILL)
    for event in ("gpus_gone", "gpus_answer"):  # the agent looks before each order
        f.job("L4:1", "true", sharing="timeslice")
        f.wait_for(lambda: event in f.log("here") and f.daemon() not in (0, first), 30, f"no {event}, or no other daemon")
    f.end(job)


def checked(f):
    said = subprocess.run(f.dress("here", [f.tool("helio-agent"), "check", "--config", f.path("here", "site.yaml")]), text=True, stdout=subprocess.PIPE, check=False).stdout
    for line in ("✔ devices small: 3 slices H100/1g.10gb", "✔ devices l4: 2 GPUs, each for at most 2 jobs at a time (timeslice)", "✔ devices a10: 1 GPU,",
                 f"✔ mps a10: its daemon runs, in {f.pipe()}"):
        check(line in said, f"no line '{line}' in:\n{said}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-shared-")
    f = Machine(options.build, folder, [Site("here", 1.0)])
    os.mkdir(f.path("driver"))
    shutil.copy(os.path.join(f.build, "tests", "libhelio_nvml_double.so"), f.path("driver", "libnvidia-ml.so.1"))
    os.chmod(f.write("control", CONTROL), 0o755)
    try:
        f.up()
        for scenario in (checked, slices, timeslice, mps):
            began = time.time()
            scenario(f)
            print(f"{scenario.__name__:10} yes   {time.time() - began:5.1f} s", flush=True)
    finally:
        f.down()
        if f.daemon() > 1:
            os.kill(f.daemon(), signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    print("slices and shares of GPUs are handed out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
