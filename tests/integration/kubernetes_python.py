#!/usr/bin/env python3
"""Debian's python3-kubernetes takes Jobs through their lives; run by kubernetes_clients.py with the folder of a double."""
import json, ssl, sys, threading, time, urllib.request
from kubernetes import client, config, watch

NAMESPACE = "heliostat"


def check(good, what):
    if not good:
        raise AssertionError(what)


def job(name, script, gpus="1"):
    resources = client.V1ResourceRequirements(limits={"nvidia.com/gpu": gpus}, requests={"cpu": "100m", "memory": "1024Mi"})
    container = client.V1Container(name="main", image="image:1", command=["sh", "-c", script], resources=resources)
    pod = client.V1PodSpec(restart_policy="Never", containers=[container], termination_grace_period_seconds=1)
    return client.V1Job(metadata=client.V1ObjectMeta(name=name, labels={"test": "python"}),
                        spec=client.V1JobSpec(backoff_limit=0, template=client.V1PodTemplateSpec(spec=pod)))


def refused(call, code):
    try:
        call()
    except client.exceptions.ApiException as error:
        check(error.status == code, f"{error.status} instead of {code}: {error.body}")
        return
    raise AssertionError(f"not refused with {code}")


def life(batch, core):
    """Created, watched to its end, its log read, and deleted."""
    listed = batch.list_namespaced_job(NAMESPACE)
    created = batch.create_namespaced_job(NAMESPACE, job("py-good", "echo from python"))
    check(created.spec.template.spec.containers[0].resources.requests["memory"] == "1Gi", "the quantity is canonical")
    refused(lambda: batch.create_namespaced_job(NAMESPACE, job("py-good", "true")), 409)
    refused(lambda: batch.create_namespaced_job(NAMESPACE, job("py-half", "true", "0.5")), 422)
    states = []
    for event in watch.Watch().stream(batch.list_namespaced_job, NAMESPACE, resource_version=listed.metadata.resource_version, timeout_seconds=20):
        if event["object"].metadata.name == "py-good":
            states.append((event["type"], [one.type for one in event["object"].status.conditions or []]))
            if "Complete" in states[-1][1]:
                break
    check(states[0] == ("ADDED", []) and states[-1] == ("MODIFIED", ["SuccessCriteriaMet", "Complete"]), f"the watch: {states}")
    pod = core.list_namespaced_pod(NAMESPACE, label_selector="job-name=py-good").items[0]
    check(core.read_namespaced_pod_log(pod.metadata.name, NAMESPACE) == "from python\n", "the log")
    answer = batch.delete_namespaced_job("py-good", NAMESPACE, propagation_policy="Background")
    check(answer.status == "Success", "the deletion")
    refused(lambda: batch.read_namespaced_job("py-good", NAMESPACE), 404)


def pages(core):
    """Two pages of nodes, and a token that was compacted."""
    first = core.list_node(limit=2)
    check(len(first.items) == 2 and first.metadata.remaining_item_count == 1, "the first page")
    second = core.list_node(limit=2, _continue=first.metadata._continue)
    check([node.metadata.name for node in second.items] == ["gpu-1"], "the second page")
    return first.metadata._continue, second.metadata.resource_version


def expired(core, batch, folder, port, token, version):
    """After a compaction: 410 for a page and, inside the stream, for a watch."""
    batch.create_namespaced_job(NAMESPACE, job("py-later", "true"))
    context = ssl.create_default_context(cafile=f"{folder}/pki/ca.crt")
    request = urllib.request.Request(f"https://127.0.0.1:{port}/double/faults", json.dumps({"compact": True}).encode(),
                                     {"Authorization": "Bearer admin-token"}, method="POST")
    urllib.request.urlopen(request, context=context).close()
    refused(lambda: core.list_node(limit=2, _continue=token), 410)
    refused(lambda: list(watch.Watch().stream(batch.list_namespaced_job, NAMESPACE, resource_version=version, timeout_seconds=5)), 410)


def stopped(batch, core):
    """A pod that is ended by TERM says so; its watch sees it go."""
    batch.create_namespaced_job(NAMESPACE, job("py-long", "while :; do sleep 0.1; done"))
    seen = []
    timer = threading.Timer(1.5, lambda: batch.delete_namespaced_job("py-long", NAMESPACE, propagation_policy="Background"))
    timer.start()
    for event in watch.Watch().stream(core.list_namespaced_pod, NAMESPACE, label_selector="job-name=py-long", timeout_seconds=20):
        seen.append((event["type"], event["object"].status.phase))
        if event["type"] == "DELETED":
            break
    timer.join()
    check(("MODIFIED", "Running") in seen and seen[-2:] == [("MODIFIED", "Failed"), ("DELETED", "Failed")], f"the pod's watch: {seen}")


def main():
    folder = sys.argv[1]
    config.load_kube_config(f"{folder}/agent.kubeconfig")
    batch, core = client.BatchV1Api(), client.CoreV1Api()
    with open(f"{folder}/port", encoding="ascii") as file:
        port = int(file.read())
    life(batch, core)
    token, version = pages(core)
    time.sleep(0.1)
    expired(core, batch, folder, port, token, version)
    stopped(batch, core)


if __name__ == "__main__":
    main()
