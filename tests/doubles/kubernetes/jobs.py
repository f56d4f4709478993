"""The controller of Jobs. One look at a Job and its pods: pods that ended are first noted as uncounted, then released, then counted, as
the real one does, so that a Job shows SuccessCriteriaMet or FailureTarget before it shows Complete or Failed."""
import calendar, copy, time
import admission, conditions
from failure import Failure
from resources import JOBS, PODS
from store import now

BATCH_SECONDS = 1.0  # how long changes of pods are collected
INDEX = "batch.kubernetes.io/job-completion-index"
ENDS = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}


class Jobs:
    def __init__(self, cluster):
        self.cluster, self.store, self.loop = cluster, cluster.store, cluster.loop
        self.store.subscribers.append(self.noticed)

    def noticed(self, change):
        if change.kind is JOBS:
            self.plan(change.item, 0)
        elif change.kind is PODS:
            owner = owner_of(change.item)
            if owner:
                self.loop.later(BATCH_SECONDS, lambda: self.look(change.item["metadata"]["namespace"], owner["name"]), ("job", owner["uid"], "batch"))
                if change.type != "DELETED" and admission.TRACKING in change.item["metadata"].get("finalizers", []):
                    self.loop.soon(lambda: self.release_orphan(change.item), ("orphan", change.item["metadata"]["uid"]))

    def plan(self, job, seconds):
        metadata = job["metadata"]
        self.loop.later(seconds, lambda: self.look(metadata["namespace"], metadata["name"]), ("job", metadata["uid"], seconds > 0))

    def release_orphan(self, pod):
        """The Job is gone: nobody else would remove the finalizer."""
        owner = owner_of(pod)
        job = self.store.find(JOBS, pod["metadata"]["namespace"], owner["name"])
        if job is None or job["metadata"]["uid"] != owner["uid"]:
            release(self.store, pod)

    def pods_of(self, job):
        uid = job["metadata"]["uid"]
        return [pod for pod in self.store.list(PODS, job["metadata"]["namespace"]) if (owner_of(pod) or {}).get("uid") == uid]

    def look(self, namespace, name):
        job = self.store.find(JOBS, namespace, name)
        if job is None or job["spec"].get("managedBy"):
            return
        if conditions.is_true(job, "Complete") or conditions.is_true(job, "Failed"):
            self.expire(job)
            return
        Look(self, job).perform()

    def expire(self, job):
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is None or "deletionTimestamp" in job["metadata"]:
            return
        end = max(at(one["lastTransitionTime"]) for one in job["status"]["conditions"])
        left = end + seconds - time.time()
        if left <= 0:
            self.cluster.collector.delete(JOBS, job, {"propagationPolicy": "Background"})
        else:
            self.plan(job, left)


