"""The recordings of a real API server: what was asked, what it answered, and how two answers are compared."""
import json, os, re, shlex
from urllib.parse import parse_qsl, urlencode, urlsplit

HUGE = b'{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"huge"},"spec":{"x":"' + b"a" * 3200000 + b'"}}'
RANDOM = "[bcdfghjklmnpqrstvwxz2456789]{5}"
VARYING = [  # what differs between any two runs, in any string
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"\b(job-kj-[a-z]+)-[0-9a-f]{5}\b"), r"\1-HASH"),
    (re.compile(rf"\b(job-[a-z]+|kj-[a-z]+|n1|h1)-{RANDOM}\b"), r"\1-RANDOM"),
    (re.compile(r"\.[0-9a-f]{14,16}$"), ".HASH"),
    (re.compile(r"too old resource version: \d+ \(\d+\)"), "too old resource version: N (N)"),
    (re.compile(r"current: \d+$"), "current: N"),
    (re.compile(r"default-scheduler-\w+"), "default-scheduler-HOST"),
    (re.compile(r"Invalid value: core\.PodTemplateSpec\{.*\}: field is immutable"), "Invalid value: TEMPLATE: field is immutable"),
]
OPAQUE = {"resourceVersion": "VERSION", "continue": "TOKEN", "accumulatedPastExexcutionTimeSeconds": "SECONDS"}
# What was asked where no command was kept.
UNSAID = 'curl -H "Accept: application/json" -X GET "$API/apis/batch/v1/namespaces/fgpu/jobs"'
SAID = ("content-type", "warning", "retry-after", "x-content-type-options")


class Case:
    """One recorded request and its answer."""

    def __init__(self, folder, name, command):
        words = shlex.split(command)
        self.folder, self.name = folder, name
        self.method, self.headers, self.body, url = "GET", {}, b"", ""
        position = 0
        while position < len(words):
            word, value = words[position], words[position + 1] if position + 1 < len(words) else ""
            if word == "-X":
                self.method = value
            elif word == "-H":
                header, _, text = value.partition(":")
                self.headers[header] = text.strip()
            elif word in ("-d", "--data-binary"):
                self.body = self.data(value)
            elif word.startswith("$API"):
                url = word
            position += 2 if word in ("-X", "-H", "-d", "--data-binary", "--cacert", "--cert", "--key", "-m") else 1
        self.headers = {key: value for key, value in self.headers.items() if key != "Authorization" and value}
        parts = urlsplit(url.removeprefix("$API"))
        self.path, self.query = parts.path, dict(parse_qsl(parts.query, keep_blank_values=True))

    def data(self, value):
        if not value.startswith("@"):
            return value.encode()
        path = os.path.join(self.folder, os.path.basename(value))
        if not os.path.exists(path):
            return HUGE
        with open(path, "rb") as file:
            return file.read()

    @property
    def url(self):
        return self.path + ("?" + urlencode(self.query) if self.query else "")

    def answer(self):
        """(status, headers, body) as they were recorded."""
        with open(os.path.join(self.folder, self.name + ".headers"), encoding="utf-8") as file:
            status, *lines = file.read().strip().splitlines()
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        with open(os.path.join(self.folder, self.name + ".body"), "rb") as file:
            return int(status.split()[1]), headers, file.read()


def cases(folder):
    """name -> Case, in the order of the session; the first of several with one name."""
    found, name = {}, None
    with open(os.path.join(folder, "COMMANDS.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("# "):
                name = line[2:].strip()
            elif line.startswith("curl ") and name not in found:
                found[name] = Case(folder, name, line)
    return {name: found.get(name) or Case(folder, name, UNSAID) for name in names(folder)}


def names(folder):
    """The order of the session; an answer that the index lacks has its place by its number."""
    with open(os.path.join(folder, "INDEX.tsv"), encoding="utf-8") as file:
        order = [line.split("\t")[0] for line in file][1:]
    for name in sorted(file.removesuffix(".headers") for file in os.listdir(folder) if file.endswith(".headers")):
        if name not in order:
            order.insert(next((at for at, other in enumerate(order) if other > name), len(order)), name)
    return order


def normal(value, name=None):
    """A document without what differs between any two runs. The double keeps no managedFields."""
    if isinstance(value, dict):
        return {key: normal(one, key) for key, one in value.items() if key != "managedFields"}
    if isinstance(value, list):
        listed = [normal(one) for one in value]
        return sorted(listed, key=lambda one: one["type"]) if name == "conditions" and all("observedGeneration" in one for one in listed) else listed
    if name in OPAQUE and value:
        return OPAQUE[name]
    if isinstance(value, str):
        for pattern, replacement in VARYING:
            value = pattern.sub(replacement, value)
    return value


def normal_body(body):
    """A document, the documents of a stream, or text."""
    try:
        return normal(json.loads(body))
    except ValueError:
        pass
    try:
        return [normal(json.loads(line)) for line in body.splitlines()] if body.startswith(b"{") else normal(body.decode())
    except ValueError:
        return normal(body.decode())


def said(headers):
    return {name: headers[name] for name in SAID if name in headers}


def differences(wanted, found, path=""):
    """Where two documents differ, a line each."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        lines = []
        for key in sorted(set(wanted) | set(found)):
            below = f"{path}/{key}"
            if key not in found:
                lines.append(f"{below}: not there, but recorded as {json.dumps(wanted[key])[:200]}")
            elif key not in wanted:
                lines.append(f"{below}: {json.dumps(found[key])[:200]}, but not recorded")
            else:
                lines += differences(wanted[key], found[key], below)
        return lines
    if isinstance(wanted, list) and isinstance(found, list):
        lines = [f"{path}: {len(found)} entries, recorded {len(wanted)}"] if len(wanted) != len(found) else []
        for index, (one, other) in enumerate(zip(wanted, found)):
            lines += differences(one, other, f"{path}[{index}]")
        return lines
    return [] if wanted == found and isinstance(wanted, bool) == isinstance(found, bool) else [f"{path}: {json.dumps(found)[:300]}, recorded {json.dumps(wanted)[:300]}"]


def events_by_object(body):
    """A watch's stream as object -> [(type, document)]; an unfinished last line is dropped, repeated bookmarks are one."""
    found = {}
    for line in body.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue  # the size of a chunk, in a recording of the raw stream
        name = event["object"].get("metadata", {}).get("name", event["type"])
        document = normal(event)
        name = normal(name)
        if event["type"] != "BOOKMARK" or document not in found.get(name, []):
            found.setdefault(name, []).append(document)
    return found
