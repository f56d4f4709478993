#!/usr/bin/env python3
"""A federation whose one site is a Kubernetes cluster: a real broker, PostgreSQL and agent, and the double of an API server
(tests/doubles/kubernetes), whose pods are real processes. Jobs, gangs and arrays run, fail, reach their limit, are cancelled and
evicted; the agent is killed and comes back with and without its memory; the API has faults. No attempt runs twice.
  tests/integration/kubernetes_life.py --build BUILD_DIR [--only NAME]"""
import argparse, collections, datetime, json, os, shutil, ssl, subprocess, sys, tempfile, time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import OWNED, TOP, Federation, LocalSite, check  # noqa: E402

JOBS, PODS = "/apis/batch/v1/namespaces/heliostat/jobs", "/api/v1/namespaces/heliostat/pods"
QUEUES = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues"


LEASE_S = 90  # its Jobs end a quarter, a grace and a tolerance of clocks before it: that leaves time for two renewals


class UnderLease(Federation):
    settings = f"lease: {LEASE_S}s\n"


class KubernetesSite(LocalSite):
    """A cluster of the double: gpu-0 with 8 GPUs, gpu-1 with 4; and a node group of L40S, which begins without nodes."""
    kind = "kubernetes"

    def up(self, federation):
        self.folder = federation.path(self.name, "cluster")
        program = [sys.executable, os.path.join(TOP, "tests", "doubles", "kubernetes"), "--folder", self.folder]
        self.process = subprocess.Popen(program, start_new_session=True)
        federation.wait_for(lambda: os.path.exists(f"{self.folder}/port"), 30, "the double does not answer")
        with open(f"{self.folder}/port", encoding="utf-8") as file:
            self.url = f"https://127.0.0.1:{file.read().strip()}"
        self.trust = ssl.create_default_context(cafile=f"{self.folder}/pki/ca.crt")

    def site_keys(self):
        return ("pools:\n  - {name: h200, gpu: H200, memory: 141GB, nodes: 2, gpus_per_node: 8, cpus_per_node: 64, "
                f"{OWNED}, price_usd_per_gpu_h: {self.price}}}\n  - {{name: l40s, gpu: L40S, memory: 48GB, nodes: 0, gpus_per_node: 4, "
                f"cpus_per_node: 64, provision: 2s, {OWNED}, price_usd_per_gpu_h: {self.price}}}\n")

    def agent_keys(self, federation):
        return f"  kubernetes: {{kubeconfig: {self.folder}/agent.kubeconfig, job_queues: [team, nosuch]}}\n  scale: [{{pool: l40s, max: 2}}]\n"

    def ask(self, method, path, document=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, method=method, data=json.dumps(document).encode() if document is not None else None,
                                         headers={"Authorization": "Bearer admin-token", "Content-Type": kind})
        with urllib.request.urlopen(request, context=self.trust, timeout=20) as answer:
            return json.loads(answer.read() or b"{}")

    def patch(self, path, document):
        return self.ask("PATCH", path, document, "application/merge-patch+json")

    def fault(self, **wishes):
        self.ask("POST", "/double/faults", wishes)

    def jobs(self, job=""):
        return [one for one in self.ask("GET", JOBS)["items"] if job in one["metadata"]["name"]]

    def down(self):
        self.process.terminate()
        self.process.wait(20)


class World:
    def __init__(self, build, folder):
        self.site = KubernetesSite("cloud", 2.0)
        self.federation = UnderLease(build, folder, [self.site])
        self.begun = collections.Counter()

    def submit(self, run, gpus=1, **more):
        """Each attempt says that it begins, in a file of its own name: two of one epoch are seen."""
        mark = f'echo begun >>{self.federation.records}/$HELIO_JOB_ID-$HELIO_EPOCH-${{HELIO_ARRAY_INDEX:-x}}-$HELIO_NODE_RANK; '
        return self.federation.submit_one(image="image:1", gpu=more.pop("gpu", f"H200:{gpus}"), cpus=1, time=more.pop("time", "10m"), run=mark + run,
                                          **{"name": "job", **more})

    def state(self, job, column="state"):
        return self.federation.look_up(job, column)

    def until(self, job, *states, seconds=40):
        deadline = time.monotonic() + seconds
        while self.state(job) not in states:
            if time.monotonic() > deadline:
                raise SystemExit(f"{job} is {self.state(job)}, not {states}, after {seconds} s:\n"
                                 f"{self.federation.helio('explain', job, check=False).stdout}\n{self.federation.last_words()}\n"
                                 f"{json.dumps(self.site.jobs(job), indent=1)}")
            time.sleep(0.2)

    def records(self, job):
        """Name of the record -> how often that part of that attempt has begun."""
        found = {}
        for name in os.listdir(self.federation.records):
            if name.startswith(job):
                with open(os.path.join(self.federation.records, name), encoding="utf-8") as file:
                    found[name] = len(file.readlines())
        return found

    def once(self, job, parts=1):
        check(sorted(self.records(job).values()) == [1] * parts, f"{job} has begun {self.records(job)}, and not {parts} times once")

    def restart(self, forget=False):
        f = self.federation
        f.kill("cloud")
        if forget:
            shutil.rmtree(f.path("cloud", "state"))
        f.start("cloud")


