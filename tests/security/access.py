"""Who may ask for what, on a running broker: every operation of docs/openapi.yaml by every caller, with the verdict that
tests/golden/http/access.txt has for it (the table of the program, which a review reads). What is refused changes nothing; and
whoever belongs to another tenant neither finds, nor changes, nor hears of anything of this one."""
import json, os, re, time

from door import check
from federation import TOP

LATER = "2030-01-01T00:00:00Z"
KEY_CHARS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
STREAMS = ("/v1/events", "/v1/jobs/{id}/logs")
# What each operation that changes something asks, so that it is carried out for whoever may: {n} is another number for each
# caller, {id} the victim's job, {token} a spare token.
BODIES = {
    "POST /v1/jobs": {"run": "true", "gpu": "H100:1", "placement": {"not_before": LATER}},
    "PATCH /v1/jobs/{id}": {"priority": 7},
    "POST /v1/jobs/{id}/hold": {},
    "POST /v1/jobs/{id}/release": {},
    "POST /v1/jobs/{id}/requeue": {},
    "POST /v1/jobs/{id}/signal": {"signal": "USR1"},
    "POST /v1/jobs/{id}/channels": {"command": ["true"]},
    "POST /v1/channels/{channel}/input": {},  # no bytes: refused for its type
    "PUT /v1/channels/{channel}/size": {"rows": 24, "columns": 80},
    "POST /v1/plans": {"run": "true", "gpu": "H100:1"},
    "POST /v1/sites": {"site": "spare", "public_key": "{key}"},
    "POST /v1/sites/{site}/drain": {"reason": "access"},
    "POST /v1/sites/{site}/undrain": {},
    "POST /v1/sites/{site}/curtail": {"to_percent": 90, "for_s": 60, "reason": "access"},
    "POST /v1/sites/{site}/uncurtail": {},
    "POST /v1/sites/{site}/attest": {"dead": True, "reason": "access"},
    "PUT /v1/queues/{queue}": {"priority": 5},
    "PUT /v1/queues/{queue}/rules": {"for_s": 60, "priority": 6},
    "PUT /v1/overflows/{name}": {"queue": "standard", "tenant": "ops", "steps": "north; *,after=10m"},
    "PUT /v1/quotas/{tenant}": {"burst_gpus": 77},
    "POST /v1/tenants": {"tenant": "acme", "weight": 1.5},
    "PUT /v1/data": {"prefix": "s3://acme-private-{n}/", "sites": ["north"], "tenant": "acme"},
    "PUT /v1/links": {"from": "north", "to": "*", "gbps": 1},
    "POST /v1/tokens": {"tenant": "acme", "user": "fresh"},
    "POST /v1/principals": {"tenant": "acme", "user": "spare", "disabled": False},
}
QUERIES = {"DELETE /v1/sites/{site}/keys": "?public_key={key}", "DELETE /v1/data": "?prefix=s3://acme-private-{n}/",
           "DELETE /v1/links": "?from=north&to=*", "GET /v1/jobs/{id}/logs": "?follow=true"}  # that job never ran, and has no log yet
# Carried out, or refused for what there is (a site that is not silent, a job that is not held, or does not run), but not for who asks.
OTHERWISE = {"POST /v1/sites/{site}/attest": 409, "POST /v1/jobs/{id}/hold": 409, "POST /v1/jobs/{id}/release": 409,
             "POST /v1/jobs/{id}/requeue": 409, "POST /v1/jobs/{id}/signal": 409,
             "POST /v1/jobs/{id}/channels": 409, "POST /v1/channels/{channel}/input": 415,
             "GET /v1/channels/{channel}/output": 404, "PUT /v1/channels/{channel}/size": 404, "DELETE /v1/channels/{channel}": 404,
             "DELETE /v1/overflows/{name}": 404, "DELETE /v1/links": 404,  # the second time
             "GET /": 302, "GET /console": 302, "GET /v1/sites/{site}/forecast": 404, "GET /v1/jobs/{id}/explain": 409}


class Caller:
    def __init__(self, name, token, column, owns=False):
        self.name, self.token, self.column, self.owns = name, token, column, owns


class World:
    """Two tenants, an operator, an administrator, and every kind of token that opens nothing."""

    def __init__(self, federation, door):
        self.federation, self.door, self.ask, self.must = federation, door, door.ask, door.must
        ada, eve = door.token_of("acme", "ada"), door.token_of("globex", "eve")
        gone, out = door.token_of("acme", "gone"), door.token_of("acme", "out")
        late = self.ask("POST", "/v1/tokens", door.token, {"tenant": "acme", "user": "late", "ttl_s": 1})[1]["token"]
        self.must("DELETE", "/v1/tokens/" + gone.split("_")[1], None)
        self.must("POST", "/v1/principals", {"tenant": "acme", "user": "out", "disabled": True})
        self.ada, self.eve = Caller("a user of the tenant", ada, "user", True), Caller("a user of another tenant", eve, "user")
        site_key = re.search(r"\S{40}", federation.helio("keys", "ls", "-o", "json").stdout.replace('"', " ")).group()
        self.callers = [Caller(*row) for row in (
            ("nobody", "", "nobody"), ("a wrong secret", ada[:-1] + ("a" if ada[-1] != "a" else "b"), "nobody"),
            ("a token of no user", "hel_" + "a" * 12 + "_" + "b" * 32, "nobody"), ("a site's key", site_key, "nobody"),
            ("an expired token", late, "nobody"), ("a revoked token", gone, "nobody"), ("a disabled user", out, "nobody"),
            ("an operator", door.token_of("ops", "olga", "operator"), "operator"),
            ("an administrator", door.token, "admin"))] + [self.ada, self.eve]
        self.job = door.submit(ada, {"run": "true", "name": "acme-secret", "gpu": "H100:1", "placement": {"not_before": LATER}})
        self.ran = door.submit(ada, {"run": "echo acme-output", "name": "acme-secret"})
        federation.wait_for(lambda: federation.look_up(self.ran) == "succeeded", 30, "the victim's job does not end")
        self.must("PUT", "/v1/quotas/acme", {"budgets": ["5000 gpu-h/month"]})
        self.must("PUT", "/v1/data", {"prefix": "s3://acme-private/", "sites": ["north"], "tenant": "acme"})
        self.must("PUT", "/v1/overflows/acme-steps", {"tenant": "acme", "steps": "north; *,after=10m"})
        time.sleep(1)  # and the short-lived token has expired

    def changes(self):
        """All changes so far: each change by a principal is in the audit, each submission is a job."""
        return self.federation.sql("select (select count(*) from helio.audit), (select count(*) from helio.jobs), "
                                   "(select max(seq) from helio.transitions)")


def granted_table():
    with open(os.path.join(TOP, "tests/golden/http/access.txt")) as file:
        lines = [line.split() for line in file]
    columns = [words for words in lines if words[0] == "#"][-1][3:]
    table = {f"{words[0]} {words[1]}": dict(zip(columns, words[2:])) for words in lines if words[0] != "#"}
    with open(os.path.join(TOP, "docs/openapi.yaml")) as file:
        described, path = set(), ""
        for line in file:
            if found := re.match(r"  (/\S*):$", line):
                path = found.group(1)
            elif path and (found := re.match(r"    (get|put|post|delete|patch):$", line)):
                described.add(f"{found.group(1).upper()} {path}")
    check(described == set(table), f"the description and the table of access differ: {described ^ set(table)}")
    return table


def target(world, operation, caller):
    path = operation.split()[1]
    values = {"{id}": world.job, "{site}": "north", "{tenant}": "acme", "{name}": "steps", "{file}": "console.css", "{channel}": "0" * 32,
              "{queue}": "standard" if path.endswith("/rules") else f"queue-of-{caller.column}"}
    if path == "/v1/tokens/{id}":
        values["{id}"] = world.door.token_of("acme", "spare").split("_")[1] if caller.column == "admin" else world.callers[0].name
    if operation == "DELETE /v1/jobs/{id}" and caller.column != "nobody" and (caller.owns or caller.column != "user"):
        values["{id}"] = world.door.submit(world.ada.token, BODIES["POST /v1/jobs"])  # one of its own to cancel
    for name, value in values.items():
        path = path.replace(name, value)
    if operation == "DELETE /v1/sites/{site}/keys":
        path = path.replace("north", "spare")
    number = "".join(c for c in caller.name if c.isalpha())
    return path + QUERIES.get(operation, "").replace("{n}", number).replace("{key}", key_of(number)), number


