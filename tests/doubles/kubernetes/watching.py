"""Watches: the changes after a version, one JSON document a line, until the time is over."""
import base64, json, time
import lists
from failure import expired

BLUEPRINT = "kubernetes.io/initial-events-list-blueprint"
DEFAULT_SECONDS = 1800
BOOKMARK_SECONDS = 2.0  # before the end of a watch; a shorter one gets none


def watch(store, kind, namespace, query, matches, stopped):
    """Yields events as dictionaries, and None now and then so that the caller sees a closed connection."""
    bookmarks = lists.flag(query, "allowWatchBookmarks")
    seconds = float(query.get("timeoutSeconds") or DEFAULT_SECONDS)
    end = time.monotonic() + seconds
    asked = query.get("resourceVersion") or "0"
    seen = lists.version_of(asked)
    with store.lock:
        if seen and seen < store.floor:
            yield {"type": "ERROR", "object": expired(f"too old resource version: {seen} ({store.floor})").status}
            return
        initial = lists.flag(query, "sendInitialEvents") or seen == 0
        first = [item for item in store.list(kind, namespace) if matches(item)] if initial else []
        seen = store.version if initial else seen
    for item in first:
        yield {"type": "ADDED", "object": lists.typed(kind, item)}
    if lists.flag(query, "sendInitialEvents") and bookmarks:
        yield bookmark(kind, seen, {"k8s.io/initial-events-end": "true", BLUEPRINT: blueprint(kind)})
    marked = not bookmarks or seconds <= BOOKMARK_SECONDS
    while not stopped():
        with store.lock:
            if seen < store.floor:
                yield {"type": "ERROR", "object": expired(f"too old resource version: {seen} ({store.floor})").status}
                return
            changes = store.since(seen)
            if not changes:
                store.changed.wait(max(0.0, min(0.2, end - time.monotonic())))
                changes = store.since(seen)
        for change in changes:
            seen = change.version
            event = seen_through(change, kind, namespace, matches)
            if event:
                yield event
        if not marked and time.monotonic() > end - BOOKMARK_SECONDS:
            marked = True
            yield bookmark(kind, seen, {})
        if time.monotonic() >= end:
            return
        yield None


def seen_through(change, kind, namespace, matches):
    """A change as a watch with selectors sees it: what begins to match is added, what no longer does is deleted."""
    if change.kind is not kind or namespace not in (None, change.item["metadata"].get("namespace")):
        return None
    before = change.before is not None and matches(change.before)
    after = change.type != "DELETED" and matches(change.item)
    event_type = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}.get((before, after))
    return {"type": event_type, "object": lists.typed(kind, change.item)} if event_type else None


def bookmark(kind, version, annotations):
    """An object of the kind with nothing but a version, and the nulls that an empty one is written with."""
    metadata = {"resourceVersion": str(version), "creationTimestamp": None, **({"annotations": annotations} if annotations else {})}
    empty = {"Job": {"spec": {"template": {"metadata": {"creationTimestamp": None}, "spec": {"containers": None}}}, "status": {}},
             "Pod": {"spec": {"containers": None}, "status": {}}}.get(kind.kind, {})
    return {"type": "BOOKMARK", "object": {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, **empty}}


def blueprint(kind):
    text = json.dumps({"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": {}, "items": None}, separators=(",", ":")) + "\n"
    return base64.b64encode(text.encode()).decode()
