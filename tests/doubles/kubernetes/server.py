"""HTTPS: requests are read, judged and answered here; what they do is in verbs.py."""
import gzip, json, socket, ssl, struct, sys, threading, traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit
import lists, matching, resources, watching
from failure import Failure, method_not_allowed, plain_text, unknown_resource
from verbs import Target

BODY_MAX = 3145728
GZIP_FROM = 128 * 1024
VERSION = {"major": "1", "minor": "32", "gitVersion": "v1.32.13", "gitCommit": "double", "gitTreeState": "double", "buildDate": "1970-01-01T00:00:00Z",
           "goVersion": "none", "compiler": "none", "platform": "linux/amd64"}
NOT_TLS = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
CHECKS = ("ping", "log", "etcd", "informer-sync", "shutdown")


def target_of(path):
    """The resource that a path names, or None."""
    words = path.strip("/").split("/")
    if words[0] == "api" and len(words) >= 3:
        group, version, rest = "", words[1], words[2:]
    elif words[0] == "apis" and len(words) >= 4:
        group, version, rest = words[1], words[2], words[3:]
    else:
        return None
    namespace = None
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and len(rest) >= 2:
        namespace = rest[1]
    if len(rest) > 3:
        return None
    plural, name, subresource = (rest + [None, None])[:3]
    return Target(group, version, namespace, plural, name, subresource)


def read_body(handler):
    """A body with its length, or in chunks: kubectl sends files so."""
    if handler.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    body = b""
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    while handler.rfile.readline().strip():
        pass
    return body


