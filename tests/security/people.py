"""Attacks on the people's door through raw sockets: heads that can be read in two ways, generated from a few parts; connections
without an end; guesses of tokens; streams and reads that would take everything. After each attack other
clients are still served at once. What the unit tests of the door show in a harness holds here for the whole program."""
import itertools, json, random, re, threading, time

from door import OTHERS_S, check
from federation import run

ENDLESS_ROUNDS, ENDLESS_EACH, ENDLESS_PIECES = 6, 48, 80  # bodies of 5 MB each: more than all large ones may have
ENDLESS_MIB = 96  # by which the broker may have grown after them
LISTS, BESIDE = 8, 3  # it waits for one; the answers of those before and after it can arrive meanwhile


def heads(door, seed):
    """Every way to announce a body twice, and control bytes at random places of otherwise good heads."""
    body = b"{}"
    length = [b"Content-Length: 2", b"Content-Length: 02", b"Content-Length: 1", b"Content-Length:\t2", b"content-length: 2"]
    odd = [b"Content-Length: 2, 2", b"Content-Length: +2", b"Content-Length: 0x2", b"Content-Length: 2 2", b"Content-Length: ",
           b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding: xchunked",
           b"Transfer-Encoding: chunked, identity"]
    chunked = [b"Transfer-Encoding: chunked", b"transfer-encoding: CHUNKED"]
    pairs = list(itertools.product(length, length)) + list(itertools.product(length, chunked)) + \
        list(itertools.product(chunked, length)) + list(itertools.product(chunked, chunked)) + [(line,) for line in odd]
    bearer = f"Authorization: Bearer {door.token}".encode()
    cases = [b"\r\n".join([b"POST /v1/plans HTTP/1.1", b"Host: a", bearer, *lines, b"", b""]) + body for lines in pairs]
    rng = random.Random(seed)
    good = b"GET /v1/whoami HTTP/1.1\r\nHost: a\r\n" + bearer + b"\r\nX-A: some text\r\nX-B: more\r\n\r\n"
    # a NUL right before the end of the head changes no text, and the library hides it
    names = [i for i in range(len(good) - 5) if good[i:i + 1].isalnum() and i > 5]
    for byte in (b"\0", b"\1", b"\x0b", b"\x1b", b"\x1f"):
        for at in rng.sample(names, 12):
            cases.append(good[:at] + byte + good[at + 1:])
    for case in cases:
        status, closed, got = door.send(case)
        # the library's own refusals repeat their head; what matters is that no part of the bytes was served
        refused = all(int(code) >= 400 for code in re.findall(rb"HTTP/1\.1 (\d+)", got))
        check(refused and closed, f"{case!r} gets {status}, and its connection {'ends' if closed else 'stays open'}: {got[:300]!r}")
    door.others("after malformed heads")
    return len(cases)


def half_open(door):
    """Connections that send a byte now and then end by their deadline, and more of them than there are places do no harm."""
    slow = []
    for i in range(300):
        connection = door.connect()
        connection.sendall(b"GET /v1/whoami HTTP/1.1\r\nX-" if i % 2 else b"")
        slow.append(connection)
    began = time.monotonic()
    while time.monotonic() - began < 12:
        for connection in slow:
            try:
                connection.send(b"a")
            except OSError:
                pass
        door.others("beside half-open connections")
        time.sleep(0.5)
    alive = 0
    for connection in slow:
        connection.settimeout(1)
        try:
            alive += connection.recv(1) != b""
        except ConnectionError:
            pass
        except TimeoutError:
            alive += 1
        connection.close()
    check(alive == 0, f"{alive} of {len(slow)} connections without a whole request are open after 12 s")
    crowd = []
    for _ in range(500):
        try:
            crowd.append(door.connect())
        except OSError:
            break
    door.others("beside a crowd of silent connections")
    for connection in crowd:
        connection.close()
    return len(slow) + len(crowd)


def guesses(door, federation):
    """A flood of wrong tokens is limited and logged, reveals no difference between them, and locks out no valid caller."""
    answers, words = {}, ("", "hel_aaaaaaaaaaaa_" + "b" * 32, door.token[:-1] + ("a" if door.token[-1] != "a" else "b"), "x" * 3000)
    for i in range(200):
        status, closed, got = door.get("/v1/whoami", words[i % len(words)])
        answers[status] = answers.get(status, 0) + 1
        check(door.token.encode() not in got, "an answer contains the token")
        check(status in (401, 429), f"a wrong token gets {status}")
    check(answers.get(429, 0) > 100, f"guesses are not limited: {answers}")
    door.others("beside guesses of tokens")
    federation.wait_for(lambda: "tokens_refused" in federation.log("broker"), 5, "guesses of tokens are not in the log")
    check(door.token.split("_")[2] not in federation.log("broker"), "the log contains a token's secret")
    status, _, _ = door.get("/metrics", "")
    check(status in (401, 429), f"/metrics without a token gets {status}")
    check(b"helio_http_tokens_limited_total" in door.get("/metrics")[2], "/metrics does not count guesses")
    return 200


