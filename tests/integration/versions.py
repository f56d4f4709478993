#!/usr/bin/env python3
"""Peers of different versions, with a real broker, PostgreSQL, agents and processes: an older agent with the current broker over
whole lives of jobs, its update and downgrade with one journal, the current agent with an older broker and the broker's update, and
an agent that has no version in common. The older ones are built from the same sources (tests/peers), or given.
  tests/integration/versions.py --build BUILD_DIR [--older-agent PROGRAM] [--older-broker PROGRAM]"""
import argparse, json, os, shutil, signal, subprocess, sys, tempfile, urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import Federation, LocalSite, check, run  # noqa: E402

OVER = ("succeeded", "failed", "timeout", "cancelled", "lost")


class Windowed(LocalSite):
    """A site that reserves GPUs by the clock, and reports them in a series of version 3."""

    def site_keys(self):
        return (super().site_keys() +
                'windows:\n  - {pool: h100, reserve_gpus: 2, when: "00:00-24:00"}\n')


class Mixed(Federation):
    """A federation in which each process can run another program."""

    def __init__(self, build, folder, sites, programs):
        super().__init__(build, folder, sites)
        self.programs = programs  # name of the process: program

    def tool(self, name):
        return self.programs.get("broker", super().tool(name)) if name == "helio-broker" else super().tool(name)

    def start(self, name):
        self.commands[name][0] = self.programs.get(name) or (
            self.tool("helio-broker") if name == "broker" else Federation.tool(self, "helio-agent"))
        super().start(name)

    def wait_ready(self, seconds=60):
        names = {s.name for s in self.sites if s.name != "strange"}
        self.wait_for(lambda: names <= {s["site"] for s in self.site_list() if s["state"] == "ready"}, seconds,
                      "the federation is not ready")

    def stop(self, name):
        self.procs[name].send_signal(signal.SIGTERM)
        self.procs[name].wait(30)

    def job(self, site, command, **more):
        doc = dict(name="skew", queue="standard", gpu="H100:1", cpus=1, time="10m", run=command,
                   placement={"sites": [site]}, **more)
        return self.submit_one(**doc)

    def state(self, job):
        rows = self.sql(f"select state from helio_report.jobs where job_id = '{job}'")
        return rows[0][0] if rows else ""

    def until(self, job, *states):
        # a new leader awaits the former agent of a site for a minute before it admits another
        self.wait_for(lambda: self.state(job) in states, 120, f"job {job} is not {' or '.join(states)}")

    def figure(self, line):
        request = urllib.request.Request(self.env["HELIO_BROKER"] + "/metrics",
                                         headers={"Authorization": "Bearer " + self.env["HELIO_TOKEN"]})
        text = urllib.request.urlopen(request, timeout=10).read().decode()
        values = [row.split()[-1] for row in text.splitlines() if row.startswith(line + " ")]
        return float(values[0]) if values else None


def whole_life(f, site):
    """A job is accepted and runs, its log is read meanwhile, it ends with its own exit code and is charged; another is cancelled."""
    job = f.job(site, "echo begun; sleep 3; exit 3")
    f.until(job, "running")
    f.wait_for(lambda: "begun" in f.helio("logs", job, check=False).stdout, 30, "its log cannot be read")
    f.until(job, *OVER)
    check(f.state(job) == "failed", f"a job that exits with 3 is {f.state(job)}")
    rows = f.sql(f"select site, exit_code from helio_report.jobs where job_id = '{job}'")
    check(rows == [[site, "3"]], f"it ended as {rows}")
    charged = f.sql(f"select count(distinct epoch), sum(gpu_seconds) > 1 from helio_report.ledger where job_id = '{job}'")
    check(charged == [["1", "t"]], f"its ledger: {charged}")
    job = f.job(site, "exec sleep 600")
    f.until(job, "running")
    f.helio("cancel", job)
    f.until(job, *OVER)
    check(f.state(job) == "cancelled", f"a cancelled job is {f.state(job)}")


def update_of_an_agent(f, site, program, what):
    """A job ends while no broker listens; its report is in the journal that the next program reads."""
    before = len(f.log(site))
    through = f.job(site, "sleep 25; exit 0")
    ends = f.job(site, "sleep 4; exit 0")
    f.until(through, "running")
    f.until(ends, "running")
    f.kill("broker")
    f.wait_for(lambda: f"job={ends} epoch=1 report=ended" in f.log(site)[before:], 60, "the agent does not see its job end")
    f.stop(site)
    f.programs[site] = program
    f.start(site)
    f.start("broker")
    f.until(ends, *OVER)
    f.until(through, *OVER)
    for job in (through, ends):
        check(f.state(job) == "succeeded", f"{what}: job {job} is {f.state(job)}")
        tries = f.sql(f"select attempts from helio_report.jobs where job_id = '{job}'")
        check(tries == [["1"]], f"{what}: job {job} had {tries} attempts")
    check("damaged" not in f.log(site)[before:], f"{what}: the journal counts as damaged")
    print(f"{what}: a job ran on, and the end of another was reported from the journal")