# ---- the scenarios: each returns what it has shown

def plain(world):
    """Single jobs: success, failure with its code, and output."""
    good = world.submit("echo hello; sleep 1; hello=bye; [ $$ -gt 0 ] && echo $(echo $hello)")
    bad = world.submit("exit 3")
    world.until(good, "succeeded")
    world.until(bad, "failed")
    check(world.federation.logs(good).split() == ["hello", "bye"], f"the log: {world.federation.logs(good)!r}")
    check(world.state(bad, "exit_code") == "3", f"exit code {world.state(bad, 'exit_code')}")
    world.once(good)
    return "jobs succeed and fail with their code; the output is whole"


def gang(world):
    """Two nodes: ranks, hosts, and the Service by which they find one another."""
    job = world.submit("echo rank $HELIO_NODE_RANK of $HELIO_NODES at $HELIO_HOSTS; sleep 1", gpus=2, nodes=2)
    world.until(job, "succeeded")
    said = sorted(line for line in world.federation.logs(job).splitlines())
    check(len(said) == 2 and said[0].startswith("rank 0 of 2") and said[1].startswith("rank 1 of 2"), f"the gang said {said}")
    name = f"helio-{job}-1"
    check(said[0].endswith(f"{name}-0.{name},{name}-1.{name}"), f"its hosts: {said[0]}")
    service = world.site.ask("GET", f"/api/v1/namespaces/heliostat/services/{name}")
    check(service["spec"]["clusterIP"] == "None", f"the Service: {service}")
    world.once(job, 2)
    return "a gang has its ranks, its hosts and its Service"


def array(world):
    """More tasks than GPUs."""
    job = world.submit("exit $((HELIO_ARRAY_INDEX == 3))", array="1-30")
    world.federation.wait_for(lambda: world.federation.open_jobs() == 0, 60, "the array does not end")
    ends = sorted(row[0] for row in world.federation.sql(f"select state from helio_report.jobs where job_id like '{job}.%'"))
    check(ends == ["failed"] + ["succeeded"] * 29, f"the tasks: {ends}")
    world.once(job, 30)
    return "each task of an array runs once"


def limit(world):
    job = world.submit("sleep 60", time="3s")
    world.until(job, "timeout", seconds=60)
    check(world.state(job, "exit_code") == "124", f"exit code {world.state(job, 'exit_code')}")
    return "a job ends at its limit with 124"


def cancel(world):
    """A job that runs, with its grace; and one that waits for a node."""
    job = world.submit("trap 'echo saved; exit 0' TERM; while :; do sleep 0.1; done")
    world.until(job, "running")
    world.federation.helio("cancel", job)
    world.until(job, "cancelled")
    world.federation.wait_for(lambda: not world.site.jobs(job), 20, "its Job is still there")
    world.federation.wait_for(lambda: "saved" in world.federation.logs(job), 20, "its output is lost")
    return "a cancelled job gets TERM, and its Job goes"


def killed(world):
    """kill -9 of the agent, and a new one with the same memory, while one job runs and another ends."""
    long, short = world.submit("sleep 6; echo done"), world.submit("sleep 1")
    for job in (long, short):
        world.until(job, "running", "succeeded")
    world.federation.kill("cloud")
    time.sleep(2)
    world.federation.start("cloud")
    for job in (long, short):
        world.until(job, "succeeded")
        world.once(job)
    check("done" in world.federation.logs(long), "the output after the restart is lost")
    return "jobs run on under a new agent"


