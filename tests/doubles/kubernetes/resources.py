"""The kinds of objects that the double serves, and what discovery says about them."""
from collections import namedtuple

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


class Kind(namedtuple("Kind", "group version plural kind namespaced short subresources")):
    @property
    def qualified(self):
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self):
        """Defined by a CRD: lists carry kinds, and metadata.continue is always there."""
        return self.group.endswith("x-k8s.io") or self.group.endswith("volcano.sh")


KINDS = [
    Kind("", "v1", "namespaces", "Namespace", False, ("ns",), ("status",)),
    Kind("", "v1", "nodes", "Node", False, ("no",), ("status",)),
    Kind("", "v1", "pods", "Pod", True, ("po",), ("status", "log")),
    Kind("", "v1", "events", "Event", True, ("ev",), ()),
    Kind("", "v1", "services", "Service", True, ("svc",), ("status",)),
    Kind("", "v1", "configmaps", "ConfigMap", True, ("cm",), ()),
    Kind("", "v1", "serviceaccounts", "ServiceAccount", True, ("sa",), ()),
    Kind("", "v1", "resourcequotas", "ResourceQuota", True, ("quota",), ("status",)),
    Kind("batch", "v1", "jobs", "Job", True, (), ("status",)),
    Kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False, ("pc",), ()),
    Kind("rbac.authorization.k8s.io", "v1", "roles", "Role", True, (), ()),
    Kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", True, (), ()),
    Kind("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", False, (), ()),
    Kind("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", False, (), ()),
    Kind("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, (), ()),
    Kind("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False, (), ()),
    Kind("kueue.x-k8s.io", "v1beta1", "resourceflavors", "ResourceFlavor", False, ("rf",), ()),
    Kind("kueue.x-k8s.io", "v1beta1", "clusterqueues", "ClusterQueue", False, ("cq",), ("status",)),
    Kind("kueue.x-k8s.io", "v1beta1", "localqueues", "LocalQueue", True, ("queue",), ("status",)),
    Kind("kueue.x-k8s.io", "v1beta1", "workloads", "Workload", True, ("wl",), ("status",)),
    Kind("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", True, ("pg",), ("status",)),
]
BY_PATH = {(kind.group, kind.version, kind.plural): kind for kind in KINDS}
BY_PLURAL = {kind.plural: kind for kind in KINDS}
BY_KIND = {(kind.api_version, kind.kind): kind for kind in KINDS}
GROUPS = list(dict.fromkeys((kind.group, kind.version) for kind in KINDS if kind.group))
REVIEWS = ("selfsubjectaccessreviews", "selfsubjectreviews")
JOBS, PODS, NODES, EVENTS = (BY_PLURAL[plural] for plural in ("jobs", "pods", "nodes", "events"))
WORKLOADS, LOCAL_QUEUES, CLUSTER_QUEUES, FLAVORS = (
    BY_PLURAL[plural] for plural in ("workloads", "localqueues", "clusterqueues", "resourceflavors"))


def discovery(path):
    """The document at /api, /apis, /api/v1 or /apis/GROUP[/VERSION], or None."""
    words = path.strip("/").split("/")
    if words == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if words == ["apis"]:
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group_document(*known) for known in GROUPS]}
    if words[0] == "apis" and len(words) == 2:
        return next(({"kind": "APIGroup", "apiVersion": "v1", **group_document(*known)} for known in GROUPS if known[0] == words[1]), None)
    known = ("", words[1]) if words[0] == "api" else tuple(words[1:3])
    if len(words) != (2 if words[0] == "api" else 3) or known not in [("", "v1"), *GROUPS]:
        return None
    served = [kind for kind in KINDS if (kind.group, kind.version) == known]
    rows = []
    for kind in served:
        verbs = ["create"] if kind.plural in REVIEWS else VERBS
        row = {"name": kind.plural, "singularName": kind.kind.lower(), "namespaced": kind.namespaced, "kind": kind.kind, "verbs": verbs}
        rows.append({**row, **({"shortNames": kind.short} if kind.short else {}), **({"categories": ["all"]} if kind in (JOBS, PODS) else {})})
        rows += [{"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced, "kind": kind.kind,
                  "verbs": ["get"] if name == "log" else ["get", "patch", "update"]} for name in kind.subresources]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": served[0].api_version, "resources": rows}


def group_document(group, version):
    named = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [named], "preferredVersion": named}