def streams(door, other):
    """One user's streams end at their bound, and leave room for others'."""
    held, refused = [], 0
    for _ in range(100):
        connection = door.connect()
        connection.sendall(f"GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {door.token}\r\n\r\n".encode())
        head = connection.recv(4096)
        refused += head.startswith(b"HTTP/1.1 429")
        held.append(connection)
    check(refused == 100 - 64, f"{refused} of 100 streams of one user are refused")
    with door.connect() as connection:
        connection.sendall(f"GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {other}\r\n\r\n".encode())
        head = connection.recv(4096)
        check(head.startswith(b"HTTP/1.1 200"), f"another user's stream is refused: {head[:200]!r}")
    for connection in held:
        connection.close()
    return 101


def reads(door, other):
    """Lists and reports of one tenant, many at once, do not delay what another asks."""
    done = threading.Event()

    def greedy():
        while not done.is_set():
            door.get("/v1/report?days=365")
            door.get("/v1/jobs?limit=1000")

    threads = [threading.Thread(target=greedy, daemon=True) for _ in range(24)]
    for thread in threads:
        thread.start()
    began, count = time.monotonic(), 0
    while time.monotonic() - began < 4:
        asked = time.monotonic()
        status, _, _ = door.get("/v1/jobs/000000", other)
        check(status in (404, 409), f"a job that there is not gets {status}")
        check(time.monotonic() - asked < OTHERS_S, "beside 24 greedy readers, a small read of another tenant takes too long")
        count += 1
    done.set()
    for thread in threads:
        thread.join()
    return count