def elsewhere(world):
    """kill -9, and a new agent without any memory, as on another node: it finds the Job by its labels."""
    job = world.submit("sleep 8; echo done")
    world.until(job, "running")
    world.restart(forget=True)
    world.until(job, "succeeded", seconds=90)
    world.once(job)
    return "an agent without memory finds what runs"


def quota(world):
    """Over a ResourceQuota a create is answered with 201, and there is no pod: the job waits, and says why."""
    path = "/api/v1/namespaces/heliostat/resourcequotas"
    world.site.ask("POST", path, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": "heliostat"},
                                  "spec": {"hard": {"requests.nvidia.com/gpu": "0"}}})
    job = world.submit("true")
    told = lambda: "exceeded quota" in world.federation.helio("explain", job, check=False).stdout
    world.federation.wait_for(told, 40, "explain does not name the quota")
    world.site.ask("DELETE", path + "/small")
    world.until(job, "succeeded", seconds=60)
    world.once(job)
    return "a job over quota waits with the cluster's words"


def make_queue(world):
    """The LocalQueue team, with a quota of 8 GPUs; unless a scenario before has made it."""
    if any(one["metadata"]["name"] == "gpu" for one in world.site.ask("GET", QUEUES)["items"]):
        return
    for document in (
            {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "h200"}, "spec": {}},
            {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "gpu"}, "spec": {
                "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory", "nvidia.com/gpu"], "flavors": [{"name": "h200", "resources": [
                    {"name": name, "nominalQuota": most} for name, most in (("cpu", 64), ("memory", "512Gi"), ("nvidia.com/gpu", 8))]}]}]}},
            {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "team", "namespace": "heliostat"}, "spec": {"clusterQueue": "gpu"}}):
        space = "" if document["kind"] != "LocalQueue" else "namespaces/heliostat/"
        world.site.ask("POST", f"/apis/kueue.x-k8s.io/v1beta1/{space}{document['kind'].lower()}s", document)


def queues(world):
    """Kueue: an unknown queue is refused, and one that the site does not list; an eviction ends the attempt, which does not run twice."""
    make_queue(world)
    lost = world.submit("true", kubernetes={"queue": "nosuch"})
    world.until(lost, "held")
    said = world.federation.helio("explain", lost).stdout
    check("LocalQueue nosuch doesn't exist" in said, f"explain does not name the queue: {said}")
    check(not world.records(lost), "a job of an unknown queue has run")
    world.federation.helio("cancel", lost, check=False)
    barred = world.submit("true", kubernetes={"queue": "other-team"})
    world.until(barred, "held")
    said = world.federation.helio("explain", barred).stdout
    check("OptionNotAllowed" in said and "other-team" in said, f"explain does not say that the queue is not listed: {said}")
    check(not world.site.jobs(barred), "a Job was created in a queue that the site does not list")
    world.federation.helio("cancel", barred, check=False)
    job = world.submit("sleep 5; echo done", kubernetes={"queue": "team"})
    world.until(job, "running")
    world.site.patch(f"{QUEUES}/gpu", {"spec": {"stopPolicy": "HoldAndDrain"}})
    world.federation.wait_for(lambda: not any(pod["metadata"]["labels"].get("heliostat/attempt") == f"helio-{job}-1"
                                              for pod in world.site.ask("GET", PODS)["items"]), 60, "the evicted pod stays")
    world.federation.wait_for(lambda: world.state(job) != "running", 60, "the eviction is not seen")
    world.site.patch(f"{QUEUES}/gpu", {"spec": {"stopPolicy": "None"}})
    world.until(job, "succeeded", seconds=90)
    check(set(world.records(job).values()) == {1} and len(world.records(job)) >= 2, f"it has begun {world.records(job)}")
    return "an unknown queue is refused; an evicted epoch does not run again"


