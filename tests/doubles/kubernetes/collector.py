"""Deletion: what is removed at once, what waits for finalizers or a kubelet, and what goes with its owner."""
import time
from failure import conflict
from resources import JOBS, PODS
from store import now

WARNING = ('299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set '
           'propagationPolicy=Orphan to suppress this warning"')


class Collector:
    def __init__(self, cluster):
        self.cluster, self.store, self.loop = cluster, cluster.store, cluster.loop
        self.store.subscribers.append(self.noticed)

    def delete(self, kind, item, options):
        """The answer: None says that it is gone; else the object, which waits for something."""
        metadata = item["metadata"]
        uid = (options.get("preconditions") or {}).get("uid")
        if uid and uid != metadata["uid"]:
            raise uid_conflict(kind, metadata, uid)
        if kind is PODS:
            return self.delete_pod(item, options)
        policy = options.get("propagationPolicy") or ("Orphan" if kind is JOBS else "Background")
        finalizer = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}.get(policy)
        if finalizer and finalizer not in metadata.get("finalizers", []):
            metadata["finalizers"] = [*metadata.get("finalizers", []), finalizer]
        if metadata.get("finalizers"):
            metadata.setdefault("deletionTimestamp", now())
            metadata["deletionGracePeriodSeconds"] = 0
            return self.store.update(kind, item)
        self.store.remove(kind, item)
        return None

    def delete_pod(self, pod, options):
        """A pod that has a node is ended by its kubelet, however long that is away."""
        metadata, grace = pod["metadata"], options.get("gracePeriodSeconds")
        if grace is None:
            grace = pod["spec"]["terminationGracePeriodSeconds"]
        if pod["status"]["phase"] in ("Succeeded", "Failed") or not pod["spec"].get("nodeName"):
            grace = 0
        if not pod["spec"].get("nodeName") or options.get("gracePeriodSeconds") == 0:
            if not metadata.get("finalizers"):
                return self.store.remove(PODS, pod)
        if metadata.get("deletionGracePeriodSeconds", grace + 1) <= grace:
            return pod
        metadata["deletionTimestamp"] = later(grace)
        metadata["deletionGracePeriodSeconds"] = grace
        return self.store.update(PODS, pod)

    def noticed(self, change):
        metadata = change.item["metadata"]
        if change.type == "DELETED":
            self.loop.soon(lambda: self.delete_dependents(metadata["uid"], metadata.get("namespace")))
        elif "deletionTimestamp" in metadata and metadata.get("finalizers"):
            self.loop.soon(lambda: self.settle(change.kind, metadata), ("settle", metadata["uid"]))

    def dependents(self, uid, namespace):
        with_kind = [(key[0], item) for key, item in self.store.items.items() if key[1] == namespace]
        return [(kind, self.store.find(kind, namespace, item["metadata"]["name"])) for kind, item in with_kind
                if any(one["uid"] == uid for one in item["metadata"].get("ownerReferences", []))]

    def delete_dependents(self, uid, namespace):
        for kind, item in self.dependents(uid, namespace):
            if "deletionTimestamp" not in item["metadata"]:
                self.delete(kind, item, {"propagationPolicy": "Background"})

    def settle(self, kind, metadata):
        """Takes the next step for an object that waits for its own dependents."""
        item = self.store.find(kind, metadata.get("namespace"), metadata["name"])
        if item is None:
            return
        uid, finalizers = item["metadata"]["uid"], item["metadata"].get("finalizers", [])
        if "orphan" in finalizers:
            for other, dependent in self.dependents(uid, metadata.get("namespace")):
                owners = [one for one in dependent["metadata"]["ownerReferences"] if one["uid"] != uid]
                dependent["metadata"].pop("ownerReferences")
                dependent["metadata"].update({"ownerReferences": owners} if owners else {})
                if other is PODS:
                    dependent["metadata"]["finalizers"] = []  # the Job's controller lets go of what is no longer its own
                self.store.update(other, dependent)
            finalizers.remove("orphan")
            self.store.update(kind, item)
        elif "foregroundDeletion" in finalizers:
            self.delete_dependents(uid, metadata.get("namespace"))
            if self.dependents(uid, metadata.get("namespace")):
                self.loop.later(0.1, lambda: self.settle(kind, metadata))
            else:
                finalizers.remove("foregroundDeletion")
                self.store.update(kind, item)


def uid_conflict(kind, metadata, uid):
    failure = conflict(kind, metadata["name"], f"the UID in the precondition ({uid}) does not match the UID in record ({metadata['uid']}). The object "
                       "might have been deleted and then recreated")
    singular = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    failure.status["message"] = failure.status["message"].replace(kind.qualified, singular, 1)
    failure.status["details"]["kind"] = kind.kind
    return failure


def later(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
