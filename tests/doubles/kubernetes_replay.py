#!/usr/bin/env python3
"""Replays every recorded request to a real API server against the double, and compares the answers: status, headers and documents.

  tests/doubles/kubernetes_replay.py [--only SESSION[/CASE]]

What changes by itself (a Job on its way) is asked for until the answer is the recorded one; a request that changes something is sent
once. Exit 77 without the recordings ($HELIO_DATA/kubernetes)."""
import argparse, http.client, json, multiprocessing, os, re, shutil, ssl, sys, tempfile, threading, time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "kubernetes")]
import kubernetes_recordings as recordings  # noqa: E402
import fleet, pki  # noqa: E402
from access import Caller, service_account  # noqa: E402
from cluster import Cluster, Settings  # noqa: E402

PATIENCE = 12.0  # seconds until a state must have been reached
NOT_REPLAYED = {
    "resilience/31-gzip-list": "only the size of an OpenAPI document was recorded, and the double has none",
    "resilience/44-watch-cut": "of HTTP/2; the double speaks HTTP/1.1, in which 44-watch-cut-h1 is replayed",
    "resilience/45-watch-kill9": "of HTTP/2, like 44-watch-cut",
    "resilience/45-watch-kill9-h1": "on the wire the same as 44-watch-cut-h1",
}
# Compared in part: what is left out, and why.
IN_PART = {
    "core/00-version": ("gitCommit", "gitTreeState", "goVersion", "compiler", "platform", "buildDate"),  # of a program that the double is not
    "core/02-apis-batch-v1": ("cronjobs", "storageVersionHash"),  # the double has no CronJobs
    "resilience/50-etcd-frozen-readyz": ("body",),  # the names of that server's internal checks
}
ADMIN = {"core/17-fake-node-create-admin", "core/17-fake-node-status-patch-admin", "core/65-404-unknown-resource", "core/65-404-unknown-path-text",
         "core/65-404-namespace", "core/72-405-method-jobs-post-on-item", "core/72-405-method-version"}
TOKENS = {"core/60-401-bad-token": "bad", "core/61-403-no-token-anonymous": None, "core/62-403-no-rights": "nobody",
          "resilience/10-401-expired-token": "expired", "resilience/11-401-wrong-audience": "other-audience",
          "resilience/12-401-service-account-deleted": "deleted", "resilience/21-mtls-client-cert-403": None, "resilience/21-mtls-client-cert-200": None}
OF_A_JOB = re.compile(rf"(job-[a-z]+|n1)-({recordings.RANDOM})\b")


class Client:
    """One connection for each request, so that nothing is shared between cases."""

    def __init__(self, port, folder, certificate=None, host="127.0.0.1"):
        self.port, self.host = port, host
        self.context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        if certificate:
            self.context.load_cert_chain(f"{folder}/{certificate}.crt", f"{folder}/{certificate}.key")

    def send(self, method, url, headers=None, body=b"", token="agent", timeout=40):
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=timeout)
        try:
            connection.request(method, url, body=body or None, headers={**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})})
            answer = connection.getresponse()
            cut, data = False, b""
            try:
                while piece := answer.read1():
                    data += piece
            except (http.client.IncompleteRead, OSError):
                cut = True
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, data, cut
        finally:
            connection.close()

    def admin(self, method, path, document=None, content_type="application/json"):
        status, _, body, _ = self.send(method, path, {"Content-Type": content_type}, json.dumps(document).encode() if document is not None else b"", "admin")
        if status >= 300:
            raise AssertionError(f"{method} {path}: {status} {body[:300]}")
        return json.loads(body) if body.startswith(b"{") else body


