#!/usr/bin/env python3
"""Whether the replay can fail: the double is spoilt in each of the behaviours that the recordings show, and the case that shows it must
differ; and a recorded answer with one field less is never taken for the whole one. Then the double's own parts, by tables.

  tests/doubles/kubernetes_test.py      exit 77 without the recordings"""
import contextlib, copy, io, multiprocessing, os, random, sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "kubernetes")]
import kubernetes_recordings as recordings  # noqa: E402
import kubernetes_replay as replay  # noqa: E402
import access, admission, collector, faults, fields, jobs, kueue, lists, matching, patches, pods, quantity, store  # noqa: E402
import kubelet, server  # noqa: E402
from failure import Failure  # noqa: E402

QUANTITIES = [("65536Mi", "64Gi"), ("191500m", "191500m"), ("3456G", "3456G"), ("0.5", "500m"), ("1000m", "1"), ("1024Ki", "1Mi"), ("1536Mi", "1536Mi"),
              ("2000", "2k"), ("512", "512"), ("0", "0"), ("512Ki", "512Ki"), ("1.5Gi", "1536Mi"), ("100e3", "100e3"), ("0.1n", "1n")]
WORKERS = 6
BAD_QUANTITIES = ["12 gigs", "", "Gi", "1.2.3", "1Xi", "--1"]
LABELS = [("a=b", {"a": "b"}, True), ("a=b", {"a": "c"}, False), ("a!=b", {}, True), ("!a", {}, True), ("!a", {"a": ""}, False), ("a", {"a": ""}, True),
          ("a in (x, y)", {"a": "y"}, True), ("a notin (x,y),c=d", {"a": "z", "c": "d"}, True), ("a notin (x,y),c=d", {"a": "z"}, False)]


def keep_nothing_written(look, original=jobs.Look.write):
    if not look.status["uncountedTerminatedPods"]:
        original(look)


# (what is spoilt, the case that must differ, the object, its attribute, and what takes its place)
SPOILT = [
    ("a Job's deletion takes its pods", "core/75-delete-default-orphans-with-warning", collector.Collector, "delete",
     lambda self, kind, item, options, original=collector.Collector.delete: original(self, kind, item, {"propagationPolicy": "Background", **options})),
    ("nothing is ever compacted: lists", "resilience/40-410-list-exact-old-rv", store.Store, "compact", lambda self: None),
    ("nothing is ever compacted: watches", "resilience/43-410-watch-too-old", store.Store, "compact", lambda self: None),
    ("a Job is complete at once", "core/50-watch-jobs-complete-then-delete", jobs.Look, "write", keep_nothing_written),
    ("a late answer is JSON", "kueue/45-create-webhook-timeout", faults, "timed_out", lambda: Failure(504, "Timeout", "Timeout", {})),
    ("an unknown path is a Status", "core/65-404-unknown-path-text", server, "plain_text", lambda code, text, **_: Failure(code, "NotFound", text)),
    ("too many requests is a Status", "resilience/60-429-too-many", faults, "plain_text", lambda code, text, **_: Failure(code, "TooManyRequests", text)),
    ("a create that timed out happened", "resilience/51-create-outcome-after-thaw", faults.Faults, "stall", lambda self, request, target: None),
    ("a bad token is anonymous", "core/60-401-bad-token", access.Access, "caller",
     lambda self, said, certificate, original=access.Access.caller: access.ANONYMOUS if said == "Bearer bad" else original(self, said, certificate)),
    ("quotas do not bind", "core/38-job-get-over-quota", pods.Pods, "check_quota", lambda self, pod: None),
    ("a queue does not suspend", "kueue/12-job-create-no-suspend-queue", admission, "admit_queue", lambda item: None),
    ("an un-suspension stays", "kueue/18-job-after-unsuspend-by-hand", kueue.Kueue, "stop", lambda self, job, workload: None),
    ("no queue is unknown", "kueue/33-workload-unknown-queue", kueue.Kueue, "refuse", lambda self, workload, reason, message, requests: None),
    ("a drained queue keeps its Jobs", "kueue/41-job-evicted-by-drain", kueue.Kueue, "hold", lambda self, workload, queue: None),
    ("a log that has not begun is empty", "core/43-log-400-container-creating", kubelet.Kubelet, "log", lambda self, pod, container, previous: None),
    ("quantities stay as they came", "kueue/01-clusterqueue-get", quantity, "canonical", lambda text: text),
    ("a GPU can be halved", "core/69-422-gpu-fraction", admission, "resource_causes", lambda resources, field: []),
    ("labels can be long", "core/69-422-bad-label", admission, "label_causes", lambda labels, field: []),
    ("unknown fields are kept", "core/67-400-strict-unknown-field", fields, "drop_unknown", lambda kind, item: []),
    ("everybody sees all pods", "core/63-403-cluster-wide-pods", access.Access, "check", lambda *_: None),
    ("bookmarks are never sent", "core/53-watch-initial-list-bookmark", lists, "flag", lambda query, name: name == "watch" and query.get(name) == "1"),
    ("a lost node's pod goes", "resilience/72-pod-stuck-terminating", kubelet.Kubelet, "stop", lambda self, node: None),
]


