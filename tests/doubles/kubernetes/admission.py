"""What the server makes of a new object: defaults, canonical quantities, and refusals."""
import random, re
import quantity
from failure import Failure, bad_request, invalid

LABEL = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
LABEL_RULE = ("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
              "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
              "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')")
NAME_RULE = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
             "alphanumeric character (e.g. 'example.com', regex used for validation is "
             "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")
QUEUE = "kueue.x-k8s.io/queue-name"
TRACKING = "batch.kubernetes.io/job-tracking"
UNREADY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def generated(prefix):
    return prefix + "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))


def canonical_quantities(kind, item):
    """Rewrites every quantity; one that cannot be read is refused before the object is looked at."""
    try:
        for holder, name in list(quantities(kind, item)):
            holder[name] = quantity.canonical(holder[name])
    except quantity.BadQuantity:
        raise bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: quantities must match the regular '
                          f"expression '{quantity.PATTERN.pattern}'") from None


def quantities(kind, item):
    spec, status = item.get("spec") or {}, item.get("status") or {}
    if kind.plural == "clusterqueues":
        for group in spec.get("resourceGroups", []):
            yield from ((entry, "nominalQuota") for flavor in group["flavors"] for entry in flavor["resources"])
        return
    holders = []
    if kind.plural == "nodes":
        holders = [status.get("capacity"), status.get("allocatable")]
    elif kind.plural == "resourcequotas":
        holders = [spec.get("hard")]
    elif kind.plural in ("pods", "jobs"):
        pod = (spec.get("template") or {}).get("spec") or {} if kind.plural == "jobs" else spec
        resources = [container.get("resources") or {} for container in pod.get("containers") or []]
        holders = [one.get(name) for one in resources for name in ("limits", "requests")]
    for holder in holders:
        yield from ((holder, name) for name in holder or {})


def default_pod_spec(spec):
    for container in spec.get("containers") or []:
        container.setdefault("resources", {})
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        untagged = ":" not in container.get("image", "") or container["image"].endswith(":latest")
        container.setdefault("imagePullPolicy", "Always" if untagged else "IfNotPresent")
    for name, value in (("restartPolicy", "Always"), ("terminationGracePeriodSeconds", 30), ("dnsPolicy", "ClusterFirst"),
                        ("securityContext", {}), ("schedulerName", "default-scheduler")):
        spec.setdefault(name, value)


def default_job(item):
    """The defaults that need no identity; complete_job gives the others."""
    spec = item.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    for name, value in (("parallelism", 1), ("backoffLimit", 6), ("completionMode", "NonIndexed"), ("suspend", False), ("manualSelector", False),
                        ("podReplacementPolicy", "TerminatingOrFailed")):
        spec.setdefault(name, value)
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {}).setdefault("creationTimestamp", None)
    for metadata in (item["metadata"], template["metadata"]):
        for name in ("annotations", "labels"):
            if metadata.get(name) == {}:
                del metadata[name]
    default_pod_spec(template.setdefault("spec", {}))
    item["status"] = {}


def complete_job(item, uid):
    name, template = item["metadata"]["name"], item["spec"]["template"]
    item["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    template["metadata"].setdefault("labels", {}).update({"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name,
                                                          "controller-uid": uid, "job-name": name})


def validate_job(kind, item):
    metadata, template = item["metadata"], item["spec"]["template"]
    causes = name_causes(metadata) + label_causes(metadata.get("labels"), "metadata.labels")
    if len(metadata["name"]) <= 63 and causes == []:
        causes += label_causes(template["metadata"].get("labels"), "spec.template.labels")
    if len(metadata["name"]) > 63:  # the two labels with the Job's name
        causes += [("FieldValueInvalid", "spec.template.labels", f'Invalid value: "{metadata["name"]}": must be no more than 63 characters')] * 2
    if template["spec"]["restartPolicy"] not in ("OnFailure", "Never"):
        causes.append(("FieldValueRequired", "spec.template.spec.restartPolicy", 'Required value: valid values: "OnFailure", "Never"'))
    if not template["spec"].get("containers"):
        causes.append(("FieldValueRequired", "spec.template.spec.containers", "Required value"))
    for index, container in enumerate(template["spec"].get("containers") or []):
        causes += resource_causes(container.get("resources") or {}, f"spec.template.spec.containers[{index}].resources")
    if causes:
        raise invalid(kind, metadata["name"], causes)