def resident_mib(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024


def documents(count, blanks=0):
    """A body of so many jobs that start in years, with blanks in each."""
    return "".join(json.dumps({"name": f"list-{i}", "run": "true", "placement": {"not_before": "2030-01-01T00:00:00Z"}}).replace(" ", " " + " " * blanks, 1)
                   + "\n" for i in range(count)).encode()


def settled(federation, metric):
    """Waits until a figure is the same twice, a second apart."""
    seen = [None]

    def same():
        time.sleep(1)
        seen.append(federation.metric(metric))
        return seen[-1] == seen[-2]

    federation.wait_for(same, 60, f"{metric} does not settle")


def first_request(door, federation):
    """A token that was put into the database beside the leader is good at once, however large the body of its first request is."""
    body, lines = documents(200, 1000), "Content-Type: application/x-ndjson\r\n"
    for i in range(3):
        added = run(federation.tool("helio-broker"), "token", "add", "--tenant", "acme", "--user", f"new-{i}", "--role", "user",
                    "--config", federation.path("broker.yaml"))
        status, _, got = door.raw("POST", "/v1/jobs", re.search(r"hel_\w+", added).group(), body, lines, wait_s=10)
        check(status == 201, f"the first request of a new token, with {len(body)} bytes, gets {status}: {got[-300:]}")
    return 3


def endless_bodies(door, federation, other):
    """Large bodies that do not end: whoever sends them leaves room for others' large ones, and their memory is given back."""
    broker, bodies = federation.procs["broker"].pid, 0
    body, lines = documents(1000, 10000), "Content-Type: application/x-ndjson\r\n"
    piece = b"#" * 65000
    door.raw("POST", "/v1/jobs", other, body, lines, wait_s=20)  # all threads, and what they keep
    before = resident_mib(broker)
    for _ in range(ENDLESS_ROUNDS):
        held = [door.connect(f"127.8.0.{i + 1}") for i in range(ENDLESS_EACH)]
        for connection in held:
            connection.settimeout(5)
            connection.sendall(f"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {door.token}\r\nContent-Type: application/yaml\r\n"
                               f"Content-Length: {16 << 20}\r\n\r\n".encode())
        for _ in range(ENDLESS_PIECES):
            for connection in held:
                try:
                    connection.sendall(piece)
                except OSError:
                    pass  # refused: the tenant has enough
        if not bodies:
            settled(federation, "helio_http_body_bytes")  # all that was sent is read
            status, _, got = door.raw("POST", "/v1/jobs", other, body, lines, wait_s=20)
            check(status == 201, f"beside {len(held)} endless bodies of another tenant, a body of {len(body)} bytes gets {status}: {got[-300:]}")
        for connection in held:
            connection.close()
        bodies += len(held)
    federation.wait_for(lambda: federation.metric("helio_http_body_bytes") == 0, 60, "memory of bodies is not given back")
    grown = resident_mib(broker) - before
    print(f"{bodies} aborted bodies: {grown:.0f} MiB more than the {before:.0f} before", flush=True)
    check(grown < ENDLESS_MIB, f"the broker keeps {grown:.0f} MiB after {bodies} bodies that did not end")
    return bodies


def long_lists(door, other):
    """Between lists of ten thousand jobs, what is small gets through."""
    body, lines, answers, times = documents(10000), "Content-Type: application/x-ndjson\r\n", [], {"/v1/jobs": [], "/metrics": []}
    beside = 0  # how many lists were answered within one small request, at most
    lists = [threading.Thread(target=lambda: answers.append(door.raw("POST", "/v1/jobs", other, body, lines, wait_s=60)[0])) for _ in range(LISTS)]
    for thread in lists:
        thread.start()
    while any(thread.is_alive() for thread in lists):
        for path, taken in times.items():
            began, before = time.monotonic(), len(answers)
            status, _, got = door.get(path) if path == "/metrics" else door.raw("POST", path, door.token, documents(1), lines, wait_s=60)
            check(status in (200, 201), f"{path} beside long lists gets {status}: {got[-300:]}")
            taken.append(time.monotonic() - began)
            beside = max(beside, len(answers) - before)
    said = ", ".join(f"{len(taken)} {path}: mean {sum(taken) / len(taken):.2f} s, most {max(taken):.2f} s" for path, taken in times.items())
    print(f"beside {LISTS} lists, {beside} within one of these at most: {said}", flush=True)
    check(answers == [201] * LISTS, f"lists of 10,000 jobs get {answers}")
    check(beside <= BESIDE, f"something small waited for {beside} lists of 10,000 jobs")
    return LISTS


def disk_full(door, federation):
    """A database without room is an answer within a second, and what was sent before is neither lost nor done twice."""
    federation.sql("create function public.full_disk() returns trigger language plpgsql as "
                   "$$begin raise 'no space left on device' using errcode = '53100'; end$$")
    federation.sql("create trigger full_disk before insert on helio.jobs for each row execute function public.full_disk()")

    def submit(key):
        body = json.dumps({"run": "true"})
        return door.send(f"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {door.token}\r\nIdempotency-Key: {key}\r\n"
                         f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())

    def refused():
        began = time.monotonic()
        status, _, got = submit("later")
        return status == 503 and b"DatabaseFull" in got and time.monotonic() - began < 1.5

    before = int(federation.sql("select count(*) from helio.jobs")[0][0])
    first = submit("first")[0]  # in the batch: it is not known yet
    check(first in (0, 504), f"a submission in the batch that is refused gets {first}")
    federation.wait_for(refused, 10, "a submission is not refused at once")
    federation.sql("drop trigger full_disk on helio.jobs")
    federation.wait_for(lambda: submit("later")[0] == 201, 20, "submissions are not taken again")
    check(submit("first")[0] == 200 or submit("first")[0] == 201, "the first submission cannot be asked for again")
    check(federation.sql("select count(*) from helio.jobs") == [[str(before + 2)]], "two submissions are not two jobs")
    return 4


def attack(federation, door, seed):
    federation.helio("tenants", "set", "other")
    other = federation.helio("token", "add", "--tenant", "other", "--user", "ada").stdout.split()[-1]
    federation.wait_for(lambda: door.get("/v1/whoami", other)[0] == 200, 20, "the second tenant's token is not taken")
    submitter = door.token_of("acme", "submitter")  # of a tenant that the site knows
    yield "heads", lambda: heads(door, seed)
    yield "half-open", lambda: half_open(door)
    yield "guesses", lambda: guesses(door, federation)
    yield "streams", lambda: streams(door, other)
    yield "reads", lambda: reads(door, other)
    yield "first requests", lambda: first_request(door, federation)
    yield "endless bodies", lambda: endless_bodies(door, federation, submitter)
    yield "long lists", lambda: long_lists(door, submitter)
    yield "disk full", lambda: disk_full(door, federation)
