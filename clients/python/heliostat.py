# SPDX-License-Identifier: Apache-2.0
"""Submit GPU jobs to a Heliostat federation and follow them, from Python 3.9 or later, with the standard library alone.

    import heliostat

    client = heliostat.Client()                      # broker and token: those of `helio`
    job = client.submit({"name": "train", "gpu": "H100:8", "time": "6h", "run": "python3 train.py"})
    for piece in client.logs(job.id, follow=True):   # bytes, across all attempts
        sys.stdout.buffer.write(piece)
    print(client.wait(job.id)["state"])              # "succeeded"

Answers are dictionaries as the API describes them (docs/openapi.yaml): times are RFC 3339 in UTC, money is USD, energy is
kWh, emissions are grams of CO2e, and durations are seconds; each name ends with its unit. Arguments are in seconds, too.

Every error is a `HeliostatError`. What the broker refuses is a `Problem` with `code`, `detail` and `remedy`, and a
subclass for each kind. Requests that are safe to repeat are repeated with growing waits while no broker answers: those
that read or set something, and submissions, whose idempotency key this module makes. The others are repeated only if
nothing of them was sent, or if the broker says that it is busy (429). Otherwise `OutcomeUnknown` says that they may have
been carried out.

A client can be shared by threads: each request has a connection of its own. Proxies in environment variables are not used.
"""
from __future__ import annotations

import errno
import http.client
import json
import os
import queue
import random
import re
import socket
import ssl
import stat
import threading
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, TypedDict, Union, cast

__version__ = "0.1.0"
__all__ = [
    "Ambiguous", "Busy", "Client", "Conflict", "Event", "Forbidden", "HeliostatError", "Infeasible", "Invalid", "Job", "JobFailed",
    "NotFound", "OutcomeUnknown", "Problem", "Settings", "SettingsError", "Submission", "TimedOut", "TooBig", "TERMINAL",
    "Unauthenticated", "Unavailable", "Unreachable", "WaitTimeout", "load_settings",
]

JsonObject = Dict[str, Any]
JobSource = Union[Mapping[str, Any], Sequence[Mapping[str, Any]], str, "os.PathLike[str]"]

TERMINAL = frozenset(("succeeded", "failed", "timeout", "cancelled", "lost"))
"""The states in which a job has ended."""

_FIRST_WAIT_S = 0.25  # doubled by each further attempt
_LONGEST_WAIT_S = 4.0
_RETRY_AFTER_MOST_S = 30.0
_LEAST_ATTEMPTS = 3
_STREAM_SILENCE_S = 45.0  # the broker sends a comment every 15 s
_LOG_SILENCE_S = 60.0  # after which a log without a new byte is asked for anew
_POLL_S = 2.0  # without a stream of events
_POLL_BESIDE_STREAM_S = 60.0
_ARRAY_PAUSE_S = 1.0  # a large array sends thousands of events
_BODY_MOST = 64 << 20
_BROKERS_MOST = 8
_TRANSIENT = frozenset((429, 502, 503, 504))


# ---- errors ---------------------------------------------------------------------------------------------------------


class HeliostatError(Exception):
    """Anything that this module raises by itself."""

    remedy: str = ""
    """What to do about it; "" if nothing is known."""

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text} ({self.remedy})" if self.remedy else text


class SettingsError(HeliostatError):
    """No broker is set, or a settings file or a token file cannot be used."""

    def __init__(self, text: str, remedy: str = "") -> None:
        super().__init__(text)
        self.remedy = remedy


class Unreachable(HeliostatError):
    """No broker could be reached, its certificate is not trusted, or its answer broke off. If the request changes
    something, nothing of it was sent."""

    remedy = "check that the broker runs there (`helio doctor`)"


class TimedOut(Unreachable):
    """The answer did not arrive within the time-out of a request."""

    remedy = "raise `timeout`, which is in seconds"


class OutcomeUnknown(HeliostatError):
    """The request was sent, and its answer was lost: it may have been carried out. It was not repeated."""

    remedy = "look at the object before you repeat the request"


class WaitTimeout(HeliostatError):
    """The jobs had not ended when the time was over. The jobs are not affected."""


class JobFailed(HeliostatError):
    """The job has ended in another state than `succeeded`. `job` is its last answer."""

    def __init__(self, job: "Job") -> None:
        code = job.get("exit_code")
        super().__init__(f"job {job['id']} has ended: {job['state']}" + (f", exit code {code}" if code is not None else ""))
        self.job = job


class Problem(HeliostatError):
    """The broker refuses the request (RFC 9457).

    status:      the HTTP status
    reason:      the class, such as `NotFound`, on which programs can branch
    code:        the first code of `details`, such as `JobHasEnded` (docs/reference/reasons.md lists them); "" if there is none
    detail:      a sentence for people
    details:     codes with their parameters
    remedy:      what to do about it; "" if nothing is known
    errors:      of a job file: all its errors, each with message, code, and perhaps line, column, path and hint
    diagnostic:  of a job file: the same as text, with source lines and carets
    retry_after: seconds after which to try again; None if the broker does not say
    body:        the whole problem
    """

    def __init__(self, status: int, body: JsonObject, retry_after: Optional[float] = None) -> None:
        self.status, self.body, self.retry_after = status, body, retry_after
        self.reason = str(body.get("reason") or http.client.responses.get(status, "Unknown"))
        self.detail = str(body.get("detail") or body.get("title") or f"HTTP status {status}")
        self.details: List[JsonObject] = list(body.get("details") or [])
        self.code = str(self.details[0].get("code", "")) if self.details else ""
        self.errors: List[JsonObject] = list(body.get("errors") or [])
        self.diagnostic = str(body.get("diagnostic") or "")
        super().__init__(self.detail)
        parameters = self.details[0].get("params", {}) if self.details else {}
        self.remedy = str(body.get("hint") or parameters.get("remedy") or type(self).remedy)


class Invalid(Problem):
    """400, 405, 406, 411, 414, 415: the request, or a job file, is not valid."""


class Unauthenticated(Problem):
    """401: there is no token, or it is not valid any more."""

    remedy = "an administrator makes a token with `helio token add`"