def line(world):
    """The site's own queue is full: a whole node is expected when the job that holds its quota reaches its limit, and its grace is over."""
    make_queue(world)
    path = world.federation.path("cloud", "site.yaml")
    with open(path, encoding="utf-8") as file:
        before = file.read()
    world.federation.write("cloud/site.yaml", before.replace("kubernetes: {", "kubernetes: {queue: team, "))
    world.restart()
    holder = world.submit("while :; do sleep 0.2; done", gpus=8, time="8m")
    world.until(holder, "running")
    plan = lambda: json.loads(world.federation.helio("plan", "-", "-o", "json", stdin=json.dumps(
        {"name": "later", "image": "image:1", "gpu": "H200:8", "cpus": 1, "time": "1h", "run": "true"})).stdout)
    at = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    def waits(planned):
        there, = (one for one in planned["candidates"] if one["pool"] == "h200")
        return at(there["start"]) - at(planned["planned_at"]) if there["start"] else 0
    world.federation.wait_for(lambda: 420 <= waits(plan()) <= 660, 60, f"the plan expects no wait of eight minutes: {json.dumps(plan(), indent=1)}")
    world.federation.helio("cancel", holder)
    world.until(holder, "cancelled", seconds=60)
    world.federation.write("cloud/site.yaml", before)
    world.restart()
    return "a full queue is waited for until the limit of what it has admitted"


def faults(world):
    """The API: creates of unknown outcome, too many requests, an outage, cut and expired watches."""
    jobs = []
    for wishes in ({"create": "done"}, {"create": "lost"}, {"too_many": 5}, {"cold": 3}, {"cut": True}, {"compact": True}, {"outage_seconds": 3}):
        world.site.fault(**wishes)
        jobs.append(world.submit("sleep 2"))
        time.sleep(0.5)
    for job in jobs:
        world.until(job, "succeeded", seconds=90)
        world.once(job)
    return f"{len(jobs)} jobs run once through faults of the API"


def node_down(world):
    """A node goes away, and its kubelet cannot be asked: nothing is reported of the pod before its end is known."""
    job = world.submit("sleep 4")
    world.until(job, "running")
    pod, = [one for one in world.site.ask("GET", PODS)["items"] if one["metadata"]["labels"].get("heliostat/attempt") == f"helio-{job}-1"]
    world.site.fault(kubelet_down=pod["spec"]["nodeName"])
    time.sleep(6)
    check(world.state(job) == "running", f"{world.state(job)} although nobody knows")
    world.site.fault(kubelet_up=pod["spec"]["nodeName"])
    world.until(job, "succeeded")
    world.once(job)
    return "a node that does not answer ends nothing"


def fenced(world):
    """A job under a lease: its Job holds the end of the lease, which the agent moves on, and ends by itself when there is no agent."""
    job = world.submit("while :; do sleep 0.2; done", on_site_loss="lease")
    world.until(job, "running")
    deadline = lambda: world.site.jobs(job)[0]["spec"]["activeDeadlineSeconds"]
    first = deadline()
    check(first < LEASE_S, f"a deadline of {first} s under a lease of {LEASE_S} s")
    world.federation.wait_for(lambda: deadline() > first + 5, 60, "the deadline is not renewed")
    world.federation.kill("cloud")
    over = lambda: any(one["type"] == "Failed" and one["reason"] == "DeadlineExceeded" for one in world.site.jobs(job)[0]["status"].get("conditions", []))
    world.federation.wait_for(over, LEASE_S, "the Job outlives its lease")
    check(not any(one["status"]["phase"] == "Running" for one in world.site.ask("GET", PODS)["items"]), "a pod outlives the lease")
    world.federation.start("cloud")
    again = f"select count(*) from helio_report.job_transitions where job_id = '{job}' and to_state = 'running'"
    world.federation.wait_for(lambda: world.federation.sql(again) == [["2"]], 90, "the job does not run again")
    check(set(world.records(job).values()) == {1}, f"it has begun {world.records(job)}")
    world.federation.helio("cancel", job)
    world.until(job, "cancelled")
    return "a Job ends with its lease when there is no agent, and its job runs again"


