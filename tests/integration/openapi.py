#!/usr/bin/env python3
"""docs/openapi.yaml is true: every operation of it is asked of a real broker with PostgreSQL and agents, so that it succeeds and so that
it is refused in each way that every operation has; a relay writes down what passes, and tests/openapi/judge.py compares each
answer with the description.
  tests/integration/openapi.py --build BUILD_DIR"""
import argparse, datetime, http.client, json, os, re, shutil, sys, tempfile, urllib.parse

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "faults"))
from federation import Federation, LocalSite, check, exchanges  # noqa: E402

NEVER = "01j9a0000000000000000000aa"  # the id of no job
LATER = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
KEYS = ("a" * 40, "b" * 40)
STREAMS = ("/v1/events", "/v1/jobs/{id}/logs")


class FedSite(LocalSite):
    """Its carbon intensity comes from a file, so it has series and forecasts."""
    nodes = 1
    place = "region: EU-SE\nlat: 60\nlon: 20\ntimezone: Europe/Stockholm\npue: 1.2\n"

    def agent_keys(self, federation):
        now = datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
        lines = "".join(f"{now + datetime.timedelta(hours=h):%Y-%m-%dT%H:%M:%SZ},{100 + h % 24}\n" for h in range(-24, 48))
        feed = federation.write(f"{self.name}/carbon.csv", "time,grams\n" + lines)
        return (super().agent_keys(federation) +
                f'  feeds:\n    - {{signal: carbon, source: csv, name: by-hour, path: "{feed}", value_column: grams}}\n')


class Judged(Federation):
    judged = True
    settings = "summary: 1s\nsilent_after: 25s\n"


class Caller:
    """One connection for each request, through the relay."""

    def __init__(self, url, admin):
        self.netloc, self.token, self.strangers = urllib.parse.urlsplit(url).netloc, admin, 0

    def ask(self, method, target, body=None, *, token=None, kind="application/json", seconds=15, upto=None, **headers):
        """(status, headers, body): the body as JSON where it is JSON. upto: a stream is left when it has brought this."""
        token = self.token if token is None else token
        self.strangers += not token  # each has an address of its own: guesses are counted by address
        source = f"127.9.{self.strangers >> 8}.{self.strangers & 255 or 1}" if not token else "127.0.0.1"
        connection = http.client.HTTPConnection(self.netloc, timeout=seconds, source_address=(source, 0))
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = "Bearer " + token
        if body is not None:
            sent["Content-Type"] = kind
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        try:
            connection.request(method, target, body, sent)
            answer = connection.getresponse()
            got = b""
            while upto is not None and upto not in got and (piece := answer.read1(65536)):
                got += piece
            got += answer.read() if upto is None else b""
        finally:
            connection.close()
        json_kind = "json" in (answer.headers.get("Content-Type") or "")
        return answer.status, answer.headers, json.loads(got) if json_kind and got else got

    def must(self, method, target, body=None, status=(200, 201, 202), **more):
        got, _, said = self.ask(method, target, body, **more)
        check(got in (status if isinstance(status, tuple) else (status,)), f"{method} {target}: {got} {str(said)[:600]}")
        return said


def console_and_health(c):
    for path in ("/", "/console"):
        c.must("GET", path, status=302, token="")
    page = c.must("GET", "/console/", token="").decode()
    name = re.search(r'(?:src|href)="(?:\./)?([^"/:]+\.(?:js|css))"', page).group(1)
    _, headers, _ = c.ask("GET", f"/console/{name}", Accept_Encoding="gzip", token="")
    c.must("GET", f"/console/{name}", token="", status=304, If_None_Match=headers["ETag"], Accept_Encoding="gzip")
    c.must("GET", f"/console/{name}", token="")
    c.must("GET", "/console/none.js", token="", status=404)
    for path in ("/healthz", "/readyz", "/readyz?role=any", "/metrics", "/v1/whoami", "/v1/broker"):
        c.must("GET", path)
    c.must("GET", "/readyz?role=none", status=400)


