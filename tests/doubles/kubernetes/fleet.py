"""The objects that a cluster begins with unless a test brings its own: nodes as the GPU operator labels them, and the agent's rights."""

GPU_LABELS = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-H200", "nvidia.com/gpu.memory": "143771", "nvidia.com/gpu.replicas": "1",
              "nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/gpu.family": "hopper", "nvidia.com/mig.capable": "true"}
READY = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}]


def node(name, gpus, cpu="64", memory="512Gi", labels=(), extra=()):
    """gpus: None = the node has no GPU operator. extra: more resources, such as slices."""
    whole = {} if gpus is None else {"nvidia.com/gpu": str(gpus)}
    resources = {"cpu": cpu, "memory": memory, "pods": "110", **whole, **dict(extra)}
    all_labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **({} if gpus is None else {**GPU_LABELS, "nvidia.com/gpu.count": str(gpus)})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {**all_labels, **dict(labels)}}, "spec": {"taints": []},
            "status": {"capacity": dict(resources), "allocatable": dict(resources), "conditions": [dict(one) for one in READY]}}


def rights(namespace, account, cluster_wide_pods=False):
    """What the agent needs: its Jobs and Services, its pods and their logs, nodes and Kueue's objects to read."""
    rbac = "rbac.authorization.k8s.io/v1"
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    role = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "list", "watch", "patch", "delete"]},
            {"apiGroups": [""], "resources": ["services"], "verbs": ["create", "get", "delete"]},
            {"apiGroups": [""], "resources": ["pods", "pods/log", "events"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
            {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads", "localqueues"], "verbs": ["get", "list", "watch"]}]
    cluster_role = [{"apiGroups": [""], "resources": ["nodes", *(["pods"] if cluster_wide_pods else [])], "verbs": ["get", "list", "watch"]},
                    {"apiGroups": ["kueue.x-k8s.io"], "resources": ["clusterqueues", "resourceflavors"], "verbs": ["get", "list", "watch"]}]

    def pair(kind, binding, rules, where):
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": account}
        return [{"apiVersion": rbac, "kind": kind, "metadata": {"name": account, **where}, "rules": rules},
                {"apiVersion": rbac, "kind": binding, "metadata": {"name": account, **where}, "roleRef": reference, "subjects": [subject]}]
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}, "status": {"phase": "Active"}},
            *pair("Role", "RoleBinding", role, {"namespace": namespace}), *pair("ClusterRole", "ClusterRoleBinding", cluster_role, {})]


def fleet():
    return [node("cpu-0", None, "16", "64Gi"), node("gpu-0", 8), node("gpu-1", 4)]
