#!/usr/bin/env python3
"""The double of Kubernetes (tests/doubles/kubernetes), held to clients that others wrote: kubectl and Debian's python3-kubernetes take Jobs
through their lives. A missing client is skipped with a message; exit 77 if both are missing.

  tests/integration/kubernetes_clients.py      HELIO_KUBECTL names another kubectl"""
import json, os, shutil, signal, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUEUES = [
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "h200"},
     "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H200"}}},
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "gpu"}, "spec": {"namespaceSelector": {}, "resourceGroups": [
        {"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [{"name": "h200", "resources": [
            {"name": "cpu", "nominalQuota": 64}, {"name": "nvidia.com/gpu", "nominalQuota": 8}]}]}]}},
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "team", "namespace": "heliostat"}, "spec": {"clusterQueue": "gpu"}},
]


def check(good, what):
    if not good:
        raise AssertionError(what)


def job(name, script, gpus=1, labels=(), **spec):
    container = {"name": "main", "image": "image:1", "command": ["sh", "-c", script],
                 "resources": {"requests": {"cpu": "100m"}, "limits": {"nvidia.com/gpu": str(gpus)}}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"test": "clients", **dict(labels)}}, "spec": {
        "backoffLimit": 0, **spec, "template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}}}


class Double:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="helio-kubernetes-")
        self.process = subprocess.Popen([sys.executable, os.path.join(TOP, "tests", "doubles", "kubernetes"), "--folder", self.folder], start_new_session=True)
        deadline = time.monotonic() + 20
        while not os.path.exists(f"{self.folder}/port"):
            check(self.process.poll() is None and time.monotonic() < deadline, "the double does not answer")
            time.sleep(0.05)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


class Kubectl:
    def __init__(self, program, double):
        self.program, self.double = program, double
        self.environment = {**os.environ, "HOME": double.folder}

    def run(self, *words, document=None, who="kubeconfig", refused=None):
        """Its output; with `refused` it must fail, and say that."""
        done = subprocess.run([self.program, f"--kubeconfig={self.double.folder}/{who}", *words], env=self.environment, timeout=60,
                              input=json.dumps(document) if document else None, capture_output=True, text=True)
        if refused is not None:
            check(done.returncode != 0 and refused in done.stderr, f"{words}: not refused with {refused!r}: {done.stderr!r}")
        else:
            check(done.returncode == 0, f"{words}: {done.stderr!r}")
        return done.stdout

    def get(self, *words, who="kubeconfig"):
        return json.loads(self.run("get", *words, "-o", "json", who=who))


def kubectl_life(kubectl):
    """A Job from its creation to its deletion, as the agent."""
    def run(*words, **more):
        return kubectl.run(*words, who="agent.kubeconfig", **more)

    def may(verb, group, resource):
        asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
            "namespace": "heliostat", "verb": verb, "group": group, "resource": resource}}}
        return json.loads(run("create", "--validate=false", "-o", "json", "-f", "-", document=asked))["status"]["allowed"]
    check({node["metadata"]["name"] for node in kubectl.get("nodes", who="agent.kubeconfig")["items"]} == {"cpu-0", "gpu-0", "gpu-1"}, "nodes")
    check(may("create", "batch", "jobs") and not may("delete", "", "nodes"), "the agent's rights")
    run("get", "pods", "--all-namespaces", refused="cannot list resource \"pods\"")
    run("create", "--validate=false", "-f", "-", document=job("good", "echo one; sleep 1; echo two"))
    run("create", "--validate=false", "-f", "-", document=job("good", "true"), refused="AlreadyExists")
    check(run("logs", "-f", "--pod-running-timeout=20s", "job/good") == "one\ntwo\n", "the followed log")
    run("wait", "--for=condition=complete", "--timeout=20s", "job/good")
    pods = kubectl.get("pods", "-l", "job-name=good", who="agent.kubeconfig")["items"]
    check([pod["status"]["phase"] for pod in pods] == ["Succeeded"], "one pod, which succeeded")
    check(run("logs", "--tail=1", pods[0]["metadata"]["name"]) == "two\n", "the end of the log")
    run("logs", "--previous", pods[0]["metadata"]["name"], refused="previous terminated container")
    run("delete", "job", "good")
    run("get", "job", "good", refused="NotFound")
    run("create", "--validate=false", "-f", "-", document=job("bad", "exit 3"))
    run("wait", "--for=condition=failed", "--timeout=20s", "job/bad")
    pod, = kubectl.get("pods", "-l", "job-name=bad", who="agent.kubeconfig")["items"]
    check(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3, "the exit code")
    run("create", "--validate=false", "-f", "-", document=job("Bad_Name", "true"), refused="RFC 1123")


def kubectl_gang(kubectl):
    """Indexed: each pod knows its index, and the Job which are complete."""
    kubectl.run("create", "--validate=false", "-f", "-", document=job("gang", "echo I am $JOB_COMPLETION_INDEX", completions=3, parallelism=3,
                                                                      completionMode="Indexed", podReplacementPolicy="Failed"))
    kubectl.run("wait", "--for=condition=complete", "--timeout=20s", "job/gang")
    check(kubectl.get("job", "gang")["status"]["completedIndexes"] == "0-2", "the complete indexes")
    pods = kubectl.get("pods", "-l", "job-name=gang")["items"]
    said = sorted(kubectl.run("logs", pod["metadata"]["name"]) for pod in pods)
    check(said == ["I am 0\n", "I am 1\n", "I am 2\n"], f"what the pods said: {said}")