def submissions(c):
    doc = {"name": "judged", "run": "echo one; echo two", "gpu": "H100:1", "labels": {"team": "vision"}}
    first = c.must("POST", "/v1/jobs", doc, 201, Idempotency_Key="judged-1")["id"]
    again = c.must("POST", "/v1/jobs", doc, 201, Idempotency_Key="judged-1")
    check(again["id"] == first and again["existed"], f"the key gave another job: {again}")
    c.must("POST", "/v1/jobs", dict(doc, name="other"), 409, Idempotency_Key="judged-1")
    c.must("POST", "/v1/jobs", {"jobs": [doc, doc]}, 201)
    c.must("POST", "/v1/jobs", "name: y\nrun: 'true'\n---\nname: z\nrun: 'true'\n", 201, kind="application/yaml")
    c.must("POST", "/v1/jobs", "run: 'true'\n", 201, kind="text/yaml")
    c.must("POST", "/v1/jobs", json.dumps(doc) + "\n" + json.dumps(doc) + "\n", 201, kind="application/x-ndjson")
    c.must("POST", "/v1/jobs", dict(doc, placement={"sites": ["nowhere-*", "north"]}), 201)
    wrong = c.must("POST", "/v1/jobs", "run: 'true'\ngpus: 8\ntime: 6x\n", 400, kind="application/yaml")
    check(len(wrong["errors"]) >= 2, f"a job file with two errors: {wrong}")
    c.must("POST", "/v1/jobs", {"jobs": [doc, {"run": "true", "bogus": 1}]}, 400)
    c.must("POST", "/v1/jobs", dict(doc, gpu="B300:8"), 422)
    c.must("POST", "/v1/jobs", dict(doc, run="x" * (300 << 10)), 413)
    c.must("POST", "/v1/jobs", "run", 415, kind="text/html")
    c.must("POST", "/v1/jobs", dict(doc, queue="none"), (400, 404, 422))
    c.must("POST", "/v1/jobs", dict(doc, depends={"after_ok": [NEVER]}), (400, 404, 409, 422))
    return first


def jobs(c, federation, first):
    run = c.must("POST", "/v1/jobs", {"name": "runs", "gpu": "H100:4", "time": "1h", "placement": {"sites": ["north"]},
                                      "run": "trap : HUP; echo here; while :; do sleep 0.1; done"}, 201)["id"]
    array = c.must("POST", "/v1/jobs", {"name": "array", "gpu": "H100:1", "run": "echo $HELIO_ARRAY_INDEX", "array": "0-3%2"}, 201)["id"]
    waits = c.must("POST", "/v1/jobs", {"name": "waits", "gpu": "H100:8", "run": "true", "time": "1h", "placement": {"sites": ["north"]}}, 201)["id"]
    held = c.must("POST", "/v1/jobs", {"name": "held", "gpu": "H100:1", "run": "true", "placement": {"not_before": LATER, "sites": ["north"]}}, 201)["id"]
    follows = c.must("POST", "/v1/jobs", {"name": "follows", "run": "true", "depends": {"after_ok": [run]}}, 201)["id"]
    fails = c.must("POST", "/v1/jobs", {"name": "fails", "run": "exit 3"}, 201)["id"]
    federation.wait_for(lambda: federation.look_up(run) == "running" and federation.look_up(fails) == "failed", 30, "the jobs do not run")
    c.must("PATCH", f"/v1/jobs/{held}", {"priority": 5, "goal": "green", "deadline": None, "time": "+30m", "max_cost": "400 USD"})
    c.must("PATCH", f"/v1/jobs/{run}", {"priority": 5}, 409)
    c.must("POST", f"/v1/jobs/{held}/hold")
    for job in (first, run, array, array + ".1", waits, held, follows, fails):
        for rest in ("", "/explain", "/attempts"):
            c.must("GET", f"/v1/jobs/{job}{rest}", status=(200, 409))
        c.must("GET", f"/v1/jobs/{job}/plan")
    c.must("GET", f"/v1/jobs/{run[:6]}", status=(200, 409))
    c.must("GET", f"/v1/jobs/{waits}/plan?carbon=200&wait=0.5&drain=north")
    c.must("GET", f"/v1/jobs/{waits}/plan?price=north:2")
    c.must("GET", f"/v1/jobs/{waits}/plan?carbon=x&wait=1", status=400)
    c.must("GET", f"/v1/jobs/{waits}/plan?drain=nowhere", status=404)
    for rest, status in (("?limit=3", 200), ("?state=running,queued", 200), ("?queue=standard&name=runs", 200), ("?tenant=demo", 200),
                         ("?state=none", 400), ("?limit=0", 400), ("?user=tester&site=north&arrays=whole", 200),
                         ("?label=team%3Dvision&since=2026-01-01T00:00:00Z", 200), ("?sort=cost", 200), ("?label=-", 400), ("?since=x", 400), ("?cursor=none", 400), ("?tenant=none", (200, 404))):
        page = c.must("GET", "/v1/jobs" + rest, status=status)
        if rest == "?limit=3":
            c.must("GET", f"/v1/jobs?limit=3&cursor={page['next']}")
    logs(c, first, run, array, waits)
    channels(c, run, waits, array)
    c.must("GET", "/v1/order")
    c.must("POST", f"/v1/jobs/{held}/release")
    c.must("POST", f"/v1/jobs/{held}/release", status=409)
    c.must("POST", f"/v1/jobs/{run}/signal", {"signal": "HUP", "to": "script"})
    c.must("POST", f"/v1/jobs/{waits}/signal", {"signal": "USR1"}, 409)
    c.must("POST", f"/v1/jobs/{waits}/requeue", status=409)
    c.must("POST", f"/v1/jobs/{run}/requeue")
    stream(c, run)
    for job in (held, waits, array):  # the first has not begun, the others may have ended
        c.must("DELETE", f"/v1/jobs/{job}", status=202 if job == held else (202, 409))
    c.must("DELETE", f"/v1/jobs/{fails}", status=409)
    c.must("DELETE", f"/v1/jobs/{run}?now=true")
    federation.wait_for(lambda: federation.look_up(run) in ("cancelled", "failed"), 30, "the job does not end")
    c.must("GET", f"/v1/jobs/{run}/attempts")
    c.must("GET", f"/v1/jobs/{run}/explain")