class Session:
    """A fresh double with the nodes of the recordings, and the requests of one folder."""

    def __init__(self, data, name, only=None):
        self.name, self.folder, self.only = name, os.path.join(data, name), only
        self.cases = recordings.cases(self.folder)
        self.order = recordings.names(self.folder)
        self.place = tempfile.mkdtemp(prefix="helio-kubernetes-")
        pki.make(f"{self.place}/pki", {"agent-client": "/CN=fgpu-agent-cert"})
        pki.authority(f"{self.place}/other")
        self.double = Cluster(Settings(taint_seconds=2.5, silence_seconds=1.0, creating_seconds=0.5))
        self.double.access.tokens.update({
            "admin": Caller("admin", "", ["system:masters"], {}), "nobody": Caller("nobody", "", ["system:authenticated"], {}),
            "agent": service_account("fgpu", "fgpu-agent", "535e54b8-2ee1-42f9-a599-3bd1063fa520")})
        self.port = self.double.start(0, f"{self.place}/pki", self.objects(data))
        self.client = Client(self.port, f"{self.place}/pki")
        self.certified = Client(self.port, f"{self.place}/pki", "agent-client")
        self.streams, self.failures, self.replayed, self.tokens = {}, [], 0, {}
        self.owners = self.recorded_owners()

    def objects(self, data):
        with open(os.path.join(data, "core", "10-node-list.body"), encoding="utf-8") as file:
            nodes = [{"apiVersion": "v1", "kind": "Node", **node, "spec": {"taints": [], **node["spec"]}} for node in json.load(file)["items"]]
        namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "otherns"}}]
        return fleet.rights("fgpu", "fgpu-agent") + namespaces + nodes

    def recorded_owners(self):
        """The uid of a recorded Job -> its name."""
        found = {}
        for name in self.order:
            if f"{self.name}/{name}" in NOT_REPLAYED:
                continue
            try:
                document = json.loads(self.cases[name].answer()[2])
            except ValueError:
                continue
            if document.get("kind") == "Job":
                found[document["metadata"]["uid"]] = document["metadata"]["name"]
        return found

    def run(self, steps):
        """steps: case -> what happens before it; cases that the table lacks are just sent."""
        try:
            for name in self.order:
                full = f"{self.name}/{name}"
                if full in NOT_REPLAYED:
                    continue
                if before := steps.get(name):
                    before(self)
                if self.only in (None, name):
                    self.replay(name)
                elif self.cases[name].method != "GET":
                    self.send(name)
                if self.only == name and name not in self.streams:
                    break
        finally:
            self.double.end()
            shutil.rmtree(self.place, ignore_errors=True)

    def replay(self, name):
        self.replayed += 1
        wanted = self.wanted(name)
        deadline = time.monotonic() + PATIENCE
        while True:
            lines = self.compare(name, wanted, self.stream(name) if name in self.streams else self.send(name))
            if not lines:
                return
            if self.cases[name].method != "GET" or name in self.streams or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        self.failures.append(name)
        print(f"{self.name}/{name}: {self.cases[name].method} {self.cases[name].url[:150]}")
        print("\n".join(f"    {line}" for line in lines[:12]), flush=True)

    def wanted(self, name):
        return self.cases[name].answer()

    def send(self, name):
        case, full = self.cases[name], f"{self.name}/{name}"
        token = TOKENS.get(full, "admin" if full in ADMIN else "agent")
        client = self.certified if "mtls" in name else self.client
        return client.send(case.method, self.actual(case), case.headers, case.body, token)

    def actual(self, case):
        """The recorded URL with the names and uids of this run."""
        url, store = case.url, self.double.store
        with store.lock:
            for key, item in list(store.items.items()):
                if key[0].plural == "pods":
                    job = item["metadata"]["labels"].get("job-name")
                    url = OF_A_JOB.sub(lambda match, job=job, key=key: key[2] if match.group(1) == job else match.group(0), url)
                elif key[0].plural == "workloads":
                    url = re.sub(r"/job-(kj-[a-z]+)-[0-9a-f]{5}$", lambda match, item=item, key=key: "/" + key[2] if
                                 item["metadata"]["ownerReferences"][0]["name"] == match.group(1) else match.group(0), url)
                elif key[0].plural == "jobs":
                    for uid, name in self.owners.items():
                        url = url.replace(uid, item["metadata"]["uid"]) if name == key[2] else url
        for recorded, token in self.tokens.items():
            url = url.replace(recorded, token)
        return url

    def compare(self, name, wanted, found):
        full = f"{self.name}/{name}"
        lines = [] if wanted[0] == found[0] else [f"status {found[0]}, recorded {wanted[0]}"]
        lines += recordings.differences(recordings.said(wanted[1]), recordings.said(found[1]), "headers")
        if name in self.streams or "watch=1" in self.cases[name].url and wanted[0] == 200:
            return lines + compare_streams(wanted[2], found[2])
        one, other = recordings.normal_body(wanted[2]), recordings.normal_body(found[2])
        if full in IN_PART:
            one, other = without(one, IN_PART[full]), without(other, IN_PART[full])
        if name.endswith(("events-for-job", "events-unschedulable", "events-over-quota", "events-waiting")):
            one, other = said_by_events(one), said_by_events(other)
        if isinstance(one, str) and "log" in name:
            return lines + ([] if one == other else [f"text {other!r}, recorded {one!r}"])
        return lines + recordings.differences(one, other)

    def begin(self, name, client=None):
        """Starts a stream that goes on beside the following cases; its version is the present one."""
        case = self.cases[name]
        if "resourceVersion" in case.query:
            case.query["resourceVersion"] = str(self.double.store.version)
        result = []
        thread = threading.Thread(target=lambda: result.append((client or self.client).send(case.method, self.actual(case), case.headers)), daemon=True)
        self.streams[name] = thread, result
        thread.start()
        time.sleep(0.1)

    def stream(self, name):
        thread, result = self.streams[name]
        thread.join(60)
        return result[0]

    def create(self, request):
        with open(os.path.join(self.folder, f"req-{request}.json"), "rb") as file:
            status, _, body, _ = self.client.send("POST", "/apis/batch/v1/namespaces/fgpu/jobs", {"Content-Type": "application/json"}, file.read())
        if status != 201:
            raise AssertionError(f"{request}: {status} {body}")

    def merge(self, path, change):
        self.client.admin("PATCH", path, change, "application/merge-patch+json")

    def fault(self, **wishes):
        self.client.admin("POST", "/double/faults", wishes)

    def until(self, what, path, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds(self.client.admin("GET", path)):
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name}: {what} did not come")
            time.sleep(0.05)

    def pod_is(self, job, phase):
        path = f"/api/v1/namespaces/fgpu/pods?labelSelector=job-name%3D{job}"
        self.until(f"{job} {phase}", path, lambda pods: bool(pods["items"]) and pods["items"][0]["status"]["phase"] == phase)


