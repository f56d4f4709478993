#!/usr/bin/env python3
"""An elastic pool: a site with the backend `exec` whose instances come from a provider's command (tests/doubles/cloud.py). A job
whose only place is that pool runs, no more instances than the maximum ever exist, no instance ends under a job, and instances
that are not wanted end, also those that an earlier agent or a person left behind.
  tests/integration/elastic.py --build BUILD_DIR"""
import argparse, json, os, shutil, sys, tempfile

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


def document(name, run):
    return f"name: {name}\ngpu: H100:8\ntime: 5m\non_site_loss: strict\nrun: {run}\n"


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
    federation = Federation(args.build, folder, [cloud])
    try:
        federation.up()
        for case in (grows_and_shrinks, a_restarted_agent_finds_them, a_provider_that_fails):
            case(federation, cloud)
            print(f"ok {case.__name__}", flush=True)
    except SystemExit:
        print(federation.last_words(), file=sys.stderr)
        raise
    finally:
        federation.down()
    shutil.rmtree(folder)


main()
