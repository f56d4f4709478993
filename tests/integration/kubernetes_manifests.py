#!/usr/bin/env python3
"""The manifests of deploy/kubernetes, rendered: each is read by the models of python3-kubernetes and written again. A field that its kind
does not have is lost on the way, which the comparison shows. Skipped with a message without that package.
  kubernetes_manifests.py FILE"""
import os, sys

try:
    import yaml
    from kubernetes import client
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("SKIPPED: deploy/kubernetes read by another client: python3-kubernetes is not installed")
    sys.exit(0)

api = client.ApiClient()
models = {"Namespace": "V1Namespace", "ServiceAccount": "V1ServiceAccount", "Role": "V1Role", "RoleBinding": "V1RoleBinding", "ClusterRole": "V1ClusterRole",
          "ClusterRoleBinding": "V1ClusterRoleBinding", "ConfigMap": "V1ConfigMap", "PersistentVolumeClaim": "V1PersistentVolumeClaim",
          "Deployment": "V1Deployment"}


class Answer:
    def __init__(self, document):
        import json
        self.data = json.dumps(document)


def again(document):
    return api.sanitize_for_serialization(api.deserialize(Answer(document), models[document["kind"]]))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    for document in documents:
        if again(document) != document:
            raise SystemExit(f"{document['kind']} {document['metadata']['name']} has fields that its kind does not:\n{document}\n{again(document)}")
    deployment, = [one for one in documents if one["kind"] == "Deployment"]
    if deployment["spec"]["replicas"] != 1 or deployment["spec"]["strategy"] != {"type": "Recreate"}:
        raise SystemExit("two agents of one site could run at a time")
    broken = {**deployment, "spec": {**deployment["spec"], "replica": 2}}
    if again(broken) == broken:
        raise SystemExit("a field that does not exist is not noticed")
    print(f"{len(documents)} manifests of deploy/kubernetes, read and written again by another client")


if __name__ == "__main__":
    main()
