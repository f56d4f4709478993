"""What each verb does to one object or to a collection. A verb's answer: (HTTP status, document, warnings)."""
import copy, json, uuid
import admission, fields, lists, matching, patches
from collector import WARNING
from failure import Failure, bad_request, details, invalid, method_not_allowed, not_found
from resources import BY_PLURAL, CLUSTER_QUEUES, FLAVORS, JOBS, LOCAL_QUEUES, NODES, PODS, REVIEWS
from store import complete_metadata

MEDIA = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


class Target:
    """What a path names."""

    def __init__(self, group, version, namespace, plural, name, subresource):
        self.group, self.version, self.namespace, self.plural, self.name, self.subresource = group, version, namespace, plural, name, subresource

    @property
    def resource(self):
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


class Verbs:
    def __init__(self, cluster):
        self.cluster, self.store = cluster, cluster.store

    def perform(self, request, target, kind):
        if target.plural in REVIEWS:
            return self.review(request, kind)
        if target.name is None:
            call = {"GET": self.list, "POST": self.create, "DELETE": self.delete_collection}.get(request.method)
        else:
            call = {"GET": self.get, "PUT": self.put, "PATCH": self.patch, "DELETE": self.delete}.get(request.method)
        if call is None:
            raise method_not_allowed()
        return call(request, target, kind)

    def list(self, request, target, kind):
        matches = matching.compile_selectors(request.query.get("labelSelector"), request.query.get("fieldSelector"))
        items, metadata = lists.list_items(self.store, kind, target.namespace, request.query, matches)
        return 200, lists.document(kind, items, metadata, request.partial), []

    def get(self, request, target, kind):
        item = self.store.get(kind, target.namespace, target.name)
        return 200, lists.metadata_only(item) if request.partial else lists.typed(kind, item), []

    def body(self, request, kind):
        if request.content_type not in ("application/json", ""):
            raise Failure(415, "UnsupportedMediaType", f"the body of the request was in an unknown format - accepted media types include: {MEDIA}")
        try:
            item = json.loads(request.body)
        except ValueError as error:
            cut = error.pos >= len(request.body.decode(errors="replace"))
            why = "unexpected end of JSON input" if cut else f"invalid character at {error.pos}"
            raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get version/kind; json parse error: {why} "
                              f"({request.body.decode(errors='replace')[:30]} ...)") from None
        if not isinstance(item, dict) or item.get("kind", kind.kind) != kind.kind or item.get("apiVersion", kind.api_version) != kind.api_version:
            raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
        item.setdefault("metadata", {})
        return item

    def known_fields(self, request, kind, item):
        """Drops what the kind does not have; the warnings."""
        dropped = fields.drop_unknown(kind, item)
        if dropped and request.query.get("fieldValidation") == "Strict":
            raise bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: '
                              + ", ".join(f'unknown field "{path}"' for path in dropped))
        return [] if request.query.get("fieldValidation") == "Ignore" else [f'299 - "unknown field \\"{path}\\""' for path in dropped]

    def create(self, request, target, kind):
        item = self.body(request, kind)
        warnings = self.known_fields(request, kind, item)
        with self.store.lock:
            return 201, self.admit(request, target, kind, item), warnings

    def admit(self, request, target, kind, item):
        metadata = item["metadata"]
        if kind.namespaced:
            if metadata.setdefault("namespace", target.namespace) != target.namespace:
                raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
            if self.store.find(BY_PLURAL["namespaces"], None, target.namespace) is None:
                raise not_found(BY_PLURAL["namespaces"], target.namespace)
        if not metadata.get("name"):
            if not metadata.get("generateName"):
                raise invalid(kind, "", [("FieldValueRequired", "metadata.name", "Required value: name or generateName is required")])
            metadata["name"] = admission.generated(metadata["generateName"])
        for name in ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "selfLink"):
            metadata.pop(name, None)
        item.pop("kind", None), item.pop("apiVersion", None)
        admission.canonical_quantities(kind, item)
        dry = request.query.get("dryRun") == "All"
        created = self.admit_job(item, dry) if kind is JOBS else self.admit_other(kind, item, dry)
        self.cluster.faults.after_create(kind)
        return lists.typed(kind, created)

    def admit_job(self, item, dry):
        item["metadata"]["uid"] = str(uuid.uuid4())
        self.cluster.faults.webhook(item)
        admission.default_job(item)
        admission.validate_job(JOBS, item)
        admission.admit_queue(item)
        admission.complete_job(item, item["metadata"]["uid"])
        self.cluster.faults.before_create(JOBS)
        return complete(JOBS, item) if dry else self.store.create(JOBS, item)

    def admit_other(self, kind, item, dry):
        causes = admission.name_causes(item["metadata"]) if "rbac" not in kind.group else []
        causes += admission.label_causes(item["metadata"].get("labels"), "metadata.labels")
        if causes:
            raise invalid(kind, item["metadata"]["name"], causes)
        self.cluster.faults.before_create(kind)
        if kind is PODS and not dry:
            return self.cluster.pods.create(item)
        if kind is NODES:
            admission.default_node(item)
        if kind in (CLUSTER_QUEUES, LOCAL_QUEUES, FLAVORS):
            self.cluster.kueue.default(kind, item)
        return complete(kind, item) if dry else self.store.create(kind, item)

    def put(self, request, target, kind):
        item = self.body(request, kind)
        warnings = self.known_fields(request, kind, item)
        with self.store.lock:
            return 200, self.replace(target, kind, self.store.get(kind, target.namespace, target.name), item), warnings

    def patch(self, request, target, kind):
        try:
            change = json.loads(request.body)
        except ValueError as error:
            raise bad_request(f"error decoding patch: {error}") from None
        with self.store.lock:
            before = self.store.find(kind, target.namespace, target.name)
            if before is None and request.content_type == patches.TYPES[3]:
                warnings = self.known_fields(request, kind, change)
                change.setdefault("metadata", {})["name"] = target.name
                return 201, self.admit(request, target, kind, change), warnings
            if before is None:
                raise not_found(kind, target.name)
            after = patches.apply(before, change, request.content_type)
            warnings = self.known_fields(request, kind, after)
            return 200, self.replace(target, kind, before, after), warnings

    def replace(self, target, kind, before, after):
        """Keeps what the caller cannot change: the status, or everything else for the subresource."""
        given = after["metadata"].get("resourceVersion")
        after.pop("kind", None), after.pop("apiVersion", None)
        if target.subresource == "status":
            after = {**copy.deepcopy(before), "status": after.get("status", {})}
        else:
            after = {**after, **({"status": before["status"]} if "status" in before else {})}
            for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
                if name in before["metadata"]:
                    after["metadata"][name] = before["metadata"][name]
        after["metadata"]["resourceVersion"] = given
        admission.canonical_quantities(kind, after)
        if kind is JOBS and target.subresource is None:
            admission.validate_job(kind, after)
            check_immutable(before, after)
        return lists.typed(kind, self.store.update(kind, after))

    def delete(self, request, target, kind):
        options = json.loads(request.body) if request.body else {}
        options = {**options, **{name: request.query[name] for name in ("propagationPolicy",) if name in request.query}}
        if "gracePeriodSeconds" in request.query:
            options["gracePeriodSeconds"] = int(request.query["gracePeriodSeconds"])
        unsaid = kind is JOBS and not options.get("propagationPolicy") and options.get("orphanDependents") is None
        warnings = [WARNING] if unsaid else []
        with self.store.lock:
            try:
                item = self.store.get(kind, target.namespace, target.name)
            except Failure as failure:
                failure.headers.update({"warning": warnings[0]} if warnings else {})
                raise
            left = self.cluster.collector.delete(kind, item, options)
        if left is not None:
            return 200, lists.typed(kind, left), warnings
        return 200, success({**details(target.name, kind.group, kind.plural), "uid": item["metadata"]["uid"]}), warnings

    def delete_collection(self, request, target, kind):
        options = json.loads(request.body) if request.body else {}
        matches = matching.compile_selectors(request.query.get("labelSelector"), request.query.get("fieldSelector"))
        with self.store.lock:
            chosen = [item for item in self.store.list(kind, target.namespace) if matches(item)]
            for item in chosen:
                self.cluster.collector.delete(kind, item, {"propagationPolicy": request.query.get("propagationPolicy"), **options})
        return 200, lists.document(kind, chosen, {"resourceVersion": str(self.store.version)}, False), []

    def review(self, request, kind):
        """Who am I, and may I."""
        item, caller = self.body(request, kind), request.caller
        if kind.kind == "SelfSubjectReview":
            moment = {"metadata": {}}
            complete_metadata(kind, moment)
            user = {"username": caller.name, "uid": caller.uid, "groups": caller.groups, "extra": caller.extra}
            status = {"userInfo": {key: value for key, value in user.items() if value}}
            return 201, lists.typed(kind, {"metadata": {"creationTimestamp": moment["metadata"]["creationTimestamp"]}, "status": status}), []
        asked = item["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        why = self.cluster.access.why_allowed(caller, asked["verb"], asked.get("group", ""), resource, asked.get("namespace"), asked.get("name"))
        status = {"allowed": why is not None, **({"reason": why} if why else {})}
        return 201, lists.typed(kind, {"metadata": {"creationTimestamp": None}, "spec": item["spec"], "status": status}), []


def complete(kind, item):
    complete_metadata(kind, item)
    return item


def success(about):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": about}


def check_immutable(before, after):
    """A Job's template stays, except where its pods go, and that only while it is suspended and has not begun."""
    def rest(job):
        template = copy.deepcopy(job["spec"]["template"])
        if before["spec"]["suspend"] and not before["status"].get("startTime"):
            for name in ("nodeSelector", "tolerations", "affinity", "schedulingGates"):
                template["spec"].pop(name, None)
        return template
    causes = []
    if rest(before) != rest(after):
        causes.append(("FieldValueInvalid", "spec.template", "Invalid value: core.PodTemplateSpec{}: field is immutable"))
    for name in ("completions", "selector", "completionMode", "podReplacementPolicy"):
        if before["spec"].get(name) != after["spec"].get(name):
            causes.append(("FieldValueInvalid", f"spec.{name}", f"Invalid value: {json.dumps(after['spec'].get(name))}: field is immutable"))
    if causes:
        raise invalid(JOBS, before["metadata"]["name"], causes)