def channels(c, run, waits, array):
    """A command that answers what it is told, a port at which nobody listens, and what cannot be entered."""
    opened = c.must("POST", f"/v1/jobs/{run}/channels", {"command": ["cat"]}, 201)
    channel = "/v1/channels/" + opened["channel"]
    c.must("POST", channel + "/input?offset=0", b"hello", kind="application/octet-stream")
    c.must("POST", channel + "/input?offset=0", b"hello", kind="application/octet-stream")
    c.must("POST", channel + "/input?offset=99", b"hello", 409, kind="application/octet-stream")
    said = b""
    while b"hello" not in said:
        said = c.must("GET", channel + "/output?offset=0&wait=5")
    c.must("GET", channel + "/output?offset=99", status=409)
    c.must("POST", channel + "/input?offset=5&end=1", b"", kind="application/octet-stream")
    terminal = c.must("POST", f"/v1/jobs/{run}/channels", {"terminal": True, "rows": 24, "columns": 80, "term": "xterm"}, 201)
    c.must("PUT", f"/v1/channels/{terminal['channel']}/size", {"rows": 40, "columns": 100})
    c.must("DELETE", f"/v1/channels/{terminal['channel']}")
    c.must("POST", f"/v1/jobs/{run}/channels", {"port": 9}, 201)
    c.must("POST", f"/v1/jobs/{run}/channels", {"port": 9, "command": ["id"]}, 400)
    c.must("POST", f"/v1/jobs/{waits}/channels", {"command": ["id"]}, 409)
    c.must("POST", f"/v1/jobs/{array}/channels", {"command": ["id"]}, 409)
    c.must("POST", f"/v1/jobs/{NEVER}/channels", {"command": ["id"]}, 404)


def logs(c, first, run, array, waits):
    check(c.must("GET", f"/v1/jobs/{first}/logs?follow=1") == b"one\ntwo\n", "the log of a job")
    c.must("GET", f"/v1/jobs/{first}/logs?offset=4&epoch=1")
    c.must("GET", f"/v1/jobs/{run}/logs?follow=true", upto=b"here")
    c.must("GET", f"/v1/jobs/{array}.0/logs", status=(200, 404))
    c.must("GET", f"/v1/jobs/{array}/logs", status=409)
    c.must("GET", f"/v1/jobs/{waits}/logs", status=404)
    c.must("GET", f"/v1/jobs/{first}/logs?epoch=77", status=404)
    c.must("GET", f"/v1/jobs/{first}/logs?offset=x", status=400)
    check(c.must("GET", f"/v1/jobs/{first}/logs?tail=1") == b"two\n", "the end of a log")


def stream(c, run):
    """Events that were, events that come, and an id of another copy of the database."""
    c.must("GET", "/v1/events", upto=run.encode(), Last_Event_ID="1")
    c.must("GET", "/v1/events", upto=b"resync\ndata: {", Last_Event_ID="999999999")
    c.must("GET", "/v1/events", status=400, Last_Event_ID="x")