def without(document, names):
    if names == ("body",):
        return None
    if isinstance(document, dict):
        return {key: without(value, names) for key, value in document.items() if key not in names}
    if isinstance(document, list):
        return [without(one, names) for one in document if not (isinstance(one, dict) and one.get("name", "").split("/")[0] in names)]
    return document


def said_by_events(document):
    """Which events: how often they repeat depends on the clock."""
    rows = [{key: one.get(key) for key in ("reason", "message", "type", "source", "reportingComponent", "action")} |
            {"about": {key: value for key, value in one["involvedObject"].items()}, "fields": sorted(set(one) - {"series"})} for one in document["items"]]
    return [row for index, row in enumerate(rows) if row not in rows[:index]]


def compare_streams(wanted, found):
    """Each object's events in order; how those of several objects mix depends on the clock. A recording can be cut off at its end."""
    one, other = recordings.events_by_object(wanted), recordings.events_by_object(found)
    lines = []
    for name, events in one.items():
        others = other.get(name, [])
        if not wanted.endswith(b"\n"):
            others = others[:len(events)]
        lines += recordings.differences(events, others, name)
    return lines + [f"{name}: events, but none recorded" for name in other if name not in one and wanted.endswith(b"\n")]


def core_steps():
    def cordoned(session):
        session.merge("/api/v1/nodes/gpu-mig-0", {"spec": {"unschedulable": True}})

    def tainted(session):
        session.merge("/api/v1/nodes/gpu-mig-0", {"spec": {"unschedulable": None, "taints": [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}})

    def clean(session):
        session.merge("/api/v1/nodes/gpu-mig-0", {"spec": {"taints": None}})

    def untainted(session):
        session.until("the end of the taint", "/api/v1/nodes/tmp-gpu", lambda node: node["spec"] == {})

    def first_job(session):
        session.client.admin("DELETE", "/api/v1/nodes/tmp-gpu")
        session.begin("50-watch-jobs-complete-then-delete")
        session.begin("51-watch-pods-complete-then-delete")

    def quota(session):
        session.client.admin("POST", "/api/v1/namespaces/fgpu/resourcequotas", {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"requests.nvidia.com/gpu": 1}}})

    def no_quota(session):
        session.client.admin("DELETE", "/api/v1/namespaces/fgpu/resourcequotas/q")

    def quota_job_ended(session):
        session.pod_is("job-quota", "Succeeded")
        session.pod_is("job-slow", "Succeeded")
        session.until("their ends", "/apis/batch/v1/namespaces/fgpu/jobs",
                      lambda jobs: sum("completionTime" in job["status"] for job in jobs["items"]) == 2)

    def second_page(session):
        first = json.loads(session.send("12-node-list-page1")[2])
        session.tokens[session.cases["12-node-list-page2"].query["continue"]] = first["metadata"]["continue"]

    def to_delete(session):
        session.create("job-run")
        session.pod_is("job-run", "Running")

    return {"12-node-list-page2": second_page, "14-node-get-cordoned": cordoned, "15-node-get-tainted": tainted, "16-node-list-metadata-only": clean,
            "17-fake-node-status-patch-admin": untainted, "20-job-create": first_job, "43-log-400-container-creating": lambda session: session.create("job-slow"),
            "38-job-create-over-quota": quota, "45-job-create-suspended": no_quota, "60-401-bad-token": quota_job_ended, "77-delete-running-background": to_delete}


