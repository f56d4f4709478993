#!/usr/bin/env python3
"""An elastic pool: a site with the backend `exec` whose instances come from a provider's command (tests/doubles/cloud.py). A job
whose only place is that pool runs, no more instances than the maximum ever exist, no instance ends under a job, and instances
that are not wanted end, also those that an earlier agent or a person left behind. At another site an autoscaler of one's own adds
instances, by what the broker says to be wanted.
  tests/integration/elastic.py --build BUILD_DIR"""
import argparse, json, os, shutil, sys, tempfile, urllib.request

from cloud_site import CloudSite
from federation import OWNED, Federation, check

MOST = 2


class ElasticSite(CloudSite):
    scale = f"max: {MOST}\ndown_for: 2s"

    def up(self, federation):
        super().up(federation)
        self.provider("create", "gpus", "1")  # made by hand: it is billed, and not wanted

    def instances(self):
        return [line.split()[0] for line in self.provider("list", "gpus").splitlines()]

    def site_keys(self):
        return (f"pools:\n  - {{name: gpus, gpu: H100, memory: 80GB, nodes: 0, gpus_per_node: 8, provision: 2s, {OWNED}, "
                f"price_usd_per_gpu_h: {self.price}}}\n")


class ForeignSite(ElasticSite):
    """Its agent has no provider's command: the test is the autoscaler."""
    scale, scales = f"max: {MOST}", False

    def up(self, federation):
        CloudSite.up(self, federation)

    def site_keys(self):
        return super().site_keys().replace("gpu: H100", "gpu: L40S")


def document(name, run, gpu="H100"):
    return f"name: {name}\ngpu: {gpu}:8\ntime: 5m\non_site_loss: strict\nrun: {run}\n"


def grows_and_shrinks(federation, cloud):
    federation.wait_for(lambda: not cloud.instances(), 40, "what nobody wants still runs")
    job = federation.write("job.yaml", document("plan", "true"))
    plan = federation.helio("plan", job, check=False).stdout
    check("0 of at most 2 nodes of the elastic pool run" in plan, f"the plan does not say that the pool grows:\n{plan}")
    for i in range(3):
        federation.helio("submit", federation.write("job.yaml", document(f"job{i}", "sleep 1")))
    states = lambda: [job["state"] for job in json.loads(federation.helio("ls", "-a", "-o", "json").stdout)]
    federation.wait_for(lambda: states() == ["succeeded"] * 3, 60, f"not all jobs succeeded: {states()}")
    federation.wait_for(lambda: not cloud.instances(), 40, "instances without jobs still run")
    with open(cloud.state + "/most", encoding="utf-8") as file:
        most = max(int(line) for line in file)
    check(most == MOST, f"there were {most} instances, not {MOST}")
    check("busy" not in cloud.log(), f"an instance ended below a job:\n{cloud.log()}")


def a_restarted_agent_finds_them(federation, cloud):
    end = federation.path("end")
    federation.helio("submit", federation.write("job.yaml", document("long", f"while [ ! -e {end} ]; do sleep 0.1; done")))
    running = lambda: any(job["state"] == "running" for job in json.loads(federation.helio("ls", "-o", "json").stdout))
    federation.wait_for(running, 30, "the job does not run")
    federation.kill("cloud")
    cloud.provider("create", "gpus", "1")  # as if the agent had done so in its last moment
    federation.start("cloud")
    federation.wait_for(lambda: len(cloud.instances()) == 1, 40, "the instance without a job still runs")
    check(running(), "the job does not run any more")
    federation.write("end", "")
    federation.wait_for(lambda: not cloud.instances(), 40, "the last instance still runs")
    check("busy" not in cloud.log(), f"an instance ended below a job:\n{cloud.log()}")


def get(federation, path):
    request = urllib.request.Request(federation.urls["broker"] + path, headers={"Authorization": "Bearer " + federation.env["HELIO_TOKEN"]})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.read().decode()


def desired(federation, site):
    """What its pool should have, by HTTP."""
    rows = json.loads(get(federation, f"/v1/desired?site={site}&pool=gpus"))
    check(len(rows) == 1 and len(rows[0]["hours"]) == 25, f"/v1/desired: {rows}")
    return rows[0]


def an_autoscaler_of_ones_own(federation, foreign):
    check(desired(federation, "foreign")["desired_gpus"] == 0, "something is wanted of a pool that no job needs")
    end = federation.path("end-of-foreign")
    waits = document("foreign", f"while [ ! -e {end} ]; do sleep 0.1; done", "L40S")
    for _ in range(3):
        federation.helio("submit", federation.write("job.yaml", waits))
    federation.wait_for(lambda: desired(federation, "foreign")["desired_gpus"] == 8 * MOST, 20, "two nodes are not wanted")
    row = desired(federation, "foreign")
    check((row["nodes"], row["nodes_most"], row["running_gpus"], row["waiting_gpus"]) == (0, MOST, 0, 8 * MOST), f"/v1/desired: {row}")
    check(json.loads(federation.helio("desired", "foreign", "-o", "json").stdout)[0]["desired_gpus"] == 8 * MOST, "helio desired")
    sample = f'helio_desired_gpus{{site="foreign",pool="gpus",hours_ahead="0"}} {8 * MOST}'
    federation.wait_for(lambda: sample in get(federation, "/metrics").splitlines(), 10, f"no metric {sample}")
    check(not foreign.instances(), "the agent creates instances without a command")
    foreign.provider("create", "gpus", str(row["desired_gpus"] // row["gpus_per_node"] - row["nodes"]))
    federation.wait_for(lambda: desired(federation, "foreign")["running_gpus"] == 8 * MOST, 30, "the jobs do not run there")
    later = desired(federation, "foreign")["hours"]
    check(later[0]["desired_gpus"] == 8 * MOST and later[-1]["desired_gpus"] == 0, f"jobs of five minutes run for a day: {later}")
    federation.write("end-of-foreign", "")
    federation.wait_for(lambda: desired(federation, "foreign")["desired_gpus"] == 0, 30, "instances without jobs are wanted")


def a_provider_that_fails(federation, cloud):
    broken = cloud.state + "/broken"
    with open(broken, "w", encoding="utf-8"):
        pass
    federation.wait_for(lambda: "scale_failed" in federation.log("cloud"), 20, "the log does not say that the provider fails")
    os.unlink(broken)
    federation.wait_for(lambda: "scale_well" in federation.log("cloud"), 40, "the log does not say that it works again")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-elastic-")
    cloud = ElasticSite("cloud", 2.0)
    foreign = ForeignSite("foreign", 2.0)
    federation = Federation(args.build, folder, [cloud, foreign])
    try:
        federation.up()
        for case, site in ((grows_and_shrinks, cloud), (a_restarted_agent_finds_them, cloud), (a_provider_that_fails, cloud),
                           (an_autoscaler_of_ones_own, foreign)):
            case(federation, site)
            print(f"ok {case.__name__}", flush=True)
    except SystemExit:
        print(federation.last_words(), file=sys.stderr)
        raise
    finally:
        federation.down()
    shutil.rmtree(folder)


main()
