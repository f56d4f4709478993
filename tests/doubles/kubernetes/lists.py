"""Lists: versions, pages, and the shapes that a caller can ask for."""
import base64, json, time
from failure import Failure, bad_request, expired

TOO_OLD = ("The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, "
           "or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an "
           "inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the "
           "list.")


def flag(query, name):
    """As Go reads it: the Python client writes True."""
    return query.get(name) in ("1", "t", "T", "TRUE", "true", "True")


def token(version, last):
    document = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": f"{last}\0"}, separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")


def read_token(text):
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise bad_request("continue key is not valid: illegal base64 data") from None
    try:
        document = json.loads(raw.decode("latin-1"))
        return document["rv"], document["start"].rstrip("\0")
    except (ValueError, KeyError, TypeError):
        raise bad_request(f"invalid continue token: continue key is not valid: invalid character '\\u{raw[0]:04x}' looking for beginning of value") from None


def version_of(text, failure_code=500):
    try:
        return int(text)
    except ValueError:
        raise Failure(failure_code, None, f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax') from None


def too_large(store, wanted):
    failure = Failure(504, "Timeout", f"Timeout: Too large resource version: {wanted}, current: {store.version}", {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}], "retryAfterSeconds": 1}, headers={"retry-after": "1"})
    return failure


def list_items(store, kind, namespace, query, matches, wait_seconds=3.0):
    """(items, metadata)"""
    limit = int(query.get("limit") or 0)
    with store.lock:
        version, start = store.version, ""
        if query.get("continue"):
            version, start = read_token(query["continue"])
            if 0 <= version < store.floor:
                raise expired(TOO_OLD, {"continue": token(-1, start)})
            version = store.version if version < 0 else version
        elif query.get("resourceVersion") not in (None, "", "0"):
            wanted = version_of(query["resourceVersion"])
            if query.get("resourceVersionMatch") == "Exact":
                if wanted < store.floor:
                    raise expired("The resourceVersion for the provided list is too old.")
                version = wanted
            elif wanted > store.version and not wait_for(store, wanted, wait_seconds):
                raise too_large(store, wanted)
        items = [item for item in store.list_at(kind, namespace, version) if matches(item)]
        items = [item for item in items if path_of(item, kind) > start] if start else items
        metadata = {"resourceVersion": str(version)}
        # Neither an answer from the cache (version 0) nor one with selectors says how many remain.
        if limit and len(items) > limit and query.get("resourceVersion") != "0":
            metadata["continue"] = token(version, path_of(items[limit - 1], kind))
            if not query.get("labelSelector") and not query.get("fieldSelector"):
                metadata["remainingItemCount"] = len(items) - limit
            items = items[:limit]
        return items, metadata


def wait_for(store, version, seconds):
    deadline = time.monotonic() + seconds
    while store.version < version and time.monotonic() < deadline:
        store.changed.wait(deadline - time.monotonic())
    return store.version >= version


def path_of(item, kind):
    """Where the object is, below its kind: pages go on after it."""
    namespace, name = item["metadata"].get("namespace"), item["metadata"]["name"]
    return f"/{namespace}/{name}" if kind.namespaced else f"/{name}"


def document(kind, items, metadata, partial):
    if partial:
        return {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": [metadata_only(item) for item in items]}
    if kind.custom:
        return {"apiVersion": kind.api_version, "items": [typed(kind, item) for item in items], "kind": f"{kind.kind}List",
                "metadata": {"continue": "", **metadata}}
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata,
            "items": [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items]}


def typed(kind, item):
    return {"kind": kind.kind, "apiVersion": kind.api_version, **item}


def metadata_only(item):
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}