def node_group(world):
    """A node group that an autoscaler grows by what the broker wants of it: the test is the autoscaler."""
    rows = lambda: {row["pool"]: row for row in json.loads(world.federation.helio("desired", "cloud", "-o", "json").stdout)}
    jobs = [world.submit("sleep 1", gpu="L40S:2") for _ in range(3)]
    world.federation.wait_for(lambda: rows()["l40s"]["desired_gpus"] == 8, 30, "three jobs of half a node do not want two nodes")
    check([row["elastic"] for row in (rows()["h200"], rows()["l40s"])] == [False, True], f"helio desired: {rows()}")
    check(all(world.state(job) == "queued" for job in jobs), "a job was placed without a node")
    like = world.site.ask("GET", "/api/v1/nodes/gpu-1")
    for number in range(rows()["l40s"]["desired_gpus"] // 4):
        node = json.loads(json.dumps(like))
        node["metadata"] = {"name": f"l40s-{number}", "labels": {**like["metadata"]["labels"], "kubernetes.io/hostname": f"l40s-{number}",
                                                                 "nvidia.com/gpu.product": "NVIDIA-L40S"}}
        world.site.ask("POST", "/api/v1/nodes", node)
    for job in jobs:
        world.until(job, "succeeded", seconds=60)
        world.once(job)
    world.federation.wait_for(lambda: rows()["l40s"]["desired_gpus"] == 0, 30, "nodes without jobs are wanted")
    check(rows()["l40s"]["nodes"] == 2, f"the new nodes are not counted: {rows()}")
    for number in range(2):
        world.site.ask("DELETE", f"/api/v1/nodes/l40s-{number}")
    return "two nodes come for three jobs by what the broker wants, and none is wanted afterwards"


def credentials(world):
    """The token is refused from now on: the kubeconfig is read again, whose user now has a credential plug-in."""
    site = world.site
    job = world.submit("sleep 3")
    world.until(job, "running")
    plugin, path = f"{site.folder}/plugin", f"{site.folder}/agent.kubeconfig"
    with open(plugin, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\ncase $KUBERNETES_EXEC_INFO in *\'"kind":"ExecCredential"\'*) ;; *) exit 1;; esac\n'
                   f'echo "$1" >>{site.folder}/plugin.log\n'
                   'echo "{\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"kind\\":\\"ExecCredential\\",\\"status\\":{\\"token\\":\\"$TOKEN\\"}}"\n')
    os.chmod(plugin, 0o755)
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "args": ["asked"],
                                           "env": [{"name": "TOKEN", "value": "page-token"}]}}
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(config, file)
    os.rename(path + ".new", path)
    site.fault(expire_token="agent-token")
    world.until(job, "succeeded", seconds=60)
    after = world.submit("true")
    world.until(after, "succeeded", seconds=60)
    world.once(after)
    with open(f"{site.folder}/plugin.log", encoding="utf-8") as file:
        asked = file.read().split()
    check(0 < len(asked) < 5 and set(asked) == {"asked"}, f"the plug-in was asked {asked}")
    world.restart()
    last = world.submit("true")
    world.until(last, "succeeded", seconds=60)
    return "credentials that are refused are read again, by a plug-in too"


SCENARIOS = (plain, gang, array, limit, cancel, killed, elsewhere, fenced, quota, queues, line, faults, node_down, node_group, credentials)


def books(world):
    """Every attempt that ran has its line, every job one end, and nothing is left in the cluster that is not over."""
    f = world.federation
    f.wait_for(lambda: f.open_jobs() == 0, 30, "jobs are not over")
    twice = f.sql("select job_id, count(*) from helio.attempts where completes group by job_id, task having count(*) > 1")
    check(twice == [], f"two completions: {twice}")
    wrong = [one["metadata"]["name"] for one in world.site.jobs()
             if not any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in one["status"].get("conditions", []))]
    check(not wrong, f"Jobs that are not over: {wrong}")
    uncharged = f.sql("select a.job_id, a.epoch, a.run_ms, a.gpu_ms from helio.attempts a where a.gpu_ms is distinct from coalesce("
                      "(select sum(l.gpu_ms) from helio.ledger l where l.job_id = a.job_id and l.task = a.task and l.epoch = a.epoch), 0)")
    check(uncharged == [], f"attempts that the ledger charges wrongly: {uncharged}")
    some, = f.sql("select count(*) filter (where gpu_ms > 0), sum(gpu_ms) from helio.attempts")
    check(int(some[0]) > 0, "nothing was charged")
    print(f"the ledger has {some[0]} attempts that ran, {int(some[1]) / 1000:.0f} GPU seconds together")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--only")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="helio-kubernetes-")
    world = World(options.build, folder)
    try:
        world.federation.up()
        for scenario in SCENARIOS:
            if options.only in (None, scenario.__name__):
                began = time.time()
                said = scenario(world)
                print(f"{scenario.__name__}: {said} ({time.time() - began:.1f} s)", flush=True)
        books(world)
    finally:
        world.federation.down()
    check(world.federation.procs["cloud"].returncode == 0, f"the agent does not end in order:\n{world.federation.last_words()}")
    shutil.rmtree(folder, ignore_errors=True)
    print("the lives of jobs in a Kubernetes cluster")
    return 0


if __name__ == "__main__":
    sys.exit(main())
