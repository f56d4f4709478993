"""Kueue: one Workload for each Job with a queue label, admitted in order as quota allows, and evicted when its queue is drained."""
import copy, hashlib, time
import conditions, jobs, quantity
from admission import QUEUE
from resources import CLUSTER_QUEUES, FLAVORS, JOBS, LOCAL_QUEUES, WORKLOADS

IN_USE, STOPPING, JOB_UID = "kueue.x-k8s.io/resource-in-use", "kueue.x-k8s.io/stopping", "kueue.x-k8s.io/job-uid"
OWN_LABELS = ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name")
SPEC = {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "TryNextFlavor"}, "namespaceSelector": {}, "preemption": {
    "borrowWithinCohort": {"policy": "Never"}, "reclaimWithinCohort": "Never", "withinClusterQueue": "Never"}, "queueingStrategy": "BestEffortFIFO",
    "stopPolicy": "None"}
STOPPED = ("ClusterQueueStopped", "The ClusterQueue is stopped")


class Kueue:
    def __init__(self, cluster):
        self.cluster, self.store, self.loop = cluster, cluster.store, cluster.loop
        self.store.subscribers.append(self.noticed)

    def default(self, kind, item):
        """What the webhooks of queues and flavors add."""
        if kind is CLUSTER_QUEUES:
            for name, value in SPEC.items():
                item["spec"].setdefault(name, copy.deepcopy(value))
        elif kind is LOCAL_QUEUES:
            item["spec"].setdefault("stopPolicy", "None")
        if kind in (CLUSTER_QUEUES, FLAVORS):
            item["metadata"].setdefault("finalizers", [IN_USE])

    def noticed(self, change):
        if change.kind is JOBS and QUEUE in (change.item["metadata"].get("labels") or {}) and change.type != "DELETED":
            metadata = change.item["metadata"]
            self.loop.later(0.05, lambda: self.look(metadata["namespace"], metadata["name"]), ("kueue", metadata["uid"]))
        if change.kind in (WORKLOADS, LOCAL_QUEUES, CLUSTER_QUEUES, FLAVORS):
            self.loop.later(0.02, self.admit, "kueue")
        if change.kind is WORKLOADS and "deletionTimestamp" in change.item["metadata"]:
            self.loop.soon(lambda: self.release(change.item))

    def release(self, workload):
        workload = self.store.find(WORKLOADS, workload["metadata"]["namespace"], workload["metadata"]["name"])
        if workload and workload["metadata"].pop("finalizers", None):
            self.store.update(WORKLOADS, workload)

    def workload_of(self, job):
        return next((one for one in self.store.list(WORKLOADS, job["metadata"]["namespace"])
                     if one["metadata"]["labels"].get(JOB_UID) == job["metadata"]["uid"]), None)

    def look(self, namespace, name):
        """Brings a Job and its Workload together."""
        job = self.store.find(JOBS, namespace, name)
        if job is None:
            return
        workload = self.workload_of(job) or self.create_workload(job)
        end = next((one for one in ("Complete", "Failed") if conditions.is_true(job, one)), None)
        if end:
            self.finish(workload, "Succeeded" if end == "Complete" else "Failed", conditions.find(job, end)["message"])
        elif conditions.is_true(workload, "Admitted"):
            if job["spec"]["suspend"]:
                self.start(job, workload)
        elif not job["spec"]["suspend"] or STOPPING in (job["metadata"].get("annotations") or {}):
            self.stop(job, workload)

    def create_workload(self, job):
        metadata, template = job["metadata"], copy.deepcopy(job["spec"]["template"])
        labels = {key: value for key, value in template["metadata"].get("labels", {}).items() if key not in OWN_LABELS}
        template["metadata"] = {key: value for key, value in (("annotations", template["metadata"].get("annotations")), ("labels", labels)) if value}
        name = f"job-{metadata['name']}-{hashlib.sha1(metadata['uid'].encode()).hexdigest()[:5]}"
        owner = {"apiVersion": "batch/v1", "blockOwnerDeletion": True, "controller": True, "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
        workload = self.store.create(WORKLOADS, {
            "apiVersion": WORKLOADS.api_version, "kind": "Workload",
            "metadata": {"name": name, "namespace": metadata["namespace"], "finalizers": [IN_USE], "labels": {JOB_UID: metadata["uid"]},
                         "ownerReferences": [owner]},
            "spec": {"active": True, "podSets": [{"count": job["spec"]["parallelism"], "name": "main", "template": template}], "priority": 0,
                     "priorityClassSource": "", "queueName": metadata["labels"][QUEUE]}})
        self.event(job, "CreatedWorkload", f"Created Workload: {metadata['namespace']}/{name}")
        return workload

    def event(self, job, reason, message):
        self.cluster.events.emit(job, "batch/v1", "Job", "Normal", reason, message, "batch/job-kueue-controller")

    def start(self, job, workload):
        selector = {}
        for assignment in workload["status"]["admission"]["podSetAssignments"]:
            for flavor in assignment["flavors"].values():
                selector.update((self.store.get(FLAVORS, None, flavor).get("spec") or {}).get("nodeLabels", {}))
        job["spec"]["suspend"] = False
        if selector:
            job["spec"]["template"]["spec"]["nodeSelector"] = selector
        self.store.update(JOBS, job)
        self.event(job, "Started", f"Admitted by clusterQueue {workload['status']['admission']['clusterQueue']}")

    def stop(self, job, workload):
        """Suspends a Job that runs without admission: mark, reset of the start, then the template as it was."""
        if not job["spec"]["suspend"]:
            job["spec"]["suspend"] = True
            job["metadata"].setdefault("annotations", {})[STOPPING] = "true"
            job = self.store.update(JOBS, job)
        if job["status"].pop("startTime", None):
            job = self.store.update(JOBS, job)
        job["metadata"]["annotations"].pop(STOPPING)
        if not job["metadata"]["annotations"]:
            del job["metadata"]["annotations"]
        original = workload["spec"]["podSets"][0]["template"]["spec"].get("nodeSelector")
        job["spec"]["template"]["spec"].pop("nodeSelector", None)
        if original:
            job["spec"]["template"]["spec"]["nodeSelector"] = original
        self.store.update(JOBS, job)

    def finish(self, workload, reason, message):
        if not conditions.is_true(workload, "Finished"):
            conditions.put(workload, "Finished", "True", reason, message, observedGeneration=1)
            workload = self.store.update(WORKLOADS, workload)
        self.release(workload)

    def admit(self):
        """Walks through all Workloads in order of priority and age, then rewrites the queues' figures."""
        queue_of = {(one["metadata"]["namespace"], one["metadata"]["name"]): one["spec"]["clusterQueue"] for one in self.store.list(LOCAL_QUEUES)}
        workloads = [one for one in self.store.list(WORKLOADS) if not conditions.is_true(one, "Finished") and "deletionTimestamp" not in one["metadata"]]
        workloads.sort(key=lambda one: (-one["spec"]["priority"], one["metadata"]["creationTimestamp"], int(one["metadata"]["resourceVersion"])))
        blocked = set()  # StrictFIFO: nobody passes one that does not fit, as Kueue's pages say; the recorded queue is BestEffortFIFO
        for workload in workloads:
            name = queue_of.get((workload["metadata"]["namespace"], workload["spec"]["queueName"]))
            queue = self.store.find(CLUSTER_QUEUES, None, name) if name else None
            if queue is None:
                missing = f"LocalQueue {workload['spec']['queueName']} doesn't exist" if name is None else f"ClusterQueue {name} doesn't exist"
                self.refuse(workload, "Inadmissible", missing, {})
            elif queue["spec"]["stopPolicy"] != "None":
                self.hold(workload, queue)
            elif not conditions.is_true(workload, "QuotaReserved") and name not in blocked:
                self.try_to_reserve(workload, queue)
                if queue["spec"]["queueingStrategy"] == "StrictFIFO" and not conditions.is_true(workload, "QuotaReserved"):
                    blocked.add(name)
        self.rewrite_figures(queue_of)

    def refuse(self, workload, reason, message, requests):
        conditions.put(workload, "QuotaReserved", "False", reason, message, observedGeneration=1)
        if requests:
            workload["status"]["resourceRequests"] = [{"name": "main", "resources": requests}]
        self.store.update(WORKLOADS, workload)

    def hold(self, workload, queue):
        admitted = conditions.is_true(workload, "Admitted")
        if admitted and queue["spec"]["stopPolicy"] == "HoldAndDrain":
            ran = int(time.time() - jobs.at(conditions.find(workload, "Admitted")["lastTransitionTime"]))
            workload["status"].pop("admission")
            workload["status"].update({"accumulatedPastExexcutionTimeSeconds": ran} if ran else {})
            conditions.put(workload, "Evicted", "True", *STOPPED, observedGeneration=1)
            conditions.put(workload, "Admitted", "False", "NoReservation", "The workload has no reservation", observedGeneration=1)
            conditions.put(workload, "Requeued", "False", *STOPPED, observedGeneration=1)
        if not admitted or queue["spec"]["stopPolicy"] == "HoldAndDrain":
            self.refuse(workload, "Inadmissible", f"ClusterQueue {queue['metadata']['name']} is inactive", {})
            self.look_at_owner(workload)

    def look_at_owner(self, workload):
        owner = workload["metadata"]["ownerReferences"][0]
        self.loop.soon(lambda: self.look(workload["metadata"]["namespace"], owner["name"]))

    def try_to_reserve(self, workload, queue):
        requests, usage = requests_of(workload), self.usage(queue["metadata"]["name"])
        flavors, problems = {}, []
        for group in queue["spec"]["resourceGroups"]:
            covered = {name: value for name, value in requests.items() if name in group["coveredResources"]}
            for flavor in group["flavors"]:
                nominal = {entry["name"]: entry["nominalQuota"] for entry in flavor["resources"]}
                found = [problem for name, value in covered.items() if (problem := shortage(name, value, flavor["name"], nominal, usage))]
                if not found:
                    flavors.update({name: flavor["name"] for name in covered})
                    break
                problems += found
        if set(flavors) != set(requests):
            self.refuse(workload, "Pending", "couldn't assign flavors to pod set main: " + ", ".join(problems), requests)
            return
        workload.setdefault("status", {}).pop("resourceRequests", None)
        name = queue["metadata"]["name"]
        workload["status"]["admission"] = {"clusterQueue": name, "podSetAssignments": [
            {"count": workload["spec"]["podSets"][0]["count"], "flavors": flavors, "name": "main", "resourceUsage": requests}]}
        conditions.put(workload, "QuotaReserved", "True", "QuotaReserved", f"Quota reserved in ClusterQueue {name}", observedGeneration=1)
        conditions.put(workload, "Admitted", "True", "Admitted", "The workload is admitted", observedGeneration=1)
        if conditions.is_true(workload, "Evicted"):
            conditions.put(workload, "Evicted", "False", "QuotaReserved", "Previously: " + STOPPED[1])
        self.store.update(WORKLOADS, workload)
        self.look_at_owner(workload)

    def holders(self, name):
        return [one for one in self.store.list(WORKLOADS) if ((one.get("status") or {}).get("admission") or {}).get("clusterQueue") == name
                and not conditions.is_true(one, "Finished")]

    def usage(self, name):
        """(flavor, resource) -> quantity."""
        used = {}
        for workload in self.holders(name):
            for assignment in workload["status"]["admission"]["podSetAssignments"]:
                for resource, flavor in assignment["flavors"].items():
                    key = flavor, resource
                    used[key] = quantity.add(used.get(key, "0"), assignment["resourceUsage"][resource])
        return used

    def rewrite_figures(self, queue_of):
        live = [one for one in self.store.list(WORKLOADS) if not conditions.is_true(one, "Finished")]
        for queue in self.store.list(CLUSTER_QUEUES):
            name = queue["metadata"]["name"]
            mine = [one for one in live if queue_of.get((one["metadata"]["namespace"], one["spec"]["queueName"])) == name]
            figures(queue, mine)
            stopped = queue["spec"]["stopPolicy"] != "None"
            conditions.put(queue, "Active", "False" if stopped else "True", "Stopped" if stopped else "Ready",
                           "Can't admit new workloads: is stopped." if stopped else "Can admit new workloads",
                           observedGeneration=queue["metadata"]["generation"])
            for field in ("flavorsReservation", "flavorsUsage"):
                queue["status"][field] = self.flavor_rows(queue, {"borrowed": "0"})
            self.store.update(CLUSTER_QUEUES, queue)
        for local in self.store.list(LOCAL_QUEUES):
            queue = self.store.find(CLUSTER_QUEUES, None, local["spec"]["clusterQueue"])
            if queue is None:
                continue
            figures(local, [one for one in live if (one["metadata"]["namespace"], one["spec"]["queueName"]) ==
                            (local["metadata"]["namespace"], local["metadata"]["name"])])
            conditions.put(local, "Active", "True", "Ready", "Can submit new workloads to localQueue", observedGeneration=1)
            for field in ("flavorUsage", "flavorsReservation"):
                local["status"][field] = self.flavor_rows(queue, {})
            local["status"]["flavors"] = [{
                "name": flavor["name"], "nodeLabels": ((self.store.find(FLAVORS, None, flavor["name"]) or {}).get("spec") or {}).get("nodeLabels", {}),
                "resources": [entry["name"] for entry in flavor["resources"]]} for group in queue["spec"]["resourceGroups"] for flavor in group["flavors"]]
            self.store.update(LOCAL_QUEUES, local)

    def flavor_rows(self, queue, more):
        used = self.usage(queue["metadata"]["name"])
        return [{"name": flavor["name"], "resources": [{**more, "name": entry["name"], "total": used.get((flavor["name"], entry["name"]), "0")}
                                                       for entry in flavor["resources"]]}
                for group in queue["spec"]["resourceGroups"] for flavor in group["flavors"]]


def figures(queue, workloads):
    reserving = [one for one in workloads if conditions.is_true(one, "QuotaReserved")]
    admitted = [one for one in workloads if conditions.is_true(one, "Admitted")]
    queue.setdefault("status", {}).update(admittedWorkloads=len(admitted), reservingWorkloads=len(reserving), pendingWorkloads=len(workloads) - len(reserving))


def requests_of(workload):
    """What a Workload's pods ask for; an extended resource is asked for by its limit."""
    total = {}
    for pod_set in workload["spec"]["podSets"]:
        for container in pod_set["template"]["spec"]["containers"]:
            resources = container.get("resources") or {}
            for name, value in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
                for _ in range(pod_set["count"]):
                    total[name] = quantity.add(total.get(name, "0"), value)
    return total


def shortage(name, value, flavor, nominal, usage):
    asked, limit = quantity.parse(value)[0], quantity.parse(nominal[name])[0]
    if asked > limit:
        return f"insufficient quota for {name} in flavor {flavor}, request > maximum capacity ({value} > {nominal[name]})"
    over = asked + quantity.parse(usage.get((flavor, name), "0"))[0] - limit
    return f"insufficient unused quota for {name} in flavor {flavor}, {quantity.canonical(quantity.plain(over))} more needed" if over > 0 else None
