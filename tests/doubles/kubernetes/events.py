"""Events about objects; the same one again is counted."""
import time
from resources import EVENTS
from store import now


class Events:
    def __init__(self, store):
        self.store = store

    def emit(self, about, api_version, kind, event_type, reason, message, component, new_style=False):
        metadata = about["metadata"]
        same = next((one for one in self.store.list(EVENTS, metadata["namespace"]) if one["involvedObject"]["uid"] == metadata["uid"] and
                     (one["reason"], one["message"]) == (reason, message)), None)
        if same:
            if new_style:
                same["series"] = {"count": (same.get("series") or {"count": 1})["count"] + 1, "lastObservedTime": now(fraction=True)}
            else:
                same["count"], same["lastTimestamp"] = same["count"] + 1, now()
            self.store.update(EVENTS, same)
            return
        times = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": now(fraction=True), "action": "Scheduling"} if new_style else {
            "firstTimestamp": now(), "lastTimestamp": now(), "count": 1, "eventTime": None}
        self.store.create(EVENTS, {
            "metadata": {"name": f"{metadata['name']}.{time.time_ns():x}", "namespace": metadata["namespace"]},
            "involvedObject": {"kind": kind, "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"],
                               "apiVersion": api_version, "resourceVersion": metadata["resourceVersion"]},
            "reason": reason, "message": message, "source": {} if new_style else {"component": component}, "type": event_type,
            "reportingComponent": component, "reportingInstance": f"{component}-double" if new_style else "", **times})