def name_causes(metadata):
    name = metadata["name"]
    if SUBDOMAIN.match(name) and len(name) <= 253:
        return []
    return [("FieldValueInvalid", "metadata.name", f'Invalid value: "{name}": {NAME_RULE}')]


def label_causes(labels, field):
    return [("FieldValueInvalid", field, f'Invalid value: "{value}": {LABEL_RULE}')
            for value in (labels or {}).values() if not LABEL.match(value) or len(value) > 63]


def resource_causes(resources, field):
    """An extended resource (its name has a '/') is whole, and its request equals its limit."""
    causes, limits = [], resources.get("limits") or {}
    for name, value in limits.items():
        if "/" in name and quantity.parse(value)[0].denominator != 1:
            causes.append(("FieldValueInvalid", f"{field}.limits[{name}]", f"Invalid value: {go_quantity(value)}: must be an integer"))
    for name, value in (resources.get("requests") or {}).items():
        if "/" in name and limits.get(name) != value:
            causes.append(("FieldValueInvalid", f"{field}.requests", f'Invalid value: "{value}": must be equal to {name} limit of {limits.get(name, 0)}'))
    return causes


def go_quantity(value):
    """A fraction as the server prints it in that refusal: as the struct of its program."""
    number, scale = quantity.parse(value)[0], 0
    while number.denominator != 1:
        number, scale = number * 10, scale - 1
    return f'resource.Quantity{{i:resource.int64Amount{{value:{number}, scale:{scale}}}, d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"", Format:"DecimalSI"}}'


def admit_queue(item):
    """Kueue's webhooks: a queue's name is a subdomain, and a Job with one begins suspended."""
    queue = (item["metadata"].get("labels") or {}).get(QUEUE)
    if queue is None:
        return
    if not SUBDOMAIN.match(queue):
        raise Failure(403, "Forbidden", f'admission webhook "vjob.kb.io" denied the request: metadata.labels[{QUEUE}]: Invalid value: "{queue}": {NAME_RULE}')
    item["spec"]["suspend"] = True


def default_pod(item, priorities):
    spec = item["spec"]
    default_pod_spec(spec)
    for container in spec.get("containers") or []:
        resources = container["resources"]
        for name, value in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, value)
    account = spec.setdefault("serviceAccountName", "default")
    spec["serviceAccount"] = account
    tolerated = {one.get("key") for one in spec.setdefault("tolerations", [])}
    spec["tolerations"] += [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in UNREADY if key not in tolerated]
    spec.setdefault("priority", priorities.get(spec.get("priorityClassName"), 0))
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    item["status"] = {"phase": "Pending", "qosClass": quality(spec)}


def quality(spec):
    resources = [container["resources"] for container in spec["containers"]]
    if not any(one.get("requests") or one.get("limits") for one in resources):
        return "BestEffort"
    equal = all((one.get("limits") or {}).get(name) == (one.get("requests") or {}).get(name, 0) for one in resources for name in ("cpu", "memory"))
    return "Guaranteed" if equal else "Burstable"


def default_node(item):
    item.setdefault("spec", {}).setdefault("taints", [{"key": UNREADY[0], "effect": "NoSchedule"}])
    if item["spec"]["taints"] == []:
        del item["spec"]["taints"]
    empty = dict.fromkeys(("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
                           "kubeProxyVersion", "operatingSystem", "architecture"), "")
    status = item.setdefault("status", {})
    status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
    status.setdefault("nodeInfo", empty)
