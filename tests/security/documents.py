"""Hostile job files, generated from a seed: sizes, depths, texts that are no UTF-8, tags and anchors of YAML,
numbers at the edges, paths, shell metacharacters, names of the environment, keys twice. Each is taken or refused as a whole, with an
answer; what is stored is what was sent."""
import hashlib, json, random, subprocess

from door import check

JOBS = 500
LATER = "2030-01-01T00:00:00Z"
ANSWERS = (200, 201, 400, 409, 413, 415, 422)
EXITS = (0, 1, 2, 3, 5, 6)  # of helio: refused here or by the broker; a signal is negative, 125 its own failure
YAML, JSON, LINES = "application/yaml", "application/json", "application/x-ndjson"
TEXTS = ["", " ", "~", "null", "../../etc/passwd", "/etc/passwd", "..", "a/../../b", "$(id)", "`id`", "; rm -rf /", "| id", "&& id", "'\"", "\\", "%s%n",
         "{{7*7}}", "\u202etxt.exe", "\u2066x\u2069", "\u200b", "\ufeff", "\u0085", "\u2028", "a\u0301" * 40, "\x1b[2J", "\x07", "\x7f", "\x9b31m", "x" * 70,
         "x" * 5000, "-rf", "--help", "@file", "*", "?", "~root", "\r\n", "a\nb: c", "a\0b", "<script>", "' or 1=1 --", "\U0001f4a9", "\u00df", "NaN"]
NUMBERS = ["0", "-0", "-1", "1e309", "-1e309", "9223372036854775807", "9223372036854775808", "18446744073709551616", "4294967296", "2147483648",
           "1.5", "1e1", ".inf", "-.inf", ".nan", "0x10", "0o17", "017", "1_000", "1:30", "+1", "1e-400", "0.1e1", "00", "- 1", "1" * 400]
KEYS = ["nodes", "cpus", "retries", "memory", "time", "gpu", "name", "queue", "home", "image", "array", "kind", "sharing", "interconnect"]
NAMES = ["LD_PRELOAD", "PATH", "IFS", "BASH_ENV", "HELIO_JOB_ID", "helio_x", "A=B", "", "A B", "1A", "A\nB", "A\0B", "É", "BASH_FUNC_ls%%", "x" * 300, "-e", "_"]


