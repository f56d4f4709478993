"""The kinds of patches that a server applies."""
import copy
from failure import Failure, bad_request

# Lists that a strategic patch merges by a key instead of replacing them.
MERGE_KEYS = {"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "conditions": "type", "ports": "containerPort",
              "tolerations": None, "taints": "key", "ownerReferences": "uid", "volumeMounts": "mountPath"}
TYPES = ("application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml")


def apply(item, patch, content_type):
    if content_type == TYPES[0]:
        return json_patch(copy.deepcopy(item), patch)
    if content_type in TYPES:
        if not isinstance(patch, dict):
            raise bad_request("the patch is no object")
        return merge(item, patch, strategic=content_type not in (TYPES[1],))
    raise Failure(415, "UnsupportedMediaType", "the body of the request was in an unknown format - accepted media types include: " + ", ".join(TYPES))


def merge(item, patch, strategic=False):
    """RFC 7386, and for a strategic patch lists by their keys."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(item) if isinstance(item, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif strategic and MERGE_KEYS.get(name) and isinstance(value, list):
            merged[name] = merge_list(merged.get(name) or [], value, MERGE_KEYS[name])
        else:
            merged[name] = merge(merged.get(name), value, strategic)
    return merged


def merge_list(items, patches, key):
    merged = list(items)
    for patch in patches:
        at = next((index for index, one in enumerate(merged) if one.get(key) == patch.get(key)), None)
        if patch.get("$patch") == "delete":
            merged = [one for one in merged if one.get(key) != patch.get(key)]
        elif at is None:
            merged.append(copy.deepcopy(patch))
        else:
            merged[at] = merge(merged[at], patch, strategic=True)
    return merged


def json_patch(item, operations):
    for operation in operations:
        *above, last = [word.replace("~1", "/").replace("~0", "~") for word in operation["path"].split("/")[1:]]
        holder = item
        for word in above:
            holder = holder[int(word) if isinstance(holder, list) else word]
        verb, value = operation["op"], operation.get("value")
        if isinstance(holder, list):
            last = len(holder) if last == "-" else int(last)
        if verb == "test":
            if holder[last] != value:
                raise Failure(422, "Invalid", "the server rejected our request due to an error in our request")
        elif verb == "remove":
            del holder[last]
        elif verb == "add" and isinstance(holder, list):
            holder.insert(last, value)
        elif verb in ("add", "replace"):
            holder[last] = value
        else:
            raise bad_request(f"operation {verb} is not supported")
    return item
