"""A stand-in for a broker, for what a real one does only when something fails: each path has a list of answers, in order, of which the last one
stays. An answer is a function of the connection and the request."""
import json, socket, struct, threading, time, urllib.parse


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        self.path, _, query = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query))


def answer(status, body=None, kind=None, **headers):
    """A whole answer; body: bytes, or what becomes JSON."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    kind = kind or ("application/json" if status < 400 else "application/problem+json")
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(data)}"] + [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return lambda connection, request: connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)


def problem(status, reason, code="", detail="it is so", **more):
    details = [{"code": code, "params": more.pop("params", {})}] if code else []
    headers = {"Retry_After": more.pop("retry_after")} if "retry_after" in more else {}
    return answer(status, {"type": "about:blank", "title": reason, "status": status, "reason": reason, "detail": detail, "details": details, **more}, **headers)


def cut(connection, request):
    """The connection is reset once the request is here."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def silent(connection, request):
    """Nothing comes until the other side hangs up."""
    connection.settimeout(20)
    connection.recv(1)


def trickle(connection, request):
    """A byte now and then, without an end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.05)


def short(connection, request):
    """Less than was announced."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\": ")


def chunks(*pieces, end=True, kind="text/plain", hold=None, **headers):
    """A stream; end: with its last chunk, else it is cut off. hold: an event after which it ends."""
    def write(connection, request):
        lines = ["HTTP/1.1 200 OK", f"Content-Type: {kind}", "Transfer-Encoding: chunked"] + [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        for piece in pieces:
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if hold:
            hold.wait(20)
        if end:
            connection.sendall(b"0\r\n\r\n")
    return write


class Double:
    def __init__(self):
        self.rules, self.seen, self.lock = {}, [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def on(self, what, *answers):
        """what: "GET /v1/sites", without its query."""
        self.rules[what] = list(answers)

    def requests(self, what):
        with self.lock:
            return [request for request in self.seen if f"{request.method} {request.path}" == what]

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            file = connection.makefile("rb")
            method, target, _ = file.readline().decode().split()
            headers = {}
            while line := file.readline().strip():
                name, _, value = line.decode().partition(":")
                headers[name.lower()] = value.strip()
            request = Request(method, target, headers, file.read(int(headers.get("content-length", 0))))
            with self.lock:
                self.seen.append(request)
                left = self.rules.get(f"{method} {request.path}")
                behave = problem(404, "NotFound") if not left else left.pop(0) if len(left) > 1 else left[0]
            behave(connection, request)
            file.close()
        except (OSError, ValueError):
            pass
        connection.close()

    def close(self):
        self.listener.close()