class Forbidden(Problem):
    """403: the token's role does not suffice."""


class NotFound(Problem):
    """404: the object does not exist, or belongs to another tenant."""


class Conflict(Problem):
    """409: the object's state does not allow this, or the idempotency key belongs to another document."""


class Ambiguous(Conflict):
    """409: several jobs have this abbreviation. `candidates` are their ids."""

    remedy = "write more of the id"

    def __init__(self, status: int, body: JsonObject, retry_after: Optional[float] = None) -> None:
        super().__init__(status, body, retry_after)
        self.candidates: List[str] = list(body.get("ambiguous") or [])


class TooBig(Problem):
    """413: the document, or their number, is above a bound."""


class Infeasible(Problem):
    """422: no site can ever run the job, or none can meet its deadline. Nothing was stored."""


class Busy(Problem):
    """429: the queue is full, or the tenant asks too much. Nothing was changed."""


class Unavailable(Problem):
    """502, 503, 504 and other failures of the broker."""


def _problem(status: int, body: JsonObject, retry_after: Optional[float]) -> Problem:
    kinds: Dict[int, Type[Problem]] = {401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 413: TooBig, 422: Infeasible, 429: Busy}
    kind = kinds.get(status, Invalid if 400 <= status < 500 else Unavailable)
    if status == 409 and body.get("reason") == "Ambiguous":
        kind = Ambiguous
    return kind(status, body, retry_after)


# ---- answers --------------------------------------------------------------------------------------------------------


class Job(TypedDict, total=False):
    """A job, a task of an array (`ID.INDEX`), or a whole array, which has `tasks_total` and `tasks`. Null values are None."""

    id: str
    name: Optional[str]
    tenant: str
    user: Optional[str]
    queue: str
    priority: int
    kind: Optional[str]
    tier: Optional[str]
    state: str
    site: Optional[str]
    pool: Optional[str]
    home_site: Optional[str]
    epoch: int
    attempts: int
    submitted_at: str
    started_at: Optional[str]
    finished_at: Optional[str]
    exit_code: Optional[int]
    gpus: int
    nodes: int
    gpu_model: Optional[str]
    time_limit_s: Optional[float]
    gpu_seconds: Optional[float]
    cost_usd: Optional[float]
    energy_kwh: Optional[float]
    carbon_g: Optional[float]
    units_done: Optional[float]
    wait_seconds: Optional[float]
    run_seconds: Optional[float]
    saved_seconds: Optional[float]
    reason: Optional[str]
    detail: Optional[str]
    details: Optional[List[JsonObject]]
    expected_start: Optional[str]
    tasks_total: int
    tasks: Dict[str, int]
    edits: Optional[List[JsonObject]]
    history: Optional[List[JsonObject]]


@dataclass(frozen=True)
class Submission:
    """What was stored. `ids`: one for each document, in order. `existed`: whether an earlier request with the same key had stored it.
    `note`: what was accepted but is probably a mistake; "" if there is nothing to note."""

    ids: Tuple[str, ...]
    existed: Tuple[bool, ...]
    note: str
    idempotency_key: str

    @property
    def id(self) -> str:
        """The id of the only job. ValueError: there are several."""
        if len(self.ids) != 1:
            raise ValueError(f"{len(self.ids)} jobs were submitted: use `ids`")
        return self.ids[0]


@dataclass(frozen=True)
class Event:
    """`kind` is `transition`, with the members of a transition in `data`, or `resync`: some events are missing, so read the jobs
    themselves. `id` continues the stream after this event."""

    id: str
    kind: str
    data: JsonObject


# ---- settings -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """Where the broker is and who asks. The token is not part of the text of this object.

    brokers: the URLs of the brokers of one federation; any of them serves every request
    token:   the bearer token; "" for none
    ca_file: certificates to trust in place of the system's; "" for those
    timeout: the longest time that one request may take, in seconds
    """

    brokers: Tuple[str, ...]
    token: str = field(default="", repr=False)
    ca_file: str = ""
    timeout: float = 30.0


@dataclass
class _Layer:
    """One source of settings; "" is absent."""

    source: str
    folder: str = ""
    broker: str = ""
    token: str = ""
    token_file: str = ""
    ca_file: str = ""
    timeout: str = ""
    is_file: bool = False
    is_here: bool = False  # ./.helio.yaml
    is_open: bool = False  # others can read it
    context: str = ""
    contexts: Dict[str, Dict[str, str]] = field(default_factory=dict)


def _scalar(text: str, where: str) -> str:
    """A value of a settings file without its quotes and its comment."""
    text = text.strip()
    if text[:1] in ("'", '"'):
        match = re.match(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""", text)
        if not match:
            raise SettingsError(f"{where}: a quoted text does not end")
        quoted = match.group(1)
        return str(json.loads(quoted)) if quoted[0] == '"' else quoted[1:-1].replace("''", "'")
    text = re.sub(r"(^|\s)#.*$", "", text).strip()
    if text[:1] in ("[", "{", "&", "*", "!", "|", ">", "%", "@", "`"):
        raise SettingsError(f"{where}: only plain and quoted texts are understood here", "write one `key: value` a line")
    return "" if text in ("null", "~") else text


def _pair(text: str, where: str) -> Tuple[str, str]:
    match = re.match(r"([A-Za-z_]+):(?:\s+(.*)|\s*)$", text)
    if not match:
        raise SettingsError(f"{where}: expected `key: value`, found {text.strip()[:40]!r}")
    return match.group(1), match.group(2) or ""


def _flow(text: str, where: str) -> Dict[str, str]:
    """{name: a, broker: b}"""
    inner = re.sub(r"\s+#.*$", "", text).strip()
    if not inner.endswith("}"):
        raise SettingsError(f"{where}: a mapping in braces has to end on its line")
    parts = re.findall(r"""((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,"'])+)""", inner[1:-1])
    pairs = [_pair(part.strip(), where) for part in parts if part.strip()]
    return {key: _scalar(value, where) for key, value in pairs}


def _parse_settings(text: str, path: str) -> Tuple[Dict[str, str], List[Dict[str, str]]]:
    """The keys of a settings file and its contexts: block mappings, and a list of mappings in either style."""
    top: Dict[str, str] = {}
    contexts: List[Dict[str, str]] = []
    in_contexts, indent = False, -1
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        content = line.strip()
        depth = len(line) - len(line.lstrip(" "))
        if not content or content.startswith("#") or content in ("---", "..."):
            continue
        if line[:depth + 1].endswith("\t"):
            raise SettingsError(f"{where}: YAML is not indented by tabs")
        if content.startswith("- ") and in_contexts:
            item = content[2:].strip()
            indent = depth + len(content) - len(content[1:].lstrip())
            contexts.append(_flow(item, where) if item.startswith("{") else {})
            content = "" if item.startswith("{") else item
        elif depth == 0:
            in_contexts = False
            key, value = _pair(content, where)
            in_contexts = key == "contexts"
            if in_contexts and value.strip() not in ("", "[]"):
                raise SettingsError(f"{where}: write one context a line, after `- `")
            if not in_contexts:
                top[key] = _scalar(value, where)
            continue
        elif not in_contexts or not contexts or depth != indent:
            raise SettingsError(f"{where}: this line is indented in a way that is not understood here")
        if content:
            key, value = _pair(content, where)
            contexts[-1][key] = _scalar(value, where)
    return top, contexts


def _read_settings(path: str, is_here: bool = False) -> Optional[_Layer]:
    """A settings file; None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            about = os.fstat(file.fileno())
            text = file.read(1 << 20)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None
    if is_here and about.st_uid not in (os.geteuid(), 0):
        raise SettingsError(f"{path} belongs to another user, who could send your jobs anywhere", "remove it or own it")
    top, contexts = _parse_settings(text, path)
    names = ("broker", "token", "token_file", "ca_file", "timeout", "context")
    layer = _Layer(path, os.path.dirname(path) or ".", is_file=True, is_here=is_here, is_open=bool(stat.S_IMODE(about.st_mode) & 0o077),
                   **{name: top[name] for name in names if top.get(name)})  # type: ignore[arg-type]
    layer.contexts = {context.get("name", ""): context for context in contexts}
    return layer


def _context_layer(files: Sequence[_Layer], name: str) -> _Layer:
    for file in files:
        if name in file.contexts:
            values = {key: value for key, value in file.contexts[name].items() if key in ("broker", "token", "token_file", "ca_file")}
            return _Layer(file.source, file.folder, is_file=True, is_here=file.is_here, is_open=file.is_open, **values)  # type: ignore[arg-type]
    raise SettingsError(f"no settings file defines the context {name!r}")


def _layers(environ: Mapping[str, str], directory: str, context: Optional[str], system: str) -> List[_Layer]:
    """All sources, the first one that has a setting decides."""
    home = environ.get("XDG_CONFIG_HOME") or (os.path.join(environ["HOME"], ".config") if environ.get("HOME") else "")
    paths = [(os.path.join(directory, ".helio.yaml"), True)] + ([(os.path.join(home, "helio", "config.yaml"), False)] if home else []) + [(system, False)]
    files = [layer for layer in (_read_settings(path, is_here) for path, is_here in paths) if layer]
    found = [_Layer("HELIO_BROKER", broker=environ.get("HELIO_BROKER", "")),
             _Layer("HELIO_TOKEN", token=environ.get("HELIO_TOKEN", ""), ca_file=environ.get("HELIO_CA_FILE", "")),
             _Layer("HELIO_TOKEN_FILE", token_file=environ.get("HELIO_TOKEN_FILE", ""))]
    chosen = context or environ.get("HELIO_CONTEXT") or ""
    if chosen:
        found.append(_context_layer(files, chosen))
    for file in files:
        if not chosen and file.context:
            chosen = file.context
            found.append(_context_layer(files, chosen))
        found.append(file)
    return found


def _brokers(text: str, source: str) -> Tuple[str, ...]:
    urls = tuple(url.strip(" /") for url in text.split(","))
    for url in urls:
        if not re.fullmatch(r"https?://[!-~]+", url) or re.search(r"[?#@]", url):
            raise SettingsError(f"{source}: the broker must be a URL such as https://broker.example, or several of them, separated by commas")
    if len(urls) > _BROKERS_MOST:
        raise SettingsError(f"{source}: {len(urls)} brokers are more than {_BROKERS_MOST}")
    return urls


def _in_folder(layer: _Layer, path: str) -> str:
    return os.path.join(layer.folder, path) if layer.folder else path


def _token(text: str, source: str) -> str:
    token = text.strip()
    if not re.fullmatch(r"[!-~]{1,512}", token):  # others could forge further headers
        raise SettingsError(f"{source} holds no token, or one with blanks or special characters")
    return token


def _token_of(layer: _Layer) -> str:
    if layer.token:
        if layer.is_file and layer.is_open:
            raise SettingsError(f"{layer.source} holds a token, and other users can read it", "chmod 600 it")
        return _token(layer.token, layer.source)
    path = _in_folder(layer, layer.token_file)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise SettingsError(f"{path}: other users can read the token file", "chmod 600 it")
            return _token(file.read(4096), path)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}", "correct the path, or put a token there with mode 600") from None


def _seconds(text: str, source: str) -> float:
    """A duration such as 20s or 1m30s."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    if not re.fullmatch(r"(?:\d+(?:ms|s|m|h|d))+", text):
        raise SettingsError(f"{source}: timeout: expected a duration such as 30s, found {text!r}")
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)(ms|s|m|h|d)", text))


