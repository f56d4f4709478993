"""What runs pods: a pod's command is a real process of this machine, its log is what that wrote, its exit code is the process's.

A pod of an image of registry.example, which no registry has, runs what its annotations `fgpu.test/…` ask for instead, as the stand-in kubelet of
the recordings did: `seconds`, `exit-code`, `log`, `oom`, `image-pull: fail`, `creating-seconds`."""
import hashlib, os, re, signal, subprocess, threading, time
import conditions
from failure import Failure, bad_request
from resources import PODS
from store import now

STAND_IN, NO_IMAGES = "fgpu.test/", "registry.example/"
TICKS = 'echo "$LOG"; i=0; while [ $i -lt $SECONDS_TO_RUN ]; do sleep 1; i=$((i+1)); echo "tick $i"; done; echo "exit $CODE"; exit $CODE'
UNREADY = ("ContainersNotReady", "containers with unready status: [{}]")
REMOVAL_SECONDS = 1.0  # between a pod's end and its removal


class Process:
    """The process of a pod, and what it has written: (time, line) each."""

    def __init__(self, pod, ended):
        self.lines, self.code, self.written = [], None, threading.Condition()
        self.ended = ended
        container = pod["spec"]["containers"][0]
        command, environment = program(pod, container)
        try:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                                          cwd=container.get("workingDir") or "/", start_new_session=True)
        except OSError as error:
            self.child, self.code = None, 128
            self.lines.append((now(fraction=True), f"{error}\n".encode()))
            ended()
            return
        threading.Thread(target=self.follow, daemon=True).start()
        threading.Thread(target=self.outlive, daemon=True).start()

    def outlive(self):
        """A container ends with its first process: what that left behind is killed."""
        self.child.wait()
        self.signal(signal.SIGKILL, os.killpg)

    def follow(self):
        for line in self.child.stdout:
            with self.written:
                self.lines.append((now(fraction=True), line))
                self.written.notify_all()
        code = self.child.wait()
        with self.written:
            self.code = 128 - code if code < 0 else code
            self.written.notify_all()
        self.ended()

    def signal(self, number, kill=os.kill):
        if self.child and self.code is None:
            try:
                kill(self.child.pid, number)
            except ProcessLookupError:
                pass


def annotation(pod, name, default=None):
    return (pod["metadata"].get("annotations") or {}).get(STAND_IN + name, default)


def program(pod, container):
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOSTNAME": pod["metadata"]["name"]}
    if container["image"].startswith(NO_IMAGES):
        seconds = annotation(pod, "seconds", "1")
        return ["sh", "-c", TICKS], {**environment, "LOG": annotation(pod, "log", "started"), "SECONDS_TO_RUN": seconds,
                                     "CODE": "137" if annotation(pod, "oom") else annotation(pod, "exit-code", "0")}
    for entry in container.get("env", []):
        path = (entry.get("valueFrom") or {}).get("fieldRef", {}).get("fieldPath")
        environment[entry["name"]] = field(pod, path) if path else expanded(entry.get("value", ""), environment)
    return [expanded(word, environment) for word in container.get("command", ["true"]) + container.get("args", [])], environment


def expanded(text, variables):
    """"$(NAME)" is the variable's value, if there is one, and "$$" is "$"."""
    known = lambda name: variables.get(name, f"$({name})")
    return re.sub(r"\$(\$|\(([A-Za-z_][A-Za-z0-9_.-]*)\))", lambda found: "$" if found[1] == "$" else known(found[2]), text)


def field(pod, path):
    """A field of the downward API: metadata.name, metadata.labels['x'] and the like."""
    value = pod
    for word, key in re.findall(r"([^.\[\]']+)|\['([^']*)'\]", path):
        value = value.get(word or key, "") if isinstance(value, dict) else ""
    return str(value)