def plans(c):
    doc = {"name": "planned", "gpu": "H100:2", "run": "true", "time": "2h", "placement": {"goal": "green", "flexible": "12h"}}
    c.must("POST", "/v1/plans", doc)
    c.must("POST", "/v1/plans?carbon=200&wait=0.5&price=north:0.5", dict(doc, array="0-9"))
    c.must("POST", "/v1/plans", dict(doc, gpu="B300:1"))
    c.must("POST", "/v1/plans", "run: 'true'\nname: planned\n", kind="application/yaml")
    c.must("POST", "/v1/plans?drain=nowhere", doc, 404)
    c.must("POST", "/v1/plans", {"jobs": [doc, doc]}, 400)
    c.must("POST", "/v1/plans", dict(doc, run="x" * (300 << 10)), 413)


def sites(c, federation):
    c.must("POST", "/v1/sites", {"site": "spare", "public_key": KEYS[0]}, 201)
    c.must("POST", "/v1/sites", {"site": "north", "public_key": KEYS[0]}, 409)
    c.must("GET", "/v1/keys")
    c.must("DELETE", f"/v1/sites/spare/keys?public_key={KEYS[0]}")
    c.must("POST", "/v1/sites", {"site": "spare", "public_key": KEYS[0]}, 409)
    c.must("POST", "/v1/sites", {"site": "spare", "public_key": KEYS[0], "again": True}, 201)
    c.must("DELETE", f"/v1/sites/spare/keys?public_key={KEYS[1]}", status=404)
    c.must("POST", "/v1/sites/north/curtail", {"to_percent": 50, "for_s": 600, "reason": "judged"})
    c.must("POST", "/v1/sites/north/curtail", {"to_percent": 40, "for_s": 600, "at": LATER, "reason": "judged"})
    c.must("POST", "/v1/sites/north/drain", {"reason": "judged"})
    for path in ("/v1/sites", "/v1/gpus", "/v1/desired", "/v1/desired?site=north&pool=h100", "/v1/curtailments", "/v1/curtailments?site=north&days=1"):
        c.must("GET", path)
    c.must("POST", "/v1/sites/north/uncurtail")
    c.must("POST", "/v1/sites/north/undrain", {"reason": "judged"})
    c.must("POST", "/v1/sites/north/drain")
    c.must("POST", "/v1/sites/north/undrain")
    c.must("GET", "/v1/curtailments")
    federation.wait_for(lambda: c.ask("GET", "/v1/sites/north/forecast?days=1")[0] == 200, 20, "there is no forecast")
    c.must("POST", "/v1/sites/north/attest", {"dead": True, "reason": "judged"}, 409)
    federation.wait_for(lambda: c.ask("POST", "/v1/sites/gone/attest", {"dead": True, "reason": "judged"})[0] == 200, 40, "not attested")
    c.must("GET", "/v1/sites")


def rules(c):
    """Queues, overflow groups, quotas, tenants, data and links: set, listed, removed."""
    c.must("PUT", "/v1/queues/night", {"priority": 50, "tier": "standard", "time_limit_s": 3600}, )
    c.must("PUT", "/v1/queues/night/rules", {"schedule": "Mon..Fri 20:00-08:00 Europe/Berlin", "priority": 60})
    c.must("PUT", "/v1/queues/night/rules", {"for_s": 600, "region": "EU-SE", "priority": 70})
    c.must("GET", "/v1/queues")
    c.must("PUT", "/v1/queues/night/rules", {"for_s": 600, "region": "EU-SE", "priority": None}, (200, 400))
    c.must("DELETE", "/v1/queues/night")
    c.must("PUT", "/v1/overflows/group", {"queue": "batch", "steps": "north; *,after=10m"})
    c.must("PUT", "/v1/overflows/second", {"queue": "batch", "steps": "north; *,after=10m"}, (200, 409))
    c.must("GET", "/v1/overflows")
    c.must("DELETE", "/v1/overflows/group")
    c.must("PUT", "/v1/quotas/demo", {"guaranteed_gpus": 1, "burst_gpus": 64, "weight": 2, "budgets": ["5000 gpu-h/month", "2 t/week"]})
    c.must("PUT", "/v1/quotas/demo", {"queue": "batch", "burst_gpus": 8})
    c.must("PUT", "/v1/quotas/*", {"queue": "batch", "budgets": ["100 USD/day"]})
    c.must("GET", "/v1/quotas")
    c.must("POST", "/v1/tenants", {"tenant": "acme", "home": "north", "weight": 1.5})
    c.must("POST", "/v1/tenants", {"tenant": "acme", "home": "nrth"}, 404)
    c.must("GET", "/v1/tenants")
    c.must("PUT", "/v1/data", {"prefix": "s3://judged/", "sites": ["north", "elsewhere"], "tenant": "acme"})
    c.must("GET", "/v1/data")
    c.must("DELETE", "/v1/data?prefix=s3://judged/")
    c.must("PUT", "/v1/links", {"from": "north", "to": "*", "gbps": 5, "egress_usd_per_gb": 0.02, "rtt_ms": 90})
    c.must("GET", "/v1/links")
    c.must("DELETE", "/v1/links?from=north&to=*")