def load_settings(context: Optional[str] = None, *, environ: Optional[Mapping[str, str]] = None, directory: str = ".",
                  system: str = "/etc/helio/client.yaml") -> Settings:
    """The settings of `helio` (docs/reference/config.md): HELIO_* variables, then the named context, ./.helio.yaml,
    ~/.config/helio/config.yaml and /etc/helio/client.yaml; the first that has a setting decides.

    context: a named group of broker and credentials, in place of HELIO_CONTEXT and of `context:` in a file.
    SettingsError: a file cannot be used, or no broker is set. A token that another file holds for another broker is not sent to a
    broker that ./.helio.yaml names.
    """
    layers = _layers(os.environ if environ is None else environ, directory, context, system)
    by_broker = next((layer for layer in layers if layer.broker), None)
    if by_broker is None:
        raise SettingsError("no broker is set", "set HELIO_BROKER, or `broker:` in ~/.config/helio/config.yaml")
    brokers = _brokers(by_broker.broker, by_broker.source)
    by_token = next((layer for layer in layers if layer.token or layer.token_file), None)
    token = ""
    if by_token is not None:
        strange = by_broker.is_here and by_token.is_file and not by_token.is_here
        if not strange or (by_token.broker and _brokers(by_token.broker, by_token.source) == brokers):
            token = _token_of(by_token)
    ca_file = next((_in_folder(layer, layer.ca_file) for layer in layers if layer.ca_file), "")
    timeout = next((_seconds(layer.timeout, layer.source) for layer in layers if layer.timeout), 30.0)
    return Settings(brokers, token, ca_file, timeout)


# ---- requests -------------------------------------------------------------------------------------------------------


@dataclass
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")

    @property
    def retry_after(self) -> Optional[float]:
        text = self.header("Retry-After")
        return float(text) if text.isdigit() else None

    def json(self) -> Any:
        try:
            return json.loads(self.body) if self.body else None
        except ValueError:
            return None

    def problem(self) -> Problem:
        body = self.json()
        return _problem(self.status, body if isinstance(body, dict) else {}, self.retry_after)


class _Failure(Exception):
    """One attempt without an answer. sent: a part of the request left this machine."""

    def __init__(self, text: str, sent: bool, late: bool = False, hopeless: bool = False) -> None:
        super().__init__(text)
        self.sent, self.late, self.hopeless = sent, late, hopeless


class _Open:
    """A request whose answer has begun."""

    def __init__(self, connection: http.client.HTTPConnection, sock: socket.socket, answer: http.client.HTTPResponse) -> None:
        self.connection, self.sock, self.answer = connection, sock, answer
        length = answer.headers.get("Content-Length", "")
        self.left = int(length) if length.isdigit() and not answer.chunked else None  # read1 does not count

    def read(self, within_s: float) -> bytes:
        """What has come, b"" at the end; waits for it no longer than so many seconds. IncompleteRead: the answer broke off."""
        if self.left == 0:
            return b""
        self.sock.settimeout(max(within_s, 0.001))
        piece = self.answer.read1(65536)
        if self.left is not None:
            if not piece:
                raise http.client.IncompleteRead(b"", self.left)
            self.left -= len(piece)
        return piece

    def interrupt(self) -> None:
        """From another thread: read ends."""
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


class _Transport:
    """Attempts at requests, at one broker or another."""

    def __init__(self, settings: Settings, patience: float) -> None:
        self.settings, self.patience = settings, patience
        self.brokers = [urllib.parse.urlsplit(url) for url in settings.brokers]
        self.at = 0  # the broker that answered last
        self.tls: Optional[ssl.SSLContext] = None
        if any(broker.scheme == "https" for broker in self.brokers):
            try:
                self.tls = ssl.create_default_context(cafile=settings.ca_file or None)
            except (OSError, ssl.SSLError) as error:
                raise SettingsError(f"{settings.ca_file}: {error}", "name a file with certificates in PEM form") from None

    def connect(self, broker: urllib.parse.SplitResult, within_s: float) -> http.client.HTTPConnection:
        host = broker.hostname or ""
        if broker.scheme == "https":
            return http.client.HTTPSConnection(host, broker.port, timeout=within_s, context=self.tls)
        return http.client.HTTPConnection(host, broker.port, timeout=within_s)

    def open(self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], within_s: float) -> _Open:
        """Sends one request and waits for the head of its answer. _Failure: there is none."""
        broker = self.brokers[self.at % len(self.brokers)]
        connection = self.connect(broker, within_s)
        sent = False
        try:
            connection.connect()
            sock = cast(socket.socket, connection.sock)
            sent = True
            connection.request(method, broker.path + path, body, dict(headers))
            return _Open(connection, sock, connection.getresponse())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            url = self.settings.brokers[self.at % len(self.brokers)]
            late = isinstance(error, socket.timeout)
            hopeless = isinstance(error, ssl.SSLCertVerificationError)
            what = f"no answer within {within_s:g} s" if late else str(error) or type(error).__name__
            raise _Failure(f"the broker at {url}: {what}", sent, late, hopeless) from None

    def attempt(self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], within_s: float) -> _Answer:
        """One request with its whole answer."""
        end = time.monotonic() + within_s
        opened = self.open(method, path, headers, body, within_s)
        try:
            got = b""
            while piece := opened.read(end - time.monotonic()):
                got += piece
                if len(got) > _BODY_MOST:
                    raise _Failure(f"the answer is larger than {_BODY_MOST >> 20} MiB", True, hopeless=True)
                if time.monotonic() > end:
                    raise socket.timeout()
            return _Answer(opened.answer.status, dict(opened.answer.headers.items()), got)
        except (OSError, http.client.HTTPException, ValueError) as error:
            late = isinstance(error, socket.timeout)
            raise _Failure(f"no whole answer within {within_s:g} s" if late else f"the answer broke off: {error}", True, late) from None
        finally:
            opened.close()

    def call(self, method: str, path: str, headers: Mapping[str, str], body: Optional[bytes], safe: bool,
             patience: Optional[float] = None) -> Tuple[_Answer, bool]:
        """The answer, and whether an earlier attempt may have been carried out. Repeats what may be repeated."""
        patience = self.patience if patience is None else patience
        end, count, repeated = time.monotonic() + patience, 0, False
        while True:
            failure: Optional[_Failure] = None
            answer: Optional[_Answer] = None
            pause: Optional[float] = None
            try:
                answer = self.attempt(method, path, headers, body, self.settings.timeout)
                if answer.status not in _TRANSIENT or not (safe or answer.status == 429):
                    return answer, repeated
                pause = answer.retry_after
            except _Failure as found:
                failure = found
                if failure.hopeless or (failure.sent and not safe):
                    raise _give_up(failure, safe) from None
            count += 1
            repeated = repeated or failure is None or failure.sent
            elsewhere = (failure is not None or (answer is not None and answer.status != 429)) and len(self.brokers) > 1
            if elsewhere:
                self.at += 1
            wait = 0.0 if elsewhere and count % len(self.brokers) else _backoff(count, pause)
            if time.monotonic() + wait > end and (count >= _LEAST_ATTEMPTS or wait > patience):
                if answer is not None:
                    return answer, repeated
                raise _give_up(cast(_Failure, failure), safe)
            time.sleep(wait)