def stranger(f):
    f.wait_for(lambda: any(s.get("refused") for s in f.site_list()), 30, "nobody is shown as refused")
    said = "no protocol version in common: the broker speaks 1 to 10, the agent 41 to 42: update the broker"
    table = f.helio("sites").stdout
    check("strange is refused since " in table and said in table, f"helio sites does not say it:\n{table}")
    site = [s for s in f.site_list() if s["site"] == "strange"][0]
    check(site["refused"] == said and site["refused_at"] and site["state"] == "new", f"it is {site}")
    check(all(not s["refused"] for s in f.site_list() if s["site"] != "strange"), "others are shown as refused")
    check(f.figure('helio_site_refused{site="strange"}') == 1, "no metric of the site")
    check(f.figure('helio_site_refused{site="older"}') == 0, "the metric of another site")
    check(f.figure('helio_agent_frames_bad_total{reason="version"}') >= 1, "no metric of the frames")
    check("why=version" in f.log("broker") and said in f.log("broker"), "the broker's log does not say it")
    check("broker_refused" in f.log("strange"), "the agent's log does not say it")
    check(said in f.log("strange"), "the agent's log does not say why")
    checked = subprocess.run([f.programs["strange"], "--check", *f.commands["strange"][1:]], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    check(checked.returncode and "the broker speaks 1 to 10, this agent 41 to 42" in checked.stdout,
          f"the check of the site does not say it:\n{checked.stdout}")
    doctor = f.helio("doctor", check=False).stdout
    check("1 refused" in doctor, f"helio doctor does not say it:\n{doctor}")
    refusals = f.log("strange").count("broker_refused")
    check(refusals < 12, f"it tried {refusals} times: its delay does not grow")
    f.stop("strange")
    f.programs["strange"] = None  # updated
    f.start("strange")
    f.wait_for(lambda: [s["state"] for s in f.site_list() if s["site"] == "strange"] == ["ready"], 60, "the update does not help")
    check(all(not s["refused"] for s in f.site_list()), "it is ready and still shown as refused")
    print("an agent without a version in common is refused and shown everywhere, and accepted after its update")


def older_agents(options):
    folder = tempfile.mkdtemp(prefix="helio-versions-")
    sites = [LocalSite("older", 2.0), LocalSite("present", 2.0), LocalSite("strange", 2.0)]
    f = Mixed(options.build, folder, sites, {"older": options.older_agent,
                                             "strange": os.path.join(options.build, "tests/peers/peer-agent-stranger")})
    try:
        f.up()
        whole_life(f, "older")
        print("an older agent with the current broker: jobs run, end, are charged and cancelled")
        whole_life(f, "present")
        stranger(f)
        update_of_an_agent(f, "older", None, "an agent's update")
        whole_life(f, "older")
        update_of_an_agent(f, "older", options.older_agent, "an agent's way back")
        bad = [f.figure(f'helio_agent_frames_bad_total{{reason="{why}"}}') for why in ("malformed", "unknown")]
        check(bad == [0, 0], f"frames that could not be read: {bad}")
        f.wait_for(lambda: f.open_jobs() == 0, 30, "jobs are not over")
    finally:
        f.down()
    shutil.rmtree(folder, ignore_errors=True)


def older_broker(options):
    folder = tempfile.mkdtemp(prefix="helio-versions-")
    f = Mixed(options.build, folder, [Windowed("north", 2.0)], {"broker": options.older_broker})
    try:
        f.up()
        f.wait_for(lambda: f.site_list()[0]["gpus_total"] == 16, 60, "the older broker does not hear of the site's GPUs")
        whole_life(f, "north")
        print("the current agent with an older broker: jobs run, end, are charged and cancelled")
        job = f.job("north", "sleep 12; exit 0")
        f.until(job, "running")
        f.stop("broker")
        f.programs.pop("broker")
        run(f.tool("helio-broker"), "migrate", "--config", f.path("broker.yaml"))
        f.start("broker")
        f.until(job, *OVER)
        check(f.state(job) == "succeeded", f"a job that ran while the broker was updated is {f.state(job)}")
        reserved = f.sql("select count(*) from helio.series_now where signal = 6")
        f.wait_for(lambda: f.sql("select count(*) from helio.series_now where signal = 6") != [["0"]], 60,
                   f"the updated broker does not hear of reserved GPUs ({reserved})")
        whole_life(f, "north")
        print("a broker's update: a job ran on, and the agent sends what the older broker could not read")
    finally:
        f.down()
    shutil.rmtree(folder, ignore_errors=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    args.add_argument("--older-agent")
    args.add_argument("--older-broker")
    options = args.parse_args()
    options.build = os.path.abspath(options.build)
    options.older_agent = os.path.abspath(options.older_agent or os.path.join(options.build, "tests/peers/peer-agent-oldest"))
    options.older_broker = os.path.abspath(options.older_broker or os.path.join(options.build, "tests/peers/peer-broker-oldest"))
    older_agents(options)
    older_broker(options)


if __name__ == "__main__":
    main()