def kueue_objects(session):
    """The queues, from the manifests that the recorded objects carry."""
    for name in ("02-resourceflavors", "01-clusterqueue-get", "00-localqueue-get"):
        document = json.loads(session.cases[name].answer()[2])
        for item in document.get("items", [document]):
            manifest = item["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
            item = json.loads(manifest)
            item["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": manifest}
            within = f"namespaces/{item['metadata']['namespace']}/" if "namespace" in item["metadata"] else ""
            session.client.admin("POST", f"/apis/kueue.x-k8s.io/v1beta1/{within}{item['kind'].lower()}s", item)


def kueue_steps():
    def watch(session):
        session.begin("51-watch-workloads")
        session.begin("50-watch-jobs")

    def policy(value):
        return lambda session: session.merge("/apis/kueue.x-k8s.io/v1beta1/clusterqueues/gpu", {"spec": {"stopPolicy": value}})

    def running(session):
        session.create("kj-d")

    def drained(session):
        session.pod_is("kj-d", "Running")
        time.sleep(1.2)  # so that it ran for a second
        policy("HoldAndDrain")(session)

    def reverted(session):
        session.until("the revert", "/apis/batch/v1/namespaces/fgpu/jobs/kj-b", lambda job: job["metadata"]["generation"] == 3)
    return {"00-localqueue-get": kueue_objects, "10-job-create-suspended-queue": watch, "18-job-after-unsuspend-by-hand": reverted, "40-job-running": running,
            "41-job-evicted-by-drain": drained, "42-job-readmitted": policy("None"), "45-create-webhook-timeout": lambda session: session.fault(webhook_down=True)}


def resilience_steps():
    def bound(session):
        session.client.admin("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/fgpu/rolebindings", {
            "metadata": {"name": "certified"}, "roleRef": {"kind": "Role", "name": "fgpu-agent"}, "subjects": [{"kind": "User", "name": "fgpu-agent-cert"}]})

    def watched_job(session):
        session.begin("30-http11-watch")
        session.create("h1")

    def old_page(session):
        first = json.loads(session.client.send("GET", "/api/v1/nodes?limit=1")[2])
        session.tokens[session.cases["40-410-continue-expired"].query["continue"]] = first["metadata"]["continue"]
        age(session)

    def age(session):
        """Everything up to now is compacted, and a little more happens."""
        for name in ("40-410-list-exact-old-rv", "43-410-watch-too-old"):
            session.cases[name].query["resourceVersion"] = str(session.double.store.version)
        session.merge("/apis/batch/v1/namespaces/fgpu/jobs/h1", {"metadata": {"labels": {"x": "3"}}})
        session.fault(compact=True)

    def lost(session):
        session.create("n1")
        session.pod_is("n1", "Running")
        session.until("its readiness", "/apis/batch/v1/namespaces/fgpu/jobs/n1", lambda job: job["status"].get("ready") == 1)
        session.fault(kubelet_down="gpu-h200-0")
    return {"21-mtls-client-cert-200": bound, "30-http11-watch": watched_job, "40-410-continue-expired": old_page,
            "43-410-watch-too-old": faults_of_the_line, "50-etcd-frozen-list": lambda session: session.fault(frozen=True),
            "51-create-outcome-after-thaw": thaw, "60-429-too-many": lambda session: session.double.faults.apply({"too_many": 1}), "70-log-kubelet-down": lost,
            "73-node-ready-again": lambda session: session.fault(kubelet_up="gpu-h200-0")}


def thaw(session):
    session.double.faults.apply({"frozen": False})


def faults_of_the_line(session):
    """What was recorded as curl's words, not as an answer: TLS, a server that is gone, its first answer, a watch that is cut."""
    url, certificate = "/apis/batch/v1/namespaces/fgpu/jobs", f"{session.place}/pki"
    for what, client in (("another authority", Client(session.port, f"{session.place}/other")), ("another name", Client(session.port, certificate, host="wrong.example"))):
        expect(session, f"20-tls-failures, {what}", ssl.SSLCertVerificationError, lambda client=client: named(client).send("GET", url))
    plain = http.client.HTTPConnection("127.0.0.1", session.port, timeout=5)
    plain.request("GET", url)
    answer = plain.getresponse()
    with open(os.path.join(session.folder, "20-tls-failures.txt"), encoding="utf-8") as file:
        check(session, "20-tls-failures, no TLS", answer.status == 400 and answer.read().decode().strip() in file.read())
    session.until("the end of h1", url, lambda jobs: bool(jobs["items"]) and jobs["items"][0]["status"].get("succeeded") == 1)
    watched = []
    thread = threading.Thread(target=lambda: watched.append(session.client.send("GET", url + "?watch=1&timeoutSeconds=20")), daemon=True)
    thread.start()
    time.sleep(0.5)
    session.fault(outage_seconds=1)
    thread.join(10)
    recorded = open(os.path.join(session.folder, "44-watch-cut-h1.body"), "rb").read()
    check(session, "44-watch-cut-h1", bool(watched) and watched[0][3] and not compare_streams(recorded, watched[0][2]))
    expect(session, "41-apiserver-down", ConnectionRefusedError, lambda: session.client.send("GET", url))
    session.double.faults.apply({"cold": 1})
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            found = session.client.send("GET", url)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    recorded = open(os.path.join(session.folder, "42-first-answer.body"), "rb").read()
    check(session, "42-first-answer", found[0] == 403 and recordings.normal_body(recorded) == recordings.normal_body(found[2]))
    check(session, "42-first-answer, the second", session.client.send("GET", url)[0] == 200)


def named(client):
    """The name in the URL differs from the address."""
    if client.host != "127.0.0.1":
        connect = client.context.wrap_socket
        client.context.wrap_socket = lambda sock, server_hostname=None, **more: connect(sock, server_hostname="wrong.example", **more)
        client.host = "127.0.0.1"
    return client


def check(session, what, good):
    session.replayed += 1
    if not good:
        session.failures.append(what)
        print(f"{session.name}/{what}: differs", flush=True)


def expect(session, what, error, call):
    try:
        call()
        check(session, what, False)
    except error:
        check(session, what, True)


SESSIONS = {"core": core_steps, "kueue": kueue_steps, "resilience": resilience_steps}


def outcome(data, name, case):
    """How many recordings of a session were replayed, and which differ."""
    session = Session(data, name, case)
    session.run(SESSIONS[name]())
    return session.replayed, [f"{name}/{one}" for one in session.failures]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    data = os.path.join(os.environ.get("HELIO_DATA", "/nonexistent"), "kubernetes")
    if not os.path.isdir(data):
        print(f"SKIPPED: recordings of a Kubernetes API: {data} is not there")
        return 77
    only, _, case = options.only.partition("/")
    names = [(data, name, case or None) for name in SESSIONS if only in ("", name)]
    with multiprocessing.get_context("fork").Pool(len(SESSIONS)) as pool:  # each mostly waits
        results = pool.starmap(outcome, names)
        again = pool.starmap(outcome, [one for one, (_, failed) in zip(names, results) if failed])
    # What differs once and not again is a delay of this machine: the recorded client was quicker than a step of the double's.
    replayed = sum(count for count, _ in results)
    failures = [one for _, failed in results for one in failed if any(one in others for _, others in again)]
    for full, why in NOT_REPLAYED.items():
        print(f"not replayed: {full}: {why}")
    print(f"{replayed} recordings replayed, {len(failures)} differ" + (": " + " ".join(failures) if failures else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