def _backoff(count: int, least: Optional[float] = None) -> float:
    """Seconds before another attempt: they double, and the lower half of them is random, so that clients do not come together."""
    longest = min(_FIRST_WAIT_S * 2 ** (count - 1), _LONGEST_WAIT_S)
    return max(random.uniform(longest / 2, longest), min(least or 0.0, _RETRY_AFTER_MOST_S))


def _give_up(failure: _Failure, safe: bool) -> HeliostatError:
    if failure.sent and not safe:
        return OutcomeUnknown(f"{failure}; it is unknown whether the request was carried out")
    return TimedOut(str(failure)) if failure.late else Unreachable(str(failure))


class _Lines:
    """Server-sent events from the bytes of a stream."""

    def __init__(self) -> None:
        self.data = b""

    def feed(self, piece: bytes) -> Iterator[Event]:
        *blocks, self.data = (self.data + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for block in blocks:
            fields: Dict[str, str] = {}
            for line in block.decode("utf-8", "replace").split("\n"):
                name, _, value = line.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if name:
                    fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
            if "data" in fields:
                try:
                    data = json.loads(fields["data"])
                except ValueError:
                    continue
                yield Event(fields.get("id", ""), fields.get("event", "message"), data if isinstance(data, dict) else {})


# ---- waiting --------------------------------------------------------------------------------------------------------


class _Wakes:
    """The stream of events in a thread of its own; the words of its queue are ids of jobs, or "" for any job."""

    def __init__(self, client: "Client") -> None:
        self.client, self.queue = client, cast("queue.Queue[str]", queue.Queue())
        self.is_open, self.over = False, False
        self.opened: Optional[_Open] = None
        self.thread = threading.Thread(target=self._run, name="heliostat-events", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        last, failures = "", 0
        while not self.over:
            try:
                self.opened = self.client._stream("/v1/events", {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})})
                lines, self.is_open, failures = _Lines(), True, 0
                self.queue.put("")  # what changed before it was open
                while not self.over and (piece := self.opened.read(_STREAM_SILENCE_S)):
                    for event in lines.feed(piece):
                        last = event.id or last
                        self.queue.put(str(event.data.get("id", "")) if event.kind == "transition" else "")
            except (HeliostatError, _Failure, OSError, http.client.HTTPException, ValueError):
                pass
            finally:
                self.is_open = False
                if self.opened:
                    self.opened.close()
            failures += 1
            end = time.monotonic() + _backoff(failures)
            while not self.over and time.monotonic() < end:
                time.sleep(0.05)

    def close(self) -> None:
        self.over = True
        if self.opened:
            self.opened.interrupt()


class _Watch:
    """Asks for jobs whenever the stream, or the clock, says that they may have changed. Nothing depends on an event."""

    def __init__(self, client: "Client", ids: Iterable[str]) -> None:
        self.client = client
        self.asked: Dict[str, Optional[Job]] = {id: None for id in ids}
        self.dirty = set(self.asked)
        self.asked_at: Dict[str, float] = {}
        self.poll_at = 0.0
        self.reached = False
        self.failures = 0
        self.not_before = 0.0  # the next request, after a failure

    def is_meant(self, asked: str, id: str) -> bool:
        known = self.asked[asked]
        return not id or known is None or id == known["id"] or id.startswith(known["id"] + ".")

    def take(self, wakes: _Wakes, within_s: float) -> None:
        """Waits for an event, and takes all that are there."""
        try:
            word = wakes.queue.get(timeout=max(within_s, 0.0)) if within_s > 0 else wakes.queue.get_nowait()
            while True:
                self.dirty.update(asked for asked in self.asked if self.is_meant(asked, word))
                word = wakes.queue.get_nowait()
        except queue.Empty:
            pass

    def is_due(self, asked: str, now: float) -> bool:
        job = self.asked[asked]
        rested = job is None or "tasks_total" not in job or now >= self.asked_at[asked] + _ARRAY_PAUSE_S
        return asked in self.dirty and rested and now >= self.not_before

    def ask(self, asked: str) -> Optional[Job]:
        """Its answer; None: no broker answers at the moment. Once one has, this waits for it without limit."""
        try:
            job = self.client._job(asked, 0.0 if self.reached else None)
        except (Unreachable, Unavailable, Busy):
            if not self.reached:
                raise
            self.failures += 1
            self.not_before = time.monotonic() + _backoff(self.failures)
            return None
        self.reached, self.failures = True, 0
        self.asked[asked], self.asked_at[asked] = job, time.monotonic()
        self.dirty.discard(asked)
        return job

    def next_look(self, wakes: _Wakes, end: Optional[float]) -> float:
        """When something is due without an event."""
        now = time.monotonic()
        times = [self.poll_at] if wakes.is_open else [self.poll_at, now + 1.0]
        if self.dirty:
            times.append(max(self.not_before, now + _FIRST_WAIT_S))
        return min(times if end is None else [*times, end])

    def run(self, is_done: Callable[[Job], bool], timeout: Optional[float]) -> Iterator[Tuple[str, Job]]:
        """Each job, as (what was asked for, its answer), once is_done says so."""
        end = None if timeout is None else time.monotonic() + timeout
        wakes = _Wakes(self.client)
        try:
            while self.asked:
                now = time.monotonic()
                if now >= self.poll_at:
                    self.dirty.update(self.asked)
                    self.poll_at = now + (_POLL_BESIDE_STREAM_S if wakes.is_open else _POLL_S)
                for asked in [asked for asked in self.asked if self.is_due(asked, now)]:
                    job = self.ask(asked)
                    if job is None:
                        break
                    if is_done(job):
                        del self.asked[asked]
                        yield asked, job
                if self.asked and end is not None and time.monotonic() >= end:
                    raise WaitTimeout(f"{len(self.asked)} jobs had not ended after {timeout:g} s: {', '.join(list(self.asked)[:3])}")
                if self.asked:
                    self.take(wakes, self.next_look(wakes, end) - time.monotonic())
        finally:
            wakes.close()


