"""Conditions of an object's status."""
from store import now


def find(item, name):
    return next((one for one in (item.get("status") or {}).get("conditions") or [] if one["type"] == name), None)


def is_true(item, name):
    found = find(item, name)
    return bool(found) and found["status"] == "True"


def put(item, name, status, reason=None, message=None, **more):
    """Sets a condition; its time changes with its status, and a reason that is not given stays."""
    conditions = item.setdefault("status", {}).setdefault("conditions", [])
    found = find(item, name)
    if found is None:
        found = {"type": name}
        conditions.append(found)
    if found.get("status") != status:
        found.update(status=status, lastTransitionTime=now())
    found.update({key: value for key, value in (("reason", reason), ("message", message)) if value is not None})
    found.update(more)


def put_for_job(item, name, status, reason, message):
    put(item, name, status, reason, message, lastProbeTime=now())
