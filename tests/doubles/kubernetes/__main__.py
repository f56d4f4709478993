"""A double of a Kubernetes API: keeps state, runs pods as local processes, and answers as the recordings of a real one do.

  tests/doubles/kubernetes --folder DIR [--port N] [--objects FILE]... [--namespace NAME]

Writes DIR/pki, DIR/kubeconfig (admin), DIR/agent.kubeconfig (the agent's service account), DIR/tokens.json and, when it answers,
DIR/port. Ends with SIGTERM, and its pods with it."""
import argparse, json, os, signal, sys, threading

sys.dont_write_bytecode = True
import cluster, fleet, pki  # noqa: E402
from access import Caller, service_account  # noqa: E402

CLIENTS = {"admin": "/O=system:masters/CN=admin", "agent-client": "/CN=helio-agent-cert"}


def kubeconfig(folder, port, user, namespace):
    """JSON is YAML, and needs no library."""
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "double",
        "clusters": [{"name": "double", "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority": f"{folder}/pki/ca.crt"}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "double", "context": {"cluster": "double", "user": "user", "namespace": namespace}}]}, indent=1)


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--namespace", default="heliostat")
    parser.add_argument("--account", default="helio-agent")
    parser.add_argument("--objects", action="append", default=[], help="a JSON list of objects instead of the default fleet")
    parser.add_argument("--silence-seconds", type=float, default=40)
    parser.add_argument("--taint-seconds", type=float, default=0.5)
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    os.makedirs(folder, exist_ok=True)
    pki.make(f"{folder}/pki", CLIENTS)
    double = cluster.Cluster(cluster.Settings(taint_seconds=options.taint_seconds, silence_seconds=options.silence_seconds))
    tokens = {"admin": Caller("admin", "", ["system:masters", "system:authenticated"], {}), "nobody": Caller("nobody", "", ["system:authenticated"], {}),
              "agent": service_account(options.namespace, options.account, "535e54b8-2ee1-42f9-a599-3bd1063fa520"),
              "page": service_account(options.namespace, "helio-agent", "535e54b8-2ee1-42f9-a599-3bd1063fa521")}  # its rights are the test's to give
    double.access.tokens.update({f"{name}-token": caller for name, caller in tokens.items()})
    objects = fleet.rights(options.namespace, options.account) + ([] if options.objects else fleet.fleet())
    for path in options.objects:
        with open(path, encoding="utf-8") as file:
            objects += json.load(file)
    port = double.start(options.port, f"{folder}/pki", objects)
    write(f"{folder}/tokens.json", json.dumps({name: f"{name}-token" for name in tokens}))
    write(f"{folder}/kubeconfig", kubeconfig(folder, port, {"client-certificate": f"{folder}/pki/admin.crt", "client-key": f"{folder}/pki/admin.key"},
                                             options.namespace))
    write(f"{folder}/agent.kubeconfig", kubeconfig(folder, port, {"token": "agent-token"}, options.namespace))
    write(f"{folder}/port", f"{port}\n")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
    double.end()


if __name__ == "__main__":
    main()