def _ended(job: Job) -> bool:
    return job["state"] in TERMINAL


# ---- the client -----------------------------------------------------------------------------------------------------


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _query(**values: Any) -> str:
    """?name=value of all that are not None."""
    found = {name: ("1" if value is True else "0" if value is False else str(value)) for name, value in values.items() if value is not None}
    return "?" + urllib.parse.urlencode(found) if found else ""


def _document(source: JobSource) -> Tuple[bytes, str]:
    """The bytes of a job file and their media type. Text and files are sent as they are."""
    if isinstance(source, Mapping):
        return json.dumps(source).encode(), "application/json"
    if isinstance(source, str):
        return source.encode(), "application/yaml"
    if isinstance(source, os.PathLike):
        path = Path(source)
        kinds = {".json": "application/json", ".jsonl": "application/x-ndjson", ".ndjson": "application/x-ndjson"}
        return path.read_bytes(), kinds.get(path.suffix.lower(), "application/yaml")
    return json.dumps({"jobs": list(source)}).encode(), "application/json"


class Client:
    """The operations of a broker. All of them raise `HeliostatError`: a `Problem` if the broker refuses, `Unreachable` if none answers.

    brokers:  a URL or several of one federation; without it, those of `load_settings`
    token:    the bearer token; without it, that of the settings, if `brokers` is not given either
    context:  a context of the settings files
    ca_file:  certificates to trust in place of the system's (PEM)
    timeout:  the longest time that one request may take, in seconds (default: that of the settings, or 30)
    patience: how long a request that is safe to repeat is repeated while no broker answers, in seconds; it has three attempts at least
    """

    def __init__(self, brokers: Union[str, Sequence[str], None] = None, token: Optional[str] = None, *, context: Optional[str] = None,
                 ca_file: Optional[str] = None, timeout: Optional[float] = None, patience: float = 30.0) -> None:
        if brokers is None:
            found = load_settings(context)
        else:
            found = Settings(_brokers(brokers if isinstance(brokers, str) else ",".join(brokers), "brokers"))
        self.settings = Settings(found.brokers, found.token if token is None else _token(token, "token"),
                                 found.ca_file if ca_file is None else ca_file, found.timeout if timeout is None else timeout)
        self._transport = _Transport(self.settings, patience)

    def __repr__(self) -> str:
        return f"heliostat.Client({', '.join(self.settings.brokers)!r})"

    # -- requests

    def _headers(self, more: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
        headers = {"User-Agent": f"heliostat-python/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"}
        if self.settings.token:
            headers["Authorization"] = "Bearer " + self.settings.token
        headers.update(more or {})
        return headers

    def _call(self, method: str, path: str, body: Any, kind: str, safe: Optional[bool], headers: Mapping[str, str],
              patience: Optional[float] = None) -> Tuple[_Answer, bool]:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        more = {**headers, **({"Content-Type": kind} if data is not None else {})}
        safe = method in ("GET", "HEAD", "PUT", "DELETE") if safe is None else safe
        return self._transport.call(method, path, self._headers(more), data, safe, patience)

    def request(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json", safe: Optional[bool] = None,
                headers: Optional[Mapping[str, str]] = None) -> Any:
        """Any operation of docs/openapi.yaml: its JSON answer, or None if it has none.

        path: with its query, escaped. body: bytes, or what becomes JSON. safe: whether it may be repeated when its answer is lost (default:
        GET, PUT and DELETE). Problem: the answer's status is not 2xx.
        """
        answer, _ = self._call(method, path, body, content_type, safe, headers or {})
        if not 200 <= answer.status < 300:
            raise answer.problem()
        return answer.json()

    def _stream(self, path: str, headers: Optional[Mapping[str, str]] = None) -> _Open:
        """A GET whose body comes over time. Problem: it is refused; _Failure: no broker answers."""
        try:
            opened = self._transport.open("GET", path, self._headers(headers), None, self.settings.timeout)
        except _Failure:
            self._transport.at += 1
            raise
        if opened.answer.status == 200:
            return opened
        try:
            answer = _Answer(opened.answer.status, dict(opened.answer.headers.items()), opened.read(self.settings.timeout))
        except (OSError, http.client.HTTPException) as error:
            raise _Failure(str(error), True) from None
        finally:
            opened.close()
        if answer.status in (502, 503, 504):
            self._transport.at += 1
        raise answer.problem()

    def _pages(self, path: str, key: str, query: Mapping[str, Any]) -> Iterator[JsonObject]:
        cursor: Any = None
        while True:
            page = self.request("GET", path + _query(**query, cursor=cursor))
            yield from page[key]
            cursor = page["next"]
            if cursor is None:
                return

    # -- jobs

    def submit(self, job: JobSource, *, idempotency_key: Optional[str] = None) -> Submission:
        """Stores one job, or all of several; returns once they are stored durably.

        job: a job file as a dictionary, a list of them, YAML text (sent as it is, with line numbers in errors; several documents are separated
        by `---`), or a path of a file (YAML; JSON and JSON lines by its suffix).
        idempotency_key: the same key with the same document gives the same job. Without it a new one is made, so that this call
        stores one job even if an answer is lost.

        Invalid: the job file has errors. Infeasible: no site can ever run it. Conflict: the key belongs to another document.
        """
        data, kind = _document(job)
        key = idempotency_key or uuid.uuid4().hex
        answer = self.request("POST", "/v1/jobs", data, content_type=kind, safe=True, headers={"Idempotency-Key": key})
        jobs = answer["jobs"]
        return Submission(tuple(entry["id"] for entry in jobs), tuple(entry["existed"] for entry in jobs), answer.get("note") or "", key)

    def job(self, id: str) -> Job:
        """One job, a task (`ID.INDEX`) or a whole array, with its history. id: the whole id, or six or more characters of its beginning or
        its end. NotFound: there is none. Ambiguous: there are several."""
        return self._job(id, None)

    def _job(self, id: str, patience: Optional[float]) -> Job:
        answer, _ = self._call("GET", f"/v1/jobs/{_quoted(id)}", None, "", True, {}, patience)
        if answer.status != 200:
            raise answer.problem()
        return cast(Job, answer.json())

    def jobs(self, *, state: Union[str, Iterable[str], None] = None, queue: Optional[str] = None, name: Optional[str] = None,
             tenant: Optional[str] = None, page: int = 100) -> Iterator[Job]:
        """All jobs, the newest first; each task of an array is one. Pages of `page` jobs are asked for as they are needed.

        state: one or several of queued, offered, accepted, starting, running, suspended, stopping, suspect, held, succeeded, failed, timeout,
        cancelled and lost. tenant: for operators."""
        states = state if state is None or isinstance(state, str) else ",".join(state)
        return cast(Iterator[Job], self._pages("/v1/jobs", "jobs", {"state": states, "queue": queue, "name": name, "tenant": tenant, "limit": page}))

    def as_completed(self, ids: Iterable[str], *, timeout: Optional[float] = None) -> Iterator[Tuple[str, Job]]:
        """(what was asked for, its last answer) of each job when it has ended, in that order.

        Server-sent events wake this up; while there is no stream, the jobs are asked for every two seconds. timeout: in seconds, of all.
        WaitTimeout: the others had not ended by then."""
        return _Watch(self, ids).run(_ended, timeout)

    def wait(self, id: str, *, timeout: Optional[float] = None, check: bool = False) -> Job:
        """The job, or the array, when it has ended. timeout: in seconds. check: raise JobFailed if its state is not `succeeded`.
        WaitTimeout: it had not ended by then."""
        _, job = next(self.as_completed([id], timeout=timeout))
        if check and job["state"] != "succeeded":
            raise JobFailed(job)
        return job

    def wait_all(self, ids: Iterable[str], *, timeout: Optional[float] = None) -> List[Job]:
        """The jobs in the order of `ids` when all have ended. timeout: in seconds."""
        wanted = list(ids)
        ended = dict(self.as_completed(wanted, timeout=timeout))
        return [ended[id] for id in wanted]

    def cancel(self, id: str, *, now: bool = False) -> JsonObject:
        """Cancels a job, a task, or all tasks of an array; a job that runs gets its grace. now: it is ended at once. Conflict: it has ended."""
        answer, repeated = self._call("DELETE", f"/v1/jobs/{_quoted(id)}" + _query(now=now or None), None, "", None, {})
        if 200 <= answer.status < 300:
            return cast(JsonObject, answer.json())
        problem = answer.problem()
        if repeated and isinstance(problem, Conflict) and not isinstance(problem, Ambiguous):
            job = self.job(id)  # the attempt whose answer was lost has done it
            if job["state"] == "cancelled":
                return {"id": job["id"], "status": "cancelled"}
        raise problem

    def hold(self, id: str) -> JsonObject:
        """Holds a job that is not placed yet, so that it does not start before it is released."""
        return self._command(id, "hold", safe=True)

    def release(self, id: str) -> JsonObject:
        """Releases a held job."""
        return self._command(id, "release")

    def requeue(self, id: str) -> JsonObject:
        """Stops a running job, with its grace; it returns to its queue."""
        return self._command(id, "requeue")

    def signal(self, id: str, signal: str, *, to: str = "job") -> JsonObject:
        """Sends a running job a signal. signal: HUP, INT, QUIT, KILL, USR1, USR2, TERM or CONT. to: `job` (processes with a handler for it, or all if
        none has one), `script` or `all`."""
        return self._command(id, "signal", {"signal": signal, "to": to})

    def _command(self, id: str, word: str, body: Optional[JsonObject] = None, safe: bool = False) -> JsonObject:
        return cast(JsonObject, self.request("POST", f"/v1/jobs/{_quoted(id)}/{word}", body, safe=safe))

    def edit(self, id: str, **changes: Any) -> JsonObject:
        """Edits a job that is not placed yet: priority, goal, deadline, flexible, max_cost, max_carbon, queue, time; values as in a job
        file, such as `flexible="12h"`; None removes a bound. It is not repeated when its answer is lost, since a second edit could undo
        somebody else's."""
        return cast(JsonObject, self.request("PATCH", f"/v1/jobs/{_quoted(id)}", changes))

    def explain(self, id: str) -> JsonObject:
        """Why the job runs where it does, or why it waits: `detail`, `candidates` with their figures or their rejection, `expected`, `ahead`, `hints`."""
        return cast(JsonObject, self.request("GET", f"/v1/jobs/{_quoted(id)}/explain"))

    def attempts(self, id: str) -> JsonObject:
        """The attempts of a job, the use of each, and what the job saved against its baselines."""
        return cast(JsonObject, self.request("GET", f"/v1/jobs/{_quoted(id)}/attempts"))

    def plan(self, job: Union[JobSource, None] = None, *, id: Optional[str] = None, carbon: Optional[float] = None, wait: Optional[float] = None,
             drain: Optional[str] = None, price: Optional[str] = None) -> JsonObject:
        """Where and when a job would run if it were submitted now, and what that would cost. Nothing is stored.

        job: one job file, as for `submit`; or id: that of a job that exists. carbon: USD per tonne of CO2e, together with wait: USD per hour
        of waiting and GPU. drain: a site that is supposed to be drained, or price: SITE:FACTOR. ValueError: not one of job and id."""
        if (job is None) == (id is None):
            raise ValueError("plan takes either a job or an id")
        query = _query(carbon=carbon, wait=wait, drain=drain, price=price)
        if id is not None:
            return cast(JsonObject, self.request("GET", f"/v1/jobs/{_quoted(id)}/plan{query}"))
        data, kind = _document(cast(JobSource, job))
        return cast(JsonObject, self.request("POST", f"/v1/plans{query}", data, content_type=kind, safe=True))

    # -- logs and events

    def logs(self, id: str, *, follow: bool = False, epoch: Optional[int] = None, offset: int = 0) -> Iterator[bytes]:
        """The output of a job, in pieces as they come. id: of a job or of one task.

        follow: until the job has ended, across its attempts; a connection that is lost is made again at the same byte. epoch: the
        output of this attempt only (default: the newest one, and with `follow` those that come after it). offset: the first byte of the first attempt.
        NotFound: the job was never placed, or there is no such attempt or log."""
        if epoch is not None:
            return self._log(id, epoch, offset, follow)
        return self._logs_of_all(id, offset) if follow else self._log(id, None, offset, False)

    def _log(self, id: str, epoch: Optional[int], offset: int, follow: bool) -> Iterator[bytes]:
        """The output of one attempt, byte for byte, whatever becomes of connections."""
        failures, end = 0, time.monotonic() + self._transport.patience
        while True:
            got = False
            try:
                opened = self._stream(f"/v1/jobs/{_quoted(id)}/logs" + _query(offset=offset, epoch=epoch, follow=follow or None))
                try:
                    if epoch is None:  # which it is, for the next connection
                        epoch = int(opened.answer.headers.get("X-Helio-Log-Epoch", 0)) or None
                    while piece := opened.read(_LOG_SILENCE_S if follow else self.settings.timeout):
                        got, offset = True, offset + len(piece)
                        yield piece
                    return
                finally:
                    opened.close()
            except socket.timeout:
                got = got or follow  # a job may be silent for long
            except (_Failure, OSError, http.client.HTTPException, ValueError) as error:
                if isinstance(error, _Failure) and error.hopeless:
                    raise _give_up(error, True) from None
            except Problem as problem:
                if problem.status not in _TRANSIENT:
                    raise
                if time.monotonic() > end:
                    raise
            failures = 0 if got else failures + 1
            end = time.monotonic() + self._transport.patience if got else end
            if time.monotonic() > end and failures >= _LEAST_ATTEMPTS:
                raise Unreachable(f"the log of {id} broke off at byte {offset}, and no broker continues it")
            time.sleep(0.0 if got else _backoff(failures))

    def _logs_of_all(self, id: str, offset: int) -> Iterator[bytes]:
        job = self._until(id, lambda job: job["epoch"] > 0 or _ended(job) or "tasks_total" in job)
        if "tasks_total" in job:
            yield from self._log(id, None, offset, False)  # refused: one task of it has to be named
            return
        epoch, first = job["epoch"], True
        while True:
            try:
                if epoch > 0:
                    yield from self._log(job["id"], epoch, offset if first else 0, True)
            except NotFound:
                if first and epoch == job["epoch"] and _ended(job):
                    raise  # other attempts may have been refused by their sites, and have no log
            first = False
            seen = epoch
            job = self._until(job["id"], lambda job: job["epoch"] > seen or _ended(job))
            if job["epoch"] <= seen:
                return
            epoch = seen + 1

    def _until(self, id: str, is_done: Callable[[Job], bool]) -> Job:
        job = self.job(id)
        return job if is_done(job) else next(_Watch(self, [job["id"]]).run(is_done, None))[1]

    def events(self, *, last_event_id: Optional[str] = None) -> Iterator[Event]:
        """The transitions of jobs as they become durable, without an end. A connection that is lost is made again after the last event that was
        received. last_event_id: the `id` of an earlier event; those after it come first. Without it, the stream begins now.
        Unreachable: no broker answered for `patience` seconds."""
        last, failures, end = last_event_id or "", 0, time.monotonic() + self._transport.patience
        while True:
            try:
                opened = self._stream("/v1/events", {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})})
                lines, failures = _Lines(), 0
                try:
                    while piece := opened.read(_STREAM_SILENCE_S):
                        end = time.monotonic() + self._transport.patience
                        for event in lines.feed(piece):
                            last = event.id or last
                            yield event
                finally:
                    opened.close()
            except Problem as problem:
                if problem.status not in _TRANSIENT or time.monotonic() > end:
                    raise
            except (_Failure, OSError, http.client.HTTPException, ValueError) as error:
                if time.monotonic() > end or (isinstance(error, _Failure) and error.hopeless):
                    raise Unreachable(str(error)) from None
            failures += 1
            time.sleep(_backoff(failures))

    # -- the federation

    def whoami(self) -> JsonObject:
        """The tenant, user and role of the token, and the broker's release."""
        return cast(JsonObject, self.request("GET", "/v1/whoami"))

    def sites(self) -> List[JsonObject]:
        """Sites and what they offer now: GPUs, g CO2e per kWh, USD per GPU and hour."""
        return cast(List[JsonObject], self.request("GET", "/v1/sites"))

    def gpus(self) -> List[JsonObject]:
        """Pools with GPUs, their free GPUs, and the largest gang that fits now."""
        return cast(List[JsonObject], self.request("GET", "/v1/gpus"))

    def forecast(self, site: str, *, days: Optional[int] = None) -> List[JsonObject]:
        """A site's newest series for the hours ahead, and their errors over so many days."""
        return cast(List[JsonObject], self.request("GET", f"/v1/sites/{_quoted(site)}/forecast{_query(days=days)}"))

    def queues(self) -> List[JsonObject]:
        """Queues, and the jobs that wait and run in them."""
        return cast(List[JsonObject], self.request("GET", "/v1/queues"))

    def quotas(self) -> List[JsonObject]:
        """Quotas, guarantees, use and budgets; operators see all tenants."""
        return cast(List[JsonObject], self.request("GET", "/v1/quotas"))

    def report(self, *, days: Optional[int] = None) -> JsonObject:
        """Totals of all time; use and baselines by day (UTC) for so many days (default: 7)."""
        return cast(JsonObject, self.request("GET", f"/v1/report{_query(days=days)}"))

    def audit(self, *, page: int = 100) -> Iterator[JsonObject]:
        """The audit, the newest entries first (administrators)."""
        return self._pages("/v1/audit", "entries", {"limit": page})
