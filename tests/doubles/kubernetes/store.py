"""Objects with resource versions, and the log of their changes that watches read.

Objects in the store are never changed in place: a caller changes a copy and calls update. `lock` is held by whoever reads and then
writes; subscribers are called with it held, and only note what to do."""
import copy, threading, time, uuid
from collections import namedtuple
from failure import Failure, conflict, details, not_found

Change = namedtuple("Change", "version type kind item before")
# Changes of these fields raise metadata.generation; kinds that have no generation are absent.
GENERATION = {"jobs", "workloads", "clusterqueues", "localqueues", "resourceflavors"}


def now(fraction=False):
    seconds = time.time()
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{text}.{int(seconds % 1 * 10 ** 6):06d}Z" if fraction else text + "Z"


class Store:
    def __init__(self):
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.version = 1
        self.floor = 0  # versions up to here are compacted: no watch begins there
        self.log = []
        self.items = {}  # (kind, namespace, name) -> object
        self.subscribers = []

    def key(self, kind, item):
        metadata = item["metadata"]
        return kind, metadata.get("namespace") if kind.namespaced else None, metadata["name"]

    def get(self, kind, namespace, name):
        found = self.find(kind, namespace, name)
        if found is None:
            raise not_found(kind, name)
        return found

    def find(self, kind, namespace, name):
        return copy.deepcopy(self.items.get((kind, namespace if kind.namespaced else None, name)))

    def list(self, kind, namespace=None):
        return in_order({key: item for key, item in self.items.items() if key[0] is kind and namespace in (None, key[1])})

    def list_at(self, kind, namespace, version):
        """The list as it was at a version that is not compacted."""
        seen = {}
        for change in reversed(self.log):
            if change.version <= version:
                break
            if change.kind is kind:
                seen[self.key(kind, change.item)] = change.before
        kept = {key: item for key, item in self.items.items() if key[0] is kind} | seen
        return in_order({key: item for key, item in kept.items() if item is not None and namespace in (None, key[1])})

    def create(self, kind, item):
        with self.lock:
            metadata = item["metadata"]
            if self.key(kind, item) in self.items:
                name = metadata["name"]
                raise Failure(409, "AlreadyExists", f'{kind.qualified} "{name}" already exists', details(name, kind.group, kind.plural))
            complete_metadata(kind, item)
            return self.record("ADDED", kind, item, None)

    def update(self, kind, item):
        """Stores a new state; the last finalizer of an object that is being deleted takes the object with it."""
        with self.lock:
            name = item["metadata"]["name"]
            before = self.items.get(self.key(kind, item))
            if before is None:
                raise not_found(kind, name)
            given = item["metadata"].get("resourceVersion")
            if given and given != before["metadata"]["resourceVersion"]:
                raise conflict(kind, name)
            item = copy.deepcopy(item)
            metadata = item["metadata"]
            metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
            if not metadata.get("finalizers"):
                metadata.pop("finalizers", None)
            if item == before:
                return copy.deepcopy(before)
            if kind.plural in GENERATION and (item.get("spec") != before.get("spec") or
                                              ("deletionTimestamp" in metadata) != ("deletionTimestamp" in before["metadata"])):
                metadata["generation"] = before["metadata"].get("generation", 1) + 1
            released = before["metadata"].get("finalizers") and "finalizers" not in metadata
            if released and "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds"):
                return self.remove(kind, item)
            return self.record("MODIFIED", kind, item, before)

    def remove(self, kind, item):
        with self.lock:
            before = self.items.get(self.key(kind, item))
            if before is None:
                raise not_found(kind, item["metadata"]["name"])
            return self.record("DELETED", kind, copy.deepcopy(before), before)

    def record(self, change_type, kind, item, before):
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        key = self.key(kind, item)
        if change_type == "DELETED":
            del self.items[key]
        else:
            self.items[key] = item
        self.log.append(Change(self.version, change_type, kind, item, before))
        for subscriber in self.subscribers:
            subscriber(self.log[-1])
        self.changed.notify_all()
        return copy.deepcopy(item)

    def since(self, version):
        """Changes after a version, in order; the caller has checked the floor."""
        index = len(self.log)
        while index and self.log[index - 1].version > version:
            index -= 1
        return self.log[index:]

    def compact(self):
        """Forgets the past: what a server does every five minutes."""
        with self.lock:
            self.floor = self.version
            self.log = []
            self.changed.notify_all()


def in_order(items):
    return [copy.deepcopy(items[key]) for key in sorted(items, key=lambda key: (key[1] or "", key[2]))]


def complete_metadata(kind, item):
    metadata = item["metadata"]
    metadata.setdefault("uid", str(uuid.uuid4()))
    metadata.setdefault("creationTimestamp", now())
    if kind.plural in GENERATION:
        metadata["generation"] = 1