def check(good, what):
    if not good:
        raise AssertionError(what)


def is_noticed(data, case, holder, name, spoilt):
    """Whether the case differs once `holder.name` is replaced."""
    session_name, _, only = case.partition("/")
    original = getattr(holder, name)
    setattr(holder, name, spoilt)
    session = replay.Session(data, session_name, only)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            session.run(replay.SESSIONS[session_name]())
    except AssertionError:
        return True  # a step before it already did not come about
    finally:
        setattr(holder, name, original)
    return any(only.startswith(failed) or failed.startswith(only) for failed in session.failures)


def entry_is_noticed(data, i):
    return is_noticed(data, *SPOILT[i][1:])


def leaves(document, path=()):
    for key, value in document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ():
        yield path + (key,)
        yield from leaves(value, path + (key,))


def test_comparison(data, seed=1):
    """Every recorded document equals itself, and differs from itself with one entry less."""
    dice, documents = random.Random(seed), 0
    for session in replay.SESSIONS:
        for name in sorted(os.listdir(os.path.join(data, session))):
            if not name.endswith(".body"):
                continue
            with open(os.path.join(data, session, name), "rb") as file:
                document = recordings.normal_body(file.read())
            if not isinstance(document, dict):
                continue
            check(recordings.differences(document, document) == [], f"{name} differs from itself")
            for path in dice.sample(list(leaves(document)), min(20, len(list(leaves(document))))):
                less = copy.deepcopy(document)
                holder = less
                for key in path[:-1]:
                    holder = holder[key]
                del holder[path[-1]]
                check(recordings.differences(document, less), f"{name} without {path} is taken for the whole")
            documents += 1
    check(documents > 120, f"only {documents} documents")


def test_parts():
    for given, canonical in QUANTITIES:
        check(quantity.canonical(given) == canonical, f"{given}: {quantity.canonical(given)}, not {canonical}")
    for given in BAD_QUANTITIES:
        try:
            quantity.parse(given)
        except quantity.BadQuantity:
            continue
        raise AssertionError(f"{given!r} is taken for a quantity")
    check(quantity.add("500m", "1500m") == "2" and quantity.add("0", "1Gi") == "1Gi" and quantity.add("1Gi", "1Gi") == "2Gi", "sums")
    for selector, labels, wanted in LABELS:
        found = matching.compile_selectors(selector, None)({"metadata": {"labels": labels}})
        check(found == wanted, f"{selector} on {labels}: {found}")
    check(patches.merge({"a": {"b": 1, "c": 2}}, {"a": {"b": None}, "d": 3}) == {"a": {"c": 2}, "d": 3}, "a merge patch")
    containers = {"containers": [{"name": "x", "image": "1"}, {"name": "y"}]}
    merged = patches.merge(containers, {"containers": [{"name": "x", "image": "2"}]}, strategic=True)
    check(merged == {"containers": [{"name": "x", "image": "2"}, {"name": "y"}]}, "a strategic patch merges by name")
    check(patches.json_patch({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}, {"op": "remove", "path": "/a/0"}]) == {"a": [2]}, "a JSON patch")
    check(lists.read_token(lists.token(7, "/x")) == (7, "/x"), "a page's token")
    check(jobs.ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8", "ranges of indexes")


def main():
    test_parts()
    data = os.path.join(os.environ.get("HELIO_DATA", "/nonexistent"), "kubernetes")
    if not os.path.isdir(data):
        print(f"SKIPPED: whether a replay can fail: {data} is not there")
        return 77
    test_comparison(data)
    replay.PATIENCE = 4.0
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:  # each mostly waits
        noticed = pool.starmap(entry_is_noticed, [(data, i) for i in range(len(SPOILT))], 1)
    missed = [entry for entry, good in zip(SPOILT, noticed) if not good]
    for what, case, *_ in missed:
        print(f"not noticed by {case}: {what}")
    print(f"{len(SPOILT) - len(missed)} of {len(SPOILT)} spoilt doubles are noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