class Kubelet:
    def __init__(self, cluster):
        self.cluster, self.store, self.loop = cluster, cluster.store, cluster.loop
        self.processes = {}  # uid -> Process
        self.down = set()  # names of nodes
        self.store.subscribers.append(self.noticed)

    def noticed(self, change):
        if change.kind is PODS and change.type != "DELETED" and change.item["spec"].get("nodeName"):
            namespace, name, uid = (change.item["metadata"][key] for key in ("namespace", "name", "uid"))
            self.loop.later(0.02, lambda: self.look(namespace, name), ("kubelet", uid))
        elif change.kind is PODS and change.type == "DELETED" and (process := self.processes.get(change.item["metadata"]["uid"])):
            process.signal(signal.SIGKILL)

    def look(self, namespace, name):
        pod = self.store.find(PODS, namespace, name)
        if pod is None or pod["spec"]["nodeName"] in self.down:
            return
        if "deletionTimestamp" in pod["metadata"]:
            self.end(pod)
        elif not pod["status"].get("containerStatuses"):
            self.prepare(pod)

    def prepare(self, pod):
        image, name = pod["spec"]["containers"][0]["image"], pod["spec"]["containers"][0]["name"]
        scheduled = pod["status"]["conditions"]
        pod["status"]["conditions"] = []
        conditions.put(pod, "PodReadyToStartContainers", "False", lastProbeTime=None)
        conditions.put(pod, "Initialized", "True", lastProbeTime=None)
        for condition in ("Ready", "ContainersReady"):
            conditions.put(pod, condition, "False", UNREADY[0], UNREADY[1].format(name), lastProbeTime=None)
        pod["status"]["conditions"] += scheduled
        pod["status"].update(hostIP="127.0.0.1", hostIPs=[{"ip": "127.0.0.1"}], startTime=now(), containerStatuses=[
            {"name": name, "state": {"waiting": {"reason": "ContainerCreating"}}, "lastState": {}, "ready": False, "restartCount": 0, "image": image,
             "imageID": "", "started": False}])
        key = pod["metadata"]["namespace"], pod["metadata"]["name"]
        if annotation(pod, "image-pull") == "fail":
            self.loop.later(0.3, lambda: self.image_fails(*key))
        else:
            self.loop.later(float(annotation(pod, "creating-seconds", self.cluster.settings.creating_seconds)), lambda: self.run(*key))
        self.store.update(PODS, pod)

    def image_fails(self, namespace, name):
        pod = self.store.find(PODS, namespace, name)
        if pod:
            image = pod["spec"]["containers"][0]["image"]
            pod["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}}
            self.store.update(PODS, pod)

    def run(self, namespace, name):
        pod = self.store.find(PODS, namespace, name)
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        uid, status = pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]
        for condition in ("PodReadyToStartContainers", "Ready", "ContainersReady"):
            conditions.put(pod, condition, "True")
        status.update(state={"running": {"startedAt": now()}}, ready=True, started=True, imageID=f"{status['image']}@sha256:{digest(status['image'])}",
                      containerID=f"containerd://{digest(uid)}")
        pod["status"].update(phase="Running", podIP="10.244.0.9", podIPs=[{"ip": "10.244.0.9"}])
        self.store.update(PODS, pod)
        self.processes[uid] = Process(pod, lambda: self.loop.soon(lambda: self.finished(namespace, name, uid)))

    def finished(self, namespace, name, uid):
        pod = self.store.find(PODS, namespace, name)
        if pod is None or pod["metadata"]["uid"] != uid or pod["status"]["phase"] in ("Succeeded", "Failed"):
            return
        if pod["spec"]["nodeName"] in self.down:
            return  # said when the kubelet is back
        process, status = self.processes[uid], pod["status"]["containerStatuses"][0]
        good = process.code == 0
        reason = "OOMKilled" if annotation(pod, "oom") and process.code == 137 else "Completed" if good else "Error"
        ended = {"exitCode": process.code, "reason": reason, "startedAt": status["state"]["running"]["startedAt"], "finishedAt": now(),
                 "containerID": status["containerID"]}
        status.update(state={"terminated": ended}, ready=False, started=False)
        pod["status"]["phase"] = "Succeeded" if good else "Failed"
        conditions.put(pod, "PodReadyToStartContainers", "False")
        conditions.put(pod, "Initialized", "True", "PodCompleted" if good else None, lastTransitionTime=now())
        for condition in ("Ready", "ContainersReady"):
            conditions.put(pod, condition, "False", "PodCompleted" if good else "PodFailed")
        self.store.update(PODS, pod)

    def end(self, pod):
        """TERM, KILL after the grace, and the pod's removal a moment after its end."""
        process, key = self.processes.get(pod["metadata"]["uid"]), (pod["metadata"]["namespace"], pod["metadata"]["name"])
        if process and pod["status"]["phase"] == "Running":
            process.signal(signal.SIGTERM)
            self.loop.later(pod["metadata"]["deletionGracePeriodSeconds"], lambda: process.signal(signal.SIGKILL), ("kill", pod["metadata"]["uid"]))
        else:
            self.loop.later(REMOVAL_SECONDS if process else 0, lambda: self.remove(*key), ("remove", pod["metadata"]["uid"]))

    def remove(self, namespace, name):
        pod = self.store.find(PODS, namespace, name)
        if pod is None or "deletionTimestamp" not in pod["metadata"] or pod["spec"]["nodeName"] in self.down:
            return
        if pod["metadata"].get("finalizers"):
            pod["metadata"]["deletionGracePeriodSeconds"] = 0  # the last finalizer takes it
            self.store.update(PODS, pod)
        else:
            self.store.remove(PODS, pod)

    def stop(self, node):
        self.down.add(node)
        self.loop.later(self.cluster.settings.silence_seconds, lambda: node in self.down and self.cluster.nodes.silent(node))

    def start(self, node):
        """Back again: it says what it missed."""
        self.down.discard(node)
        self.loop.soon(lambda: self.cluster.nodes.back(node))
        for pod in self.store.list(PODS):
            if pod["spec"].get("nodeName") == node:
                namespace, name, uid = (pod["metadata"][key] for key in ("namespace", "name", "uid"))
                self.loop.soon(lambda key=(namespace, name): self.look(*key))
                if (process := self.processes.get(uid)) and process.code is not None:
                    self.loop.soon(lambda key=(namespace, name, uid): self.finished(*key))

    def log(self, pod, container, previous):
        """The process whose lines are the log; None: the pod has no node yet."""
        name, own = pod["metadata"]["name"], pod["spec"]["containers"][0]["name"]
        if container not in (None, "", own):
            raise bad_request(f"container {container} is not valid for pod {name}")
        if not pod["spec"].get("nodeName"):
            return None
        if previous:
            raise bad_request(f'previous terminated container "{own}" in pod "{name}" not found')
        waiting = ((pod["status"].get("containerStatuses") or [{"state": {"waiting": {"reason": "ContainerCreating"}}}])[0]["state"]).get("waiting")
        if waiting:
            why = "trying and failing to pull image" if waiting["reason"] == "ImagePullBackOff" else waiting["reason"]
            raise bad_request(f'container "{own}" in pod "{name}" is waiting to start: {why}')
        if pod["spec"]["nodeName"] in self.down:
            raise Failure(500, None, f'Get "https://127.0.0.1:20250/containerLogs/{pod["metadata"]["namespace"]}/{name}/{own}": '
                          "dial tcp 127.0.0.1:20250: connect: connection refused")
        return self.processes[pod["metadata"]["uid"]]

    def kill_all(self):
        for process in self.processes.values():
            process.signal(signal.SIGKILL)
        deadline = time.monotonic() + 5
        while any(process.code is None for process in self.processes.values()) and time.monotonic() < deadline:
            time.sleep(0.01)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()