def key_of(number):
    return (KEY_CHARS * 2)[len(number):][:40]  # another one for each caller


def body_of(operation, number):
    body = BODIES.get(operation)
    check(body is not None or operation.split()[0] in ("GET", "DELETE"), f"the matrix has no body for {operation}")
    if body is None:
        return None
    return json.loads(json.dumps(body).replace("{n}", number).replace("{key}", key_of(number)))


def fits(grant, operation, caller, status):
    if grant == "unknown":
        return status == 401
    if grant == "refused":
        return status == 403
    if grant == "own" and "{id}" in operation and not caller.owns:
        return status == 404
    return status in (200, 201, 202) or status == OTHERWISE.get(operation)


def matrix(world):
    """Every cell. Those that are refused come first, so that they have changed nothing is seen all together."""
    table, count = granted_table(), 0
    cells = [(operation, caller, columns[caller.column]) for operation, columns in table.items() for caller in world.callers]
    harmless = lambda cell: cell[2] in ("unknown", "refused") or (cell[1] is world.eve and cell[0] not in ("POST /v1/jobs",))
    before = world.changes()
    for operation, caller, grant in sorted(cells, key=lambda cell: not harmless(cell)):
        if not harmless((operation, caller, grant)) and before:
            check(world.changes() == before, f"refused requests changed something: {before} became {world.changes()}")
            before = None
        path, number = target(world, operation, caller)
        status, _, got = world.door.raw(operation.split()[0], path, caller.token, body_of(operation, number),
                                   wait_s=0.3 if operation.split()[1] in STREAMS else 2)
        check(fits(grant, operation, caller, status), f"{operation} by {caller.name} ({grant}): {status} {got[-400:]}")
        if caller is world.eve or grant in ("unknown", "refused"):
            check(b"acme" not in got.partition(b"\r\n\r\n")[2].replace(path.encode(), b""),
                  f"{operation} tells {caller.name} of the tenant: {got[-600:]}")
        count += 1
    return count


def audit(world):
    """Who did it is in the audit with the tenant; anchors show a removed tail and a chain that was made again."""
    actors = {row[0] for row in world.federation.sql("select distinct actor from helio.audit")}
    known = {"bootstrap", "user:acme/ada", "user:demo/tester", "user:ops/olga"}
    check(known <= actors <= known | {"user:globex/eve"}, f"the actors of the audit: {actors}")
    helio = lambda *words: world.federation.helio("audit", *words, check=False)
    anchor = helio("anchor").stdout.strip()
    check(helio("verify", "--anchor", anchor).returncode == 0, f"the audit does not match the anchor: {anchor}")
    without = lambda change: ("alter table helio.audit disable trigger all; create table public.kept as table helio.audit; " + change +
                              "; alter table helio.audit enable trigger all")
    restore = "alter table helio.audit disable trigger all; delete from helio.audit; insert into helio.audit select * from public.kept; " \
              "drop table public.kept; alter table helio.audit enable trigger all"
    again = "do $$declare a record; before bytea := '\\x" + "00" * 32 + "'; begin for a in select * from helio.audit order by audit_id loop " \
            "before := helio.audit_hash(before, a.audit_id, a.at, a.actor, a.action, a.object, a.detail); update helio.audit set hash = before, " \
            "prev_hash = lag from (select coalesce((select hash from helio.audit b where b.audit_id = a.audit_id - 1), prev_hash) as lag " \
            "from helio.audit where audit_id = a.audit_id) l where audit_id = a.audit_id; end loop; end$$"
    change = "update helio.audit set detail = 'nothing' where audit_id = 2"
    for attempt, alone, anchored in ((change, 1, 1), ("delete from helio.audit where audit_id = 3", 1, 1),
                                     ("delete from helio.audit where audit_id > (select max(audit_id) - 2 from public.kept)", 0, 1),
                                     ("delete from helio.audit", 0, 1), (change + "; " + again, 0, 1)):
        check(world.federation.sql(without(attempt)) is not None, f"not carried out: {attempt}")
        found = helio("verify").returncode, helio("verify", "--anchor", anchor).returncode
        check(found == (alone, anchored), f"verify, without and with an anchor, exits with {found} after: {attempt}")
        world.federation.sql(restore)
    check(helio("verify", "--anchor", anchor).returncode == 0, "the audit is not as it was")
    return 6


