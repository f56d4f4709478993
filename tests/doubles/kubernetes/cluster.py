"""A whole cluster: the store, its controllers, and the server in front of them."""
import time
from collections import namedtuple
import access, collector, events, faults, jobs, kubelet, kueue, loop, nodes, pods, server, store, verbs
from resources import BY_KIND, BY_PLURAL

Settings = namedtuple("Settings", "taint_seconds silence_seconds creating_seconds", defaults=(0.5, 40.0, 0.1))


class Cluster:
    def __init__(self, settings=Settings()):
        self.settings = settings
        self.store = store.Store()
        self.loop = loop.Loop(self.store.lock)
        self.access = access.Access(self.store)
        self.events = events.Events(self.store)
        self.collector = collector.Collector(self)
        self.pods = pods.Pods(self)
        self.nodes = nodes.Nodes(self)
        self.jobs = jobs.Jobs(self)
        self.kubelet = kubelet.Kubelet(self)
        self.kueue = kueue.Kueue(self)
        self.verbs = verbs.Verbs(self)
        self.faults = faults.Faults(self)
        self.server, self.port, self.pki = None, None, None

    def start(self, port, pki, objects=()):
        """Serves, with these objects; the port."""
        for name in ("default", "kube-system"):
            self.store.create(BY_PLURAL["namespaces"], {"metadata": {"name": name}, "status": {"phase": "Active"}})
        for item in objects:
            self.add(item)
        self.pki = pki
        self.serve(port)
        self.loop.start()
        return self.port

    def serve(self, port):
        self.server = server.Server(self, port, self.pki)
        self.port = self.server.server_address[1]
        self.server.serve()

    def outage(self, seconds):
        """The server is gone and comes back; the cluster goes on."""
        self.server.end()
        time.sleep(seconds)
        self.serve(self.port)

    def add(self, item):
        """An object with its status, through the same admission as a request."""
        kind = BY_KIND[item["apiVersion"], item["kind"]]
        item, status = {**item}, item.get("status")
        target = verbs.Target(kind.group, kind.version, item["metadata"].get("namespace"), kind.plural, None, None)
        request = namedtuple("Request", "query")({})
        created = self.verbs.admit(request, target, kind, item)
        if status:
            self.store.update(kind, {**created, "status": status})

    def end(self):
        self.server.end()
        self.loop.end()
        self.kubelet.kill_all()
