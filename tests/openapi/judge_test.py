#!/usr/bin/python3
"""Whether judge.py and exchanges.py can fail at all: answers that the description does not allow, and bytes that come in pieces."""
import base64, copy, json, sys

sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rpartition("/")[0])
import exchanges, judge  # noqa: E402

ME = {"token_id": "a", "tenant": "demo", "user": "ada", "role": "user", "expires_at": None, "version": "1"}
EVENT = {"seq": 1, "time": "2026-01-01T00:00:00Z", "id": "a", "tenant": "demo", "queue": "standard", "name": None, "epoch": 0, "from": None,
         "to": "queued", "reason": None, "details": None, "actor": None, "site": None}
PROBLEM = {"type": "about:blank", "title": "Not Found", "status": 404, "reason": "NotFound", "detail": "no", "details": []}


def exchange(target="/v1/whoami", body=ME, status=200, kind="application/json", method="GET", request=b"", request_kind="", whole=True, **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return {"method": method, "target": target, "status": status, "headers": {"content-type": kind, **headers}, "whole": whole,
            "body": base64.b64encode(body).decode(), "request": base64.b64encode(request).decode(), "request_headers": {"content-type": request_kind}}


def event(name, data, extra="id: 1\n"):
    return exchange("/v1/events", f"retry: 2000\n: after 0\n\n{extra}event: {name}\ndata: {json.dumps(data)}\n\nid: 2\nev".encode(), kind="text/event-stream", whole=False)


def without(value, key):
    return {name: member for name, member in value.items() if name != key}


PROBLEM_KIND = "application/problem+json"
GOOD = [exchange(), exchange("/v1/none", PROBLEM, 404, PROBLEM_KIND), event("transition", EVENT), event("resync", {"seq": 3}),
        exchange("/", b"", 302, "text/html"), exchange(method="HEAD", body=b""), exchange(body=b'{"tok', whole=False),
        exchange(body=dict(PROBLEM, status=406), status=406, kind=PROBLEM_KIND),
        exchange("/v1/queues/q", {"status": "set"}, method="PUT", request=b'{"priority": 1}', request_kind="application/json")]
BAD = [exchange(body=dict(ME, more=1)), exchange(body=without(ME, "role")), exchange(body=dict(ME, role="king")), exchange(body=dict(ME, tenant=None)),
       exchange(body=dict(ME, expires_at="tomorrow")), exchange(body=b"{"), exchange(body=b""), exchange(kind="text/plain"), exchange(status=201),
       exchange(body=dict(PROBLEM), status=404, kind=PROBLEM_KIND),  # of /v1/whoami
       exchange(body=dict(PROBLEM, status=500), status=500, kind=PROBLEM_KIND),
       exchange("/v1/jobs/abcdef", dict(PROBLEM, status=400), 404, PROBLEM_KIND), exchange("/v1/jobs/abcdef", without(PROBLEM, "detail"), 404, PROBLEM_KIND),
       exchange("/v1/none", {"any": 1}), exchange("/v1/whoami", dict(PROBLEM, status=405), 405, PROBLEM_KIND),  # without Allow
       event("transition", without(EVENT, "seq")), event("resync", {}), event("other", {}), event("transition", EVENT, ""),
       exchange("/v1/queues/q", {"status": "set"}, method="PUT", request=b'{"priority": -1}', request_kind="application/json"),
       exchange("/v1/queues/q", {"status": "set"}, method="PUT", request=b'{"bogus": 1}', request_kind="application/json"),
       exchange("/v1/gpus", [{"site": "a"}])]


def in_pieces(text, size, side):
    return [message for at in range(0, len(text), size) for message in side.feed(text[at:at + size])]


def pieces():
    """Any cut of the bytes gives the same messages."""
    answers = (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
               b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab\r\n\r\n1;x=y\r\nc\r\n0\r\n\r\nHTTP/1.1 304 Not\r\n\r\n"
               b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
    requests = b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}GET /b HTTP/1.1\r\nHost: a\r\n\r\n"
    for size in range(1, len(answers) + 1):
        side = exchanges.Side(False, lambda: "GET")
        found = [message.body for message in in_pieces(answers, size, side)] + [side.end().body]
        assert found == [b"abc", b"ab\r\nc", b"", b"until the end"], (size, found)
        found = [(message.head[:7], message.body) for message in in_pieces(requests, size, exchanges.Side(True))]
        assert found == [("POST /a", b"{}"), ("GET /b ", b"")], (size, found)
    head = exchanges.Side(False, lambda: "HEAD")
    assert [message.whole for message in in_pieces(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 3, head)] == [True, True]
    upgraded = exchanges.Side(False, lambda: "POST")
    found = in_pieces(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: tcp\r\n\r\nany\r\n\r\nbytes", 5, upgraded)
    assert [message.head[:12] for message in found] == ["HTTP/1.1 101"] and found[0].whole and upgraded.raw, found
    cut = exchanges.Side(False, lambda: "GET")
    assert not in_pieces(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nabc", 7, cut) and not cut.end().whole


def main():
    document = judge.Document()
    for case in GOOD:
        faults = document.judge(copy.deepcopy(case))[1]
        assert not faults, (case, faults)
    for case in BAD:
        assert document.judge(copy.deepcopy(case))[1], f"not found to be wrong: {case}, {base64.b64decode(case['body'])}"
    assert document.find("GET", "/console/") == "GET /console/" and document.find("GET", "/console/a.css") == "GET /console/{file}"
    pieces()
    print(f"{len(GOOD)} good and {len(BAD)} wrong answers are told apart")


main()