def document(rng):
    """(a word that tells its kind, bytes, media type)."""
    base = {"run": "true", "gpu": "H100:1", "placement": {"not_before": LATER}}
    plain = f"run: 'true'\ngpu: H100:1\nplacement: {{not_before: {LATER}}}\n"
    text = lambda doc: json.dumps(doc, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    word, key = rng.choice(TEXTS), rng.choice(KEYS)

    def size():
        wanted = 262144 + rng.choice((-1, 0, 1, 4096, 1 << 20))
        return plain.encode() + b"#" * (wanted - len(plain)), YAML

    def depth():
        depth = rng.choice((8, 60, 200, 5000, 100000))
        opening, closing = rng.choice((("[", "]"), ("{a: ", "}"), ("{\"a\": [", "]}")))
        return f"{plain}env: {opening * depth}1{closing * depth}\n".encode(), YAML

    def bytes_of_no_text():
        odd = rng.choice((b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\0", b"\xef\xbf\xbe"))
        whole = plain.encode() + b"name: abc\n"
        at = rng.randrange(len(whole))
        return whole[:at] + odd + whole[at:], rng.choice((YAML, JSON))

    def encodings():
        return (plain.encode(rng.choice(("utf-16", "utf-32", "utf-16-le", "utf-8-sig"))), YAML)

    def tags():
        tag = rng.choice(("!!python/object/apply:os.system", "!!binary", "!!int", "!!str", "!!set", "!local", "!<tag:x>", "!!merge", "!!null", "%TAG"))
        return f"{plain}{key}: {tag} {word or 'x'}\n".encode(), YAML

    def anchors():
        return rng.choice((
            plain + "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)),
            plain + "env: &e {A: *e}\n", plain + "name: *nothing\n", "&x run: *x\n", plain + "<<: {run: id}\n", "a: &a {run: id}\n<<: *a\n",
            "".join(f"e{i}: &a{i} x\n" for i in range(2000)) + plain)).encode(), YAML

    def numbers():
        return f"{plain}{key}: {rng.choice(NUMBERS)}\n".encode(), rng.choice((YAML, YAML, JSON))

    def numbers_json():
        return (text(base)[:-1] + f', "{key}": {rng.choice(NUMBERS)}}}'.encode()), rng.choice((JSON, LINES))

    def texts():
        return text({**base, key: word}), rng.choice((JSON, YAML, LINES))

    def inner_texts():
        return text({**base, **rng.choice(({"env": {"A": word}}, {"data": [{"uri": "s3://" + word}]}, {"slurm": {"account": word}}, {"secrets": [word]},
                    {"depends": {"after_ok": [word]}}, {"checkpoint": {"signal": word}}, {"placement": {"sites": [word]}}, {"placement": {"goal": word}},
                    {"run": word}, {word: 1}, {"env": [word]}, {"placement": word}))}), rng.choice((JSON, YAML))

    def environment():
        return text({**base, "env": {rng.choice(NAMES): "x", rng.choice(NAMES): word}}), rng.choice((JSON, YAML))

    def twice():
        return rng.choice((plain + "run: id\n", '{"run": "true", "run": "id"}', plain + "env: {A: 1, A: 2}\n", '{"jobs": [], "jobs": [{"run": "id"}]}',
                           '{"run": "true", "\\u0072un": "id"}')).encode(), YAML

    def many():
        good, bad = json.dumps(base), json.dumps({**base, "nodes": -1})
        jobs = [good] * rng.randrange(1, 20)
        if rng.random() < 0.7:
            jobs.insert(rng.randrange(len(jobs) + 1), bad)
        return rng.choice((("\n".join(jobs).encode(), LINES), ('{"jobs": [' + ", ".join(jobs) + "]}", JSON), ("\n---\n".join(jobs), YAML)))

    def broken():
        whole = bytearray(rng.choice((text(base), plain.encode())))
        for _ in range(rng.randrange(1, 6)):
            whole[rng.randrange(len(whole))] = rng.randrange(256)
        return bytes(whole[:rng.randrange(1, len(whole) + 1)]), rng.choice((YAML, JSON, LINES))

    kind = rng.choice((size, depth, bytes_of_no_text, encodings, tags, anchors, numbers, numbers_json, texts, inner_texts, inner_texts, environment, twice, many,
                       broken, broken))
    body, media = kind()
    return kind.__name__, body if isinstance(body, bytes) else body.encode(), media


def stored(federation):
    return int(federation.sql("select count(*) from helio.jobs")[0][0])


def over_http(federation, door, docs):
    taken, outcomes, alone = 0, {}, set()
    before = stored(federation)
    for kind, body, media in docs:
        status, said = door.ask("POST", "/v1/jobs", door.token, body, f"Content-Type: {media}\r\n")
        check(status in ANSWERS, f"a document ({kind}) gets {status}: {body[:300]!r}: {said}")
        taken += len(said["jobs"]) if status == 201 else 0
        if status == 201 and len(said["jobs"]) == 1 and media in (YAML, JSON) and kind != "many":
            alone.add(hashlib.md5(body).hexdigest())
        outcomes[status] = outcomes.get(status, 0) + 1
    check(stored(federation) == before + taken, f"{taken} jobs were accepted, and {stored(federation) - before} are stored")
    check(outcomes.get(201, 0) > len(docs) // 20 and outcomes.get(400, 0) > len(docs) // 3, f"the documents are not a mixture: {outcomes}")
    kept = {row[0] for row in federation.sql("select md5(source) from helio.jobs")}
    check(alone and alone <= kept, f"of {len(alone)} accepted documents, {len(alone - kept)} are not stored byte for byte")
    door.others("after hostile documents")
    return len(docs)


def by_client(federation, docs):
    before, taken = stored(federation), 0
    for kind, body, _ in docs:
        done = subprocess.run([federation.tool("helio"), "submit", "-", "-o", "name"], env=federation.env, input=body, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        check(done.returncode in EXITS, f"helio submit of a document ({kind}) ends with {done.returncode}: {body[:300]!r}: {done.stderr[-300:]}")
        check(done.returncode == 0 or done.stderr, f"helio submit refuses a document ({kind}) without a word: {body[:300]!r}")
        taken += len(done.stdout.split()) if done.returncode == 0 else 0
    check(stored(federation) == before + taken, f"{taken} jobs were accepted from the client, and {stored(federation) - before} are stored")
    return len(docs)


def attack(federation, door, seed):
    rng = random.Random(seed)
    docs = [document(rng) for _ in range(JOBS)]
    yield "job documents over HTTP", lambda: over_http(federation, door, docs)
    yield "job documents by helio submit", lambda: by_client(federation, docs[::4])