def kubectl_manifests(kubectl):
    """What the backend would create is admitted to the last field, and runs."""
    golden = os.path.join(TOP, "tests", "golden", "kubernetes")
    for name in ("one_node", "gang"):
        created = json.loads(kubectl.run("create", "--raw", "/apis/batch/v1/namespaces/heliostat/jobs?fieldValidation=Strict", "-f", f"{golden}/{name}.json"))
        check(created["spec"]["podReplacementPolicy"] == "Failed" and created["spec"]["backoffLimit"] == 0, f"{name} as it was created")
        if name == "one_node":
            kubectl.run("wait", "--for=condition=complete", "--timeout=20s", f"job/{created['metadata']['name']}")
        kubectl.run("delete", "job", created["metadata"]["name"])
    broken = json.load(open(f"{golden}/one_node.json", encoding="utf-8"))
    broken["spec"]["template"]["spec"]["retries"] = 1
    with open(f"{kubectl.double.folder}/broken.json", "w", encoding="utf-8") as file:
        json.dump(broken, file)
    kubectl.run("create", "--raw", "/apis/batch/v1/namespaces/heliostat/jobs?fieldValidation=Strict", "-f", file.name,
                refused='unknown field "spec.template.spec.retries"')


def kubectl_stop(kubectl):
    """A deletion in the background ends the process: TERM first."""
    kubectl.run("create", "--validate=false", "-f", "-", document=job("long", "trap 'echo stopped; exit 0' TERM; echo begun; while :; do sleep 0.1; done"))
    wait_for(lambda: kubectl.get("job", "long")["status"].get("ready") == 1, "the Job's start")
    name = kubectl.get("pods", "-l", "job-name=long")["items"][0]["metadata"]["name"]
    follower = subprocess.Popen([kubectl.program, f"--kubeconfig={kubectl.double.folder}/kubeconfig", "logs", "-f", name], env=kubectl.environment,
                                stdout=subprocess.PIPE, text=True)
    check(follower.stdout.readline() == "begun\n", "what the pod said first")
    kubectl.run("delete", "job", "long", "--wait=false")
    check(follower.communicate(timeout=20)[0] == "stopped\n", "what the stopped pod said")
    wait_for(lambda: not kubectl.get("pods", "-l", "job-name=long")["items"], "the pod's end")


def kubectl_queue(kubectl):
    """Kueue: applied queues, a Job that waits for the first, and one of an unknown queue."""
    for document in QUEUES * 2:  # the second time nothing changes
        kubectl.run("apply", "--validate=false", "-f", "-", document=document)
    label = {"kueue.x-k8s.io/queue-name": "team"}
    for name, script in (("first", "sleep 2"), ("second", "true")):
        kubectl.run("create", "--validate=false", "-f", "-", document=job(name, script, 8, label))
    wait_for(lambda: kubectl.get("job", "first")["status"].get("active") == 1, "the first Job's admission")
    check(kubectl.get("job", "second")["spec"]["suspend"] is True, "the second waits")
    kubectl.run("wait", "--for=condition=complete", "--timeout=20s", "job/second")
    kubectl.run("create", "--validate=false", "-f", "-", document=job("lost", "true", 1, {"kueue.x-k8s.io/queue-name": "nosuch"}))
    wait_for(lambda: any(one["reason"] == "Inadmissible" for workload in kubectl.get("workloads")["items"]
                         for one in workload.get("status", {}).get("conditions", [])), "Inadmissible")


def wait_for(holds, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds():
        check(time.monotonic() < deadline, f"{what} did not come")
        time.sleep(0.1)


def python_with_client():
    """An interpreter that has python3-kubernetes; None: there is none."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-P", "-c", "import kubernetes.client"], cwd="/", capture_output=True).returncode == 0:
            return python
    return None


def main():
    kubectl, python = os.environ.get("HELIO_KUBECTL") or shutil.which("kubectl"), python_with_client()
    if not kubectl:
        print("SKIPPED: kubectl against the double: kubectl is not installed (kubernetes-client)")
    if not python:
        print("SKIPPED: python3-kubernetes against the double: it is not installed")
    if not kubectl and not python:
        return 77
    double, done = Double(), 0
    try:
        if kubectl:
            for life in (kubectl_life, kubectl_gang, kubectl_manifests, kubectl_stop, kubectl_queue):
                life(Kubectl(kubectl, double))
                done += 1
        if python:
            script = os.path.join(TOP, "tests", "integration", "kubernetes_python.py")
            subprocess.run([python, script, double.folder], check=True, timeout=120)
            done += 1
    finally:
        double.end()
    print(f"{done} life cycles by clients that others wrote")
    return 0


if __name__ == "__main__":
    sys.exit(main())