class Request:
    def __init__(self, handler):
        parts = urlsplit(handler.path)
        self.method, self.path, self.headers = handler.command, parts.path, handler.headers
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.content_type = (handler.headers.get("Content-Type") or "").split(";")[0].strip()
        self.body = read_body(handler)
        self.caller, self.partial = None, False

    @property
    def watching(self):
        return self.method == "GET" and lists.flag(self.query, "watch")

    @property
    def verb(self):
        if self.method == "GET":
            return "watch" if self.watching else "get" if self.named else "list"
        if self.method == "DELETE":
            return "delete" if self.named else "deletecollection"
        return {"POST": "create", "PUT": "update", "PATCH": "patch", "HEAD": "get"}.get(self.method, self.method.lower())

    named = True

    def negotiate(self):
        """The first form in Accept that the double can write; a table is none of them, and clients that ask for one take objects too."""
        offers = [one.strip() for one in (self.headers.get("Accept") or "*/*").split(",")]
        for offer in offers:
            media, *parameters = [part.strip() for part in offer.split(";")]
            wanted = dict(part.split("=", 1) for part in parameters if "=" in part)
            if media in ("application/json", "*/*", "application/*") and wanted.get("as") != "Table":
                self.partial = wanted.get("as", "").startswith("PartialObjectMetadata")
                return
        raise Failure(406, "NotAcceptable", "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
                      "application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch", {})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "double", ""
    disable_nagle_algorithm = True  # else each answer waits 40 ms for the acknowledgement of its own headers

    def log_message(self, *_):
        pass

    def handle_request(self):
        request = None
        try:
            request = Request(self)
            self.answer(request)
        except Failure as failure:
            text = failure.text is not None
            body = failure.text.encode() if text else json.dumps(failure.status).encode()
            self.reply(failure.code, body, "text/plain; charset=utf-8" if text else "application/json", failure.headers)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True
        except Exception:  # a fault of the double's own: the test sees the trace, the client what a server would say
            traceback.print_exc(file=sys.stderr)
            self.reply(500, b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Internal error","code":500}', "application/json", {})

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_request

    def answer(self, request):
        cluster, target = self.server.cluster, target_of(request.path)
        if len(request.body) > BODY_MAX:
            raise Failure(413, "RequestEntityTooLarge", f"Request entity too large: limit is {BODY_MAX}")
        if request.path.startswith("/double/"):
            self.control(request)
            return
        request.caller = cluster.access.caller(self.headers.get("Authorization"), self.connection.getpeercert())
        request.named = target is None or target.name is not None
        cluster.faults.before(request, target)
        if target is None:
            self.answer_path(request)
            return
        known = resources.BY_PATH.get((target.group, target.version, target.plural))
        if target.plural not in resources.REVIEWS:
            cluster.access.check(request.caller, request.verb, target.group, target.resource, target.namespace, target.name)
        if known is None or (target.subresource and target.subresource not in known.subresources):
            raise unknown_resource()
        request.negotiate()
        cluster.faults.stall(request, target)
        if target.subresource == "log":
            self.log(request, target)
        elif request.watching:
            self.watch(request, target, known)
        else:
            page = cluster.faults.page(request, target)
            code, document, warnings = (200, page, []) if page else cluster.verbs.perform(request, target, known)
            self.reply(code, json.dumps(document).encode(), "application/json", {"warning": warnings} if warnings else {})

    def answer_path(self, request):
        self.server.cluster.access.check_path(request.caller, "get" if request.method == "GET" else request.method.lower(), request.path)
        checks = ("/readyz", "/livez", "/healthz")
        document = VERSION if request.path == "/version" else resources.discovery(request.path)
        if request.method != "GET" and (document or request.path in checks):
            raise method_not_allowed()
        if request.path in checks:
            text = "".join(f"[+]{name} ok\n" for name in CHECKS) + f"{request.path[1:]} check passed\n" if "verbose" in request.query else "ok"
            self.reply(200, text.encode(), "text/plain; charset=utf-8", {"x-content-type-options": "nosniff"})
        elif document:
            self.reply(200, json.dumps(document).encode(), "application/json", {})
        else:
            raise plain_text(404, "404 page not found\n")

    def control(self, request):
        caller = self.server.cluster.access.caller(self.headers.get("Authorization"), None)
        if "system:masters" not in caller.groups or request.path != "/double/faults" or request.method != "POST":
            raise plain_text(404, "404 page not found\n")
        with self.server.cluster.store.lock:
            self.server.cluster.faults.apply(json.loads(request.body))
        self.reply(200, b"{}", "application/json", {})

    def reply(self, code, body, content_type, headers):
        self.send_response(code)
        self.send_header("Cache-Control", "no-cache, private")
        if code != 204:
            self.send_header("Content-Type", content_type)
        if len(body) >= GZIP_FROM and "gzip" in (self.headers.get("Accept-Encoding") or ""):
            body = gzip.compress(body, 1)
            self.send_header("Content-Encoding", "gzip")
        for name, value in headers.items():
            for one in value if isinstance(value, list) else [value]:
                self.send_header(name, one)
        if code != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and code != 204:
            self.wfile.write(body)

    def begin_stream(self, content_type):
        self.send_response(200)
        self.send_header("Cache-Control", "no-cache, private")
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    def watch(self, request, target, kind):
        cluster, query = self.server.cluster, dict(request.query)
        matches = matching.compile_selectors(query.get("labelSelector"), query.get("fieldSelector"))
        if target.name:
            matches = matching.compile_selectors(None, f"metadata.name={target.name}")
        events = watching.watch(cluster.store, kind, target.namespace, query, matches, lambda: self.server.ended)
        first = next(events, None)  # a version that is no number is refused before the stream begins
        self.begin_stream("application/json")
        while True:
            if first is not None:
                self.chunk(json.dumps(first, separators=(",", ":")).encode() + b"\n")
            try:
                first = next(events)
            except StopIteration:
                break
        self.wfile.write(b"0\r\n\r\n")

    def log(self, request, target):
        if request.method != "GET":
            raise method_not_allowed()
        cluster, query = self.server.cluster, request.query
        with cluster.store.lock:
            pod = cluster.store.get(resources.PODS, target.namespace, target.name)
            process = cluster.kubelet.log(pod, query.get("container"), lists.flag(query, "previous"))
        if process is None:
            self.reply(204, b"", "", {})
            return
        self.begin_stream("text/plain")
        left, seen = int(query.get("limitBytes") or 1 << 60), 0
        if query.get("tailLines"):
            seen = max(0, len(process.lines) - int(query["tailLines"]))
        while left > 0 and not self.server.ended:
            with process.written:
                if seen >= len(process.lines) and lists.flag(query, "follow") and process.code is None:
                    process.written.wait(0.2)
                lines, over = process.lines[seen:], not lists.flag(query, "follow") or process.code is not None
            for moment, line in lines:
                piece = (f"{moment} ".encode() if lists.flag(query, "timestamps") else b"") + line
                self.chunk(piece[:left])
                left -= len(piece)
                if left <= 0:
                    break
            seen += len(lines)
            if over and not lines:
                break
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, cluster, port, pki):
        self.cluster, self.ended, self.open, self.port_lock = cluster, False, set(), threading.Lock()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(f"{pki}/server.crt", f"{pki}/server.key")
        self.tls.load_verify_locations(f"{pki}/ca.crt")
        self.tls.verify_mode = ssl.CERT_OPTIONAL
        self.tls.set_alpn_protocols(["http/1.1"])
        super().__init__(("127.0.0.1", port), Handler)

    def finish_request(self, request, client_address):
        """In the connection's own thread: TLS, or the words for one who does not speak it."""
        request.settimeout(60)
        if request.recv(1, socket.MSG_PEEK)[:1] != b"\x16":
            request.recv(4096)
            request.sendall(NOT_TLS)
            return
        try:
            secured = self.tls.wrap_socket(request, server_side=True)
        except (ssl.SSLError, OSError):
            return
        secured.settimeout(None)
        with self.port_lock:
            self.open.add(secured)
        try:
            super().finish_request(secured, client_address)
        except (OSError, ValueError):
            pass
        finally:
            with self.port_lock:
                self.open.discard(secured)
            try:
                secured.close()
            except OSError:
                pass

    def handle_error(self, request, client_address):
        pass

    def cut(self):
        """Ends every connection in the middle of whatever it does, as a killed server does."""
        with self.port_lock:
            for connection in self.open:
                reset(connection)

    def serve(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def end(self):
        """Nobody is let in any more, and then everybody is cut off: who sees the cut finds the port closed."""
        self.shutdown()
        self.server_close()
        self.cut()
        self.ended = True


def reset(connection):
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass

