"""Nodes: the taints that follow from their state, and what becomes of those whose kubelet is silent."""
import conditions
from resources import NODES, PODS
from store import now

CORDONED, NOT_READY, UNREACHABLE = "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
SILENT = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
READY = {"MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
         "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
         "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
         "Ready": ("True", "KubeletReady", "kubelet is posting ready status")}


class Nodes:
    def __init__(self, cluster):
        self.cluster, self.store, self.loop = cluster, cluster.store, cluster.loop
        self.store.subscribers.append(self.noticed)

    def noticed(self, change):
        if change.kind is NODES and change.type != "DELETED":
            name = change.item["metadata"]["name"]
            self.loop.later(self.cluster.settings.taint_seconds, lambda: self.look(name), ("node", name))

    def look(self, name):
        node = self.store.find(NODES, None, name)
        if node is None:
            return
        labels = node["metadata"].get("labels") or {}
        labels.update({f"beta.{key}": labels[key] for key in ("kubernetes.io/arch", "kubernetes.io/os") if key in labels})
        ready = (conditions.find(node, "Ready") or {}).get("status")
        wanted = {CORDONED: bool(node["spec"].get("unschedulable")), UNREACHABLE: ready == "Unknown", NOT_READY: ready == "False"}
        old = node["spec"].pop("taints", [])
        kept = [one for one in old if wanted.get(one["key"], True)]
        kept += [{"key": key, "effect": "NoSchedule", "timeAdded": now()} for key, due in wanted.items()
                 if due and not any(one["key"] == key for one in kept)]
        if kept:
            node["spec"]["taints"] = kept
        self.store.update(NODES, node)

    def silent(self, name):
        """A kubelet has posted nothing for too long."""
        node = self.store.get(NODES, None, name)
        for condition in READY:
            conditions.put(node, condition, "Unknown", *SILENT)
        self.store.update(NODES, node)
        for pod in self.store.list(PODS):
            if pod["spec"].get("nodeName") == name and conditions.is_true(pod, "Ready"):
                conditions.put(pod, "Ready", "False")
                self.store.update(PODS, pod)

    def back(self, name):
        node = self.store.get(NODES, None, name)
        for condition, (status, reason, message) in READY.items():
            conditions.put(node, condition, status, reason, message, lastHeartbeatTime=now())
        self.store.update(NODES, node)
