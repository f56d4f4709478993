"""New pods: their quota, and their way to a node."""
import admission, conditions, quantity
from failure import Failure, details
from resources import BY_PLURAL, NODES, PODS

NO_VICTIMS = "preemption: 0/{0} nodes are available: {1}."


class Pods:
    def __init__(self, cluster):
        self.cluster, self.store, self.loop = cluster, cluster.store, cluster.loop
        self.store.subscribers.append(self.noticed)

    def create(self, pod):
        priorities = {one["metadata"]["name"]: one["value"] for one in self.store.list(BY_PLURAL["priorityclasses"])}
        if pod["spec"].get("priorityClassName") and pod["spec"]["priorityClassName"] not in priorities:
            raise Failure(403, "Forbidden", f'pods "{pod["metadata"]["name"]}" is forbidden: no PriorityClass with name {pod["spec"]["priorityClassName"]} '
                          "was found", details(pod["metadata"]["name"], "", "pods"))
        admission.default_pod(pod, priorities)
        self.check_quota(pod)
        return self.store.create(PODS, pod)

    def check_quota(self, pod):
        namespace = pod["metadata"]["namespace"]
        for quota in self.store.list(BY_PLURAL["resourcequotas"], namespace):
            for name, limit in quota["spec"]["hard"].items():
                if not name.startswith("requests."):
                    continue
                asked = requested([pod]).get(name.removeprefix("requests."), "0")
                used = requested(running(self.store.list(PODS, namespace))).get(name.removeprefix("requests."), "0")
                if asked != "0" and quantity.parse(quantity.add(used, asked))[0] > quantity.parse(limit)[0]:
                    named = pod["metadata"]["name"]
                    raise Failure(403, "Forbidden", f'pods "{named}" is forbidden: exceeded quota: {quota["metadata"]["name"]}, requested: {name}={asked}, '
                                  f"used: {name}={used}, limited: {name}={limit}", details(named, "", "pods"))

    def noticed(self, change):
        if change.kind is PODS and change.type == "ADDED":
            self.loop.soon(self.schedule, "schedule")
        elif change.kind is NODES or change.kind is PODS and (change.type == "DELETED" or change.item["status"]["phase"] in ("Succeeded", "Failed")):
            self.loop.later(0.2, self.schedule, "schedule")

    def schedule(self):
        waiting = [pod for pod in self.store.list(PODS) if not pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending"
                   and "deletionTimestamp" not in pod["metadata"]]
        for pod in sorted(waiting, key=lambda pod: (-pod["spec"].get("priority", 0), int(pod["metadata"]["resourceVersion"]))):
            self.place(pod)

    def place(self, pod):
        nodes = self.store.list(NODES)
        hindrances = {node["metadata"]["name"]: self.hindrance(node, pod) for node in nodes}
        free = [name for name, hindrance in hindrances.items() if not hindrance]
        if free:
            pod["spec"]["nodeName"] = max(free, key=lambda name: (wants_gpu(pod) == has_gpu(self.store.get(NODES, None, name)), -free.index(name)))
            conditions.put(pod, "PodScheduled", "True", lastProbeTime=None)
            self.store.update(PODS, pod)
            return
        counts = {}
        for reasons in hindrances.values():
            for reason in reasons:
                counts[reason] = counts.get(reason, 0) + 1
        listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        scarce = sum(all(reason.startswith("Insufficient") for reason in reasons) for reasons in hindrances.values())
        victims = ", ".join(filter(None, [f"{scarce} No preemption victims found for incoming pod" if scarce else "",
                                          f"{len(nodes) - scarce} Preemption is not helpful for scheduling" if scarce < len(nodes) else ""]))
        message = f"0/{len(nodes)} nodes are available: {listed}. " + NO_VICTIMS.format(len(nodes), victims)
        conditions.put(pod, "PodScheduled", "False", "Unschedulable", message, lastProbeTime=None)
        self.store.update(PODS, pod)
        self.cluster.events.emit(pod, "v1", "Pod", "Warning", "FailedScheduling", message, "default-scheduler", new_style=True)

    def hindrance(self, node, pod):
        """Why a pod cannot go to a node: the first filter's reasons; empty: it can."""
        spec, labels = pod["spec"], node["metadata"].get("labels") or {}
        for taint in node["spec"].get("taints", []):
            if taint["effect"] != "PreferNoSchedule" and not any(tolerates(one, taint) for one in spec.get("tolerations", [])):
                return [f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"]
        if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()) or not affine(spec, labels):
            return ["node(s) didn't match Pod's node affinity/selector"]
        here = [one for one in running(self.store.list(PODS)) if one["spec"].get("nodeName") == node["metadata"]["name"]]
        used, allocatable = requested(here), node["status"].get("allocatable") or {}
        return [f"Insufficient {name}" for name, asked in requested([pod]).items() if asked != "0" and
                quantity.parse(quantity.add(used.get(name, "0"), asked))[0] > quantity.parse(allocatable.get(name, "0"))[0]]


def running(pods):
    return [pod for pod in pods if pod["status"]["phase"] not in ("Succeeded", "Failed")]


def requested(pods):
    total = {}
    for pod in pods:
        for container in pod["spec"]["containers"]:
            for name, value in (container["resources"].get("requests") or {}).items():
                total[name] = quantity.add(total.get(name, "0"), value)
    return total


def wants_gpu(pod):
    return any("nvidia.com/" in name for name in requested([pod]))


def has_gpu(node):
    return any("nvidia.com/" in name and value != "0" for name, value in node["status"].get("allocatable", {}).items())


def tolerates(toleration, taint):
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", "")


def affine(spec, labels):
    """Required node affinity with In, NotIn, Exists and DoesNotExist."""
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or []

    def holds(one):
        found, operator = labels.get(one["key"]), one["operator"]
        if operator in ("Exists", "DoesNotExist"):
            return (found is not None) == (operator == "Exists")
        return (found in one.get("values", [])) == (operator == "In")
    return not terms or any(all(holds(one) for one in term.get("matchExpressions", [])) for term in terms)