def others_objects(world):
    """Every way that there is to name a job of another tenant, or the tenant itself."""
    eve, count = world.eve.token, 0
    before = world.changes()
    for job in (world.job, world.ran):
        none = "0" * len(job)
        for name, unknown in ((job, none), (job[:8], none[:8]), (job[-8:], none[-8:]), (job + ".0", none + ".0"),
                              (job.upper(), none), (job + "%2e0", none + ".0")):
            for method, rest, body in (("GET", "", None), ("GET", "/explain", None), ("GET", "/attempts", None),
                                       ("GET", "/plan", None), ("GET", "/logs", None),
                                       ("GET", "/logs?follow=true", None), ("GET", "/logs?epoch=1", None), ("DELETE", "", None),
                                       ("PATCH", "", {"priority": 1})):
                status, said = world.ask(method, f"/v1/jobs/{name}{rest}", eve, body)
                like, same = world.ask(method, f"/v1/jobs/{unknown}{rest}", eve, body)
                plain = lambda text, word: json.dumps(text).lower().replace(word.lower(), "JOB").replace(word.lower().replace("%2e", "."), "JOB")
                check(status == like and status in (400, 404) and plain(said, name) == plain(same, unknown),
                      f"{method} {name}{rest} of another tenant: {status} {said}; one that there is not: {like} {same}")
                count += 1
        for condition in ("after_ok", "after_any", "after_not_ok", "after_start", "after_task"):
            more = {"array": "0-1"} if condition == "after_task" else {}
            status, said = world.ask("POST", "/v1/jobs", eve, {"run": "true", "depends": {condition: [job]}, **more})
            check(400 <= status < 500, f"a job depends on another tenant's: {status} {said}")
            count += 1
    for path in ("/v1/jobs?tenant=acme", "/v1/jobs?name=acme-secret", "/v1/jobs?limit=1000", "/v1/report?days=400", "/v1/history", "/v1/quotas",
                 "/v1/data", "/v1/overflows", "/v1/queues", "/v1/balance", "/v1/gpus", "/v1/sites", "/v1/links",
                 "/v1/jobs?state=succeeded,queued&limit=1000"):
        status, said = world.ask("GET", path, eve)
        text = json.dumps(said)
        check(status in (200, 403) and "acme-" not in text and world.job not in text and world.ran not in text,
              f"{path} tells another tenant: {status} {text[:600]}")
        count += 1
    check(world.changes() == before, "a stranger changed something")
    return count


def same_key(world):
    """One idempotency key of two tenants means two jobs."""
    doc = {"run": "true", "name": "acme-secret", "gpu": "H100:1", "placement": {"not_before": LATER}}
    said = [world.ask("POST", "/v1/jobs", token, doc, "Idempotency-Key: shared-key\r\n")
            for token in (world.ada.token, world.eve.token, world.ada.token)]
    ids = [re.findall(r'"(?:job_)?id": "([0-9a-z]{26})"', json.dumps(text)) for _, text in said]
    check(ids[0] == ids[2] and ids[0] != ids[1] and said[1][0] == 201, f"one key of two tenants: {said}")
    return 3


def events(world):
    """A stream tells of its tenant's jobs, from the oldest event on, and the operator's of all."""
    for caller, hears in ((world.ada, True), (world.eve, False)) + tuple((c, True) for c in world.callers if c.column == "operator"):
        _, _, got = world.door.raw("GET", "/v1/events", caller.token, None, "Last-Event-ID: 0\r\n", wait_s=0.5)
        check((world.ran.encode() in got) == hears, f"the events of {caller.name}: {got[-500:]}")
    return 3


def attack(federation, door, _seed):
    world = World(federation, door)
    yield "matrix of access", lambda: matrix(world)
    yield "objects of another tenant", lambda: others_objects(world)
    yield "one idempotency key of two tenants", lambda: same_key(world)
    yield "streams of events", lambda: events(world)
    yield "tampering with the audit", lambda: audit(world)