class Look:
    """One look at one Job."""

    def __init__(self, jobs, job):
        self.jobs, self.store, self.cluster = jobs, jobs.store, jobs.cluster
        self.job, self.spec = job, job["spec"]
        self.status = job["status"] = copy.deepcopy(job.get("status") or {})
        self.pods = jobs.pods_of(job)

    def perform(self):
        if "deletionTimestamp" in self.job["metadata"]:
            for pod in self.pods:
                release(self.store, pod)
            return
        self.begin()
        self.count_new_ends()
        self.decide()
        if conditions.find(self.job, "FailureTarget") or self.spec["suspend"]:
            self.end_active()
        elif not conditions.find(self.job, "SuccessCriteriaMet"):
            self.add_pods()
        self.note_figures()
        self.write()
        self.count()

    def begin(self):
        if self.spec["suspend"]:
            if not conditions.is_true(self.job, "Suspended"):
                conditions.put_for_job(self.job, "Suspended", "True", "JobSuspended", "Job suspended")
                self.event("Normal", "Suspended", "Job suspended")
            return
        if conditions.is_true(self.job, "Suspended"):
            conditions.put_for_job(self.job, "Suspended", "False", "JobResumed", "Job resumed")
            self.event("Normal", "Resumed", "Job resumed")
            self.status["startTime"] = now()
        self.status.setdefault("startTime", now())

    def ended(self, pod):
        """Failed by phase; or, unless the Job waits for the phase, by its deletion. What a suspension deleted did not fail."""
        phase = pod["status"]["phase"]
        if phase in ("Succeeded", "Failed"):
            return not (self.spec["suspend"] and "deletionTimestamp" in pod["metadata"])
        terminating = "deletionTimestamp" in pod["metadata"] and self.spec["podReplacementPolicy"] == "TerminatingOrFailed"
        return terminating and not self.spec["suspend"]

    def count_new_ends(self):
        uncounted = self.status.setdefault("uncountedTerminatedPods", {})
        for pod in self.pods:
            how = "succeeded" if pod["status"]["phase"] == "Succeeded" else "failed"
            known = uncounted.get(how, [])
            if tracked(pod) and self.ended(pod) and pod["metadata"]["uid"] not in known:
                uncounted[how] = known + [pod["metadata"]["uid"]]

    def total(self, how):
        return self.status.get(how, 0) + len(self.status["uncountedTerminatedPods"].get(how, []))

    def decide(self):
        if conditions.find(self.job, "FailureTarget") or conditions.find(self.job, "SuccessCriteriaMet"):
            return
        limit = self.spec.get("activeDeadlineSeconds")
        if limit is not None and not self.spec["suspend"]:
            left = at(self.status["startTime"]) + limit - time.time()
            if left <= 0:
                self.fail("DeadlineExceeded", "Job was active longer than specified deadline")
                return
            self.jobs.plan(self.job, left)
        if self.total("failed") > self.spec["backoffLimit"]:
            self.fail("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        elif self.total("succeeded") >= self.spec.get("completions", 1) and "completions" in self.spec:
            conditions.put_for_job(self.job, "SuccessCriteriaMet", "True", "CompletionsReached", "Reached expected number of succeeded pods")

    def fail(self, reason, message):
        conditions.put_for_job(self.job, "FailureTarget", "True", reason, message)

    def active(self):
        return [pod for pod in self.pods if pod["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in pod["metadata"]]

    def end_active(self):
        for pod in self.active():
            self.cluster.collector.delete(PODS, pod, {})
            if not self.spec["suspend"]:
                self.event("Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
        self.pods = self.jobs.pods_of(self.job)
        for pod in self.pods:
            if self.spec["suspend"] and "deletionTimestamp" in pod["metadata"]:
                release(self.store, pod)
        self.pods = self.jobs.pods_of(self.job)
        self.count_new_ends()

    def add_pods(self):
        active = self.active()
        waiting = [pod for pod in self.pods if "deletionTimestamp" in pod["metadata"] and pod["status"]["phase"] in ("Pending", "Running")]
        held = len(waiting) if self.spec["podReplacementPolicy"] == "Failed" else 0
        missing = min(self.spec["parallelism"], self.spec.get("completions", self.spec["parallelism"]) - self.total("succeeded")) - len(active) - held
        indexes = self.free_indexes(active + waiting) if self.spec["completionMode"] == "Indexed" else [None] * max(missing, 0)
        for index in indexes[:max(missing, 0)]:
            try:
                pod = self.cluster.pods.create(pod_of(self.job, index))
            except Failure as failure:
                self.event("Warning", "FailedCreate", f"Error creating: {failure}")
                self.jobs.plan(self.job, BATCH_SECONDS)
                break
            self.pods.append(pod)
            self.event("Normal", "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")

    def free_indexes(self, pods):
        taken = {int(pod["metadata"]["annotations"][INDEX]) for pod in pods} | self.done_indexes()
        return [index for index in range(self.spec.get("completions", 0)) if index not in taken]

    def done_indexes(self):
        done = {int(pod["metadata"]["annotations"][INDEX]) for pod in self.pods if pod["status"]["phase"] == "Succeeded"}
        for part in filter(None, self.status.get("completedIndexes", "").split(",")):
            first, _, last = part.partition("-")
            done |= set(range(int(first), int(last or first) + 1))
        return done

    def note_figures(self):
        active = self.active()
        terminating = [pod for pod in self.pods if "deletionTimestamp" in pod["metadata"] and pod["status"]["phase"] in ("Pending", "Running")]
        self.status.pop("active", None)
        if active:
            self.status["active"] = len(active)
        self.status.update(terminating=len(terminating), ready=sum(conditions.is_true(pod, "Ready") for pod in active))
        if self.spec["completionMode"] == "Indexed" and self.done_indexes():
            self.status["completedIndexes"] = ranges(sorted(self.done_indexes()))

    def count(self):
        """Releases the pods that are noted, adds them up, and finishes the Job if nothing of it runs any more."""
        uncounted = self.status["uncountedTerminatedPods"]
        for pod in self.pods:
            if pod["metadata"]["uid"] in uncounted.get("succeeded", []) + uncounted.get("failed", []):
                release(self.store, pod)
        for how, uids in uncounted.items():
            self.status[how] = self.status.get(how, 0) + len(uids)
        self.status["uncountedTerminatedPods"] = {}
        for end, interim in ENDS.items():
            found = conditions.find(self.job, interim)
            if found and not self.status["terminating"] and not self.active():
                conditions.put_for_job(self.job, end, "True", found["reason"], found["message"])
                if end == "Complete":
                    self.status["completionTime"] = found["lastTransitionTime"]
                self.event(*(("Normal", "Completed", "Job completed") if end == "Complete" else ("Warning", found["reason"], found["message"])))
        self.write()

    def write(self):
        self.job = self.store.update(JOBS, self.job)
        self.status = self.job["status"]

    def event(self, kind, reason, message):
        self.cluster.events.emit(self.job, "batch/v1", "Job", kind, reason, message, "job-controller")


def owner_of(pod):
    return next((one for one in pod["metadata"].get("ownerReferences", []) if one.get("controller") and one["kind"] == "Job"), None)


def tracked(pod):
    return admission.TRACKING in pod["metadata"].get("finalizers", [])


def release(store, pod):
    pod = store.find(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
    if pod and tracked(pod):
        pod["metadata"]["finalizers"].remove(admission.TRACKING)
        store.update(PODS, pod)


def pod_of(job, index):
    name, template = job["metadata"]["name"], copy.deepcopy(job["spec"]["template"])
    prefix = f"{name}-" if index is None else f"{name}-{index}-"
    metadata = {"name": admission.generated(prefix), "generateName": prefix, "namespace": job["metadata"]["namespace"],
                "labels": template["metadata"]["labels"], "annotations": template["metadata"].get("annotations"),
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"], "controller": True,
                                     "blockOwnerDeletion": True}],
                "finalizers": [admission.TRACKING]}
    if index is not None:
        metadata["annotations"] = {**(metadata["annotations"] or {}), INDEX: str(index)}
        metadata["labels"][INDEX] = str(index)
        template["spec"].setdefault("hostname", f"{name}-{index}")
        for container in template["spec"]["containers"]:
            container.setdefault("env", []).append({"name": "JOB_COMPLETION_INDEX", "value": str(index)})
    return {"metadata": {key: value for key, value in metadata.items() if value is not None}, "spec": template["spec"]}


def ranges(numbers):
    parts = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def at(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
