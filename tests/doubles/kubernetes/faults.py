"""What a test can make go wrong, by a POST of one of these to /double/faults."""
import threading, time
from admission import QUEUE
from failure import Failure, plain_text, timed_out
from resources import JOBS

ANSWER_SECONDS = 0.1  # for the answer to the wish itself


class Faults:
    def __init__(self, cluster):
        self.cluster = cluster
        self.frozen = False  # the store answers nobody; what the server has in its cache it still gives
        self.too_many = 0  # so many requests are refused as too many
        self.cold = 0  # so many are forbidden, as by a server whose roles are not loaded yet
        self.webhook_down = False  # Kueue does not answer
        self.create = None  # "lost" or "done": the next create times out before or after it happened
        self.endless = None  # {"plural": …, "items": N, "token": bytes}: lists of that kind have so many objects a page, and always a next page
        self.pages = 0
        self.late_seconds = 1.0  # how long a request without `timeout` takes to time out

    def apply(self, wishes):
        for name, value in wishes.items():
            if name in ("frozen", "too_many", "cold", "webhook_down", "create", "late_seconds", "endless"):
                setattr(self, name, value)
            elif name == "compact":
                self.cluster.store.compact()
            elif name == "kubelet_down":
                self.cluster.kubelet.stop(value)
            elif name == "kubelet_up":
                self.cluster.kubelet.start(value)
            elif name == "outage_seconds":
                threading.Timer(ANSWER_SECONDS, self.cluster.outage, (value,)).start()
            elif name == "cut":
                self.cluster.loop.later(ANSWER_SECONDS, self.cluster.server.cut)
            elif name == "expire_token":
                self.cluster.access.tokens.pop(value)
            else:
                raise Failure(400, "BadRequest", f"there is no fault {name}")

    def before(self, request, target):
        if self.too_many:
            self.too_many -= 1
            raise plain_text(429, "Too many requests, please try again later.\n", retry_after="1")
        if self.cold and target:
            self.cold -= 1
            raise self.cluster.access.forbidden(request.caller, request.verb, target.group, target.resource, target.namespace, target.name)

    def page(self, request, target):
        """What a proxy that makes pages up answers; None: it passes the request on."""
        if not self.endless or request.verb != "list" or target.plural != self.endless["plural"]:
            return None
        self.pages += 1
        return {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1", "continue": "x" * self.endless.get("token", 1)},
                "items": [{"metadata": {"name": f"made-up-{self.pages}-{i}"}} for i in range(self.endless["items"])]}

    def stall(self, request, target):
        """A frozen store: everything but an answer from the cache is late."""
        if self.frozen and target and request.query.get("resourceVersion") != "0":
            self.late(request.query.get("timeout"))

    def late(self, timeout=None):
        time.sleep(min(float(timeout.rstrip("s")) if timeout else self.late_seconds, 30))
        raise timed_out()

    def webhook(self, job):
        if self.webhook_down and QUEUE in (job["metadata"].get("labels") or {}):
            raise timed_out()

    def before_create(self, kind):
        if self.create == "lost" and kind is JOBS:
            self.create = None
            raise timed_out()

    def after_create(self, kind):
        if self.create == "done" and kind is JOBS:
            self.create = None
            raise timed_out()