def people(c):
    token = c.must("POST", "/v1/tokens", {"tenant": "acme", "user": "ada"}, 201)
    short = c.must("POST", "/v1/tokens", {"tenant": "acme", "user": "eve", "role": "operator", "ttl_s": 600}, 201)
    c.must("POST", "/v1/tokens", {"tenant": "acm", "user": "eve"}, 404)
    c.must("POST", "/v1/principals", {"tenant": "acme", "user": "ada", "disabled": True})
    c.must("GET", "/v1/whoami", token=token["token"], status=401)
    c.must("POST", "/v1/principals", {"tenant": "acme", "user": "ada", "disabled": False})
    c.must("GET", "/v1/whoami", token=token["token"])
    for path in ("/v1/tokens", "/v1/principals", "/v1/audit?limit=5", "/v1/audit/verify"):
        page = c.must("GET", path)
        if "limit" in path:
            c.must("GET", f"/v1/audit?limit=5&cursor={page['next']}")
    c.must("DELETE", f"/v1/tokens/{short['token_id']}")
    return token["token"]


def figures(c):
    for path in ("/v1/report", "/v1/report?days=1", "/v1/balance", "/v1/history", "/v1/history?hours=48&site=north", "/v1/snapshot",
                 "/v1/snapshot?hours=1"):
        c.must("GET", path)


def described():
    """[(method, path)] of the description."""
    found, path = [], ""
    with open(os.path.join(TOP, "docs", "openapi.yaml")) as file:
        for line in file:
            if at := re.match(r"  (/\S*):$", line):
                path = at.group(1)
            elif path and (at := re.match(r"    (get|put|post|delete|patch):$", line)):
                found.append((at.group(1).upper(), path))
    return found


def refusals(c, user):
    """What every operation refuses, whatever it does. The judge says whether the answer may be so."""
    values = {"{id}": NEVER, "{site}": "nowhere", "{tenant}": "nobody", "{name}": "none", "{file}": "none.js", "{queue}": "none",
              "{channel}": "0" * 32}
    for method, path in described():
        target = re.sub(r"\{\w+\}", lambda found: values[found[0]], path)
        stream = {"upto": b"\n"} if path in STREAMS else {}
        body = None if method in ("GET", "DELETE") else {}
        c.ask(method, target, body, token="", **stream)
        c.ask(method, target, body, token=user, **stream)
        c.ask(method, target, body, **stream)
        c.ask(method, target + "?bogus=1", body, **stream)
        c.ask(method, target, {"bogus": 1}, **stream)
        c.ask(method, target, "[", **stream)
        c.ask(method, target, "x", kind="text/html", **stream)
        c.ask(method, target, body, Accept="image/png", **stream)
        if method == "GET" and path not in STREAMS:
            c.ask("HEAD", target)
        c.ask("OPTIONS", target)
    c.must("GET", "/v1/none", status=404)
    c.must("GET", "/v1/jobs/%zz", status=400)
    c.must("GET", "/v1/jobs?name=" + "x" * 9000, status=(400, 414))


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    options = args.parse_args()
    if not exchanges.can_judge():
        print("SKIPPED: answers by docs/openapi.yaml: python3-jsonschema or python3-yaml is not installed (deploy/packages/clients.txt)")
        raise SystemExit(77)
    folder = tempfile.mkdtemp(prefix="helio-openapi-")
    federation = Judged(options.build, folder, [FedSite("north", 2), LocalSite("south", 3), LocalSite("gone", 4)], tenants=("demo", "acme"))
    try:
        federation.up()
        c = Caller(federation.env["HELIO_BROKER"], federation.env["HELIO_TOKEN"])
        c.must("POST", "/v1/sites/gone/drain", {"reason": "it ends now, and can be attested dead when it has been silent for long"})
        federation.kill("gone")
        console_and_health(c)
        first = submissions(c)
        jobs(c, federation, first)
        plans(c)
        rules(c)
        user = people(c)
        figures(c)
        refusals(c, user)
        sites(c, federation)
        federation.judge("--every")
    finally:
        federation.down()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
