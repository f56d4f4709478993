"""The people's door of a running broker, through raw sockets: requests exactly as an attacker writes them."""
import json, os, socket, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import check  # noqa: E402

ANSWER_S = 15  # how long a case waits for an answer or the end of its connection
OTHERS_S = 3   # an ordinary request beside an attack takes no longer


class Door:
    """The HTTP port of the broker."""

    def __init__(self, url, token):
        self.host, port = url.removeprefix("http://").split(":")
        self.port, self.token, self.number = int(port), token, 0

    def connect(self, source=""):
        """source: an address of this machine, as 127.0.0.9; "": any."""
        connection = socket.create_connection((self.host, self.port), timeout=ANSWER_S, source_address=(source, 0))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def send(self, data, source="", wait_s=2):
        """(status, closed, bytes): the first answer, and whether the connection ended after it."""
        with self.connect(source) as connection:
            try:
                connection.sendall(data)
            except OSError:
                pass  # it hung up meanwhile: its answer tells
            connection.settimeout(wait_s)
            got, closed = b"", False
            try:
                while len(got) < 1 << 20:
                    piece = connection.recv(65536)
                    if not piece:
                        closed = True
                        break
                    got += piece
            except ConnectionError:
                closed = True
            except TimeoutError:
                pass
        status = int(got.split(b" ", 2)[1]) if got.startswith(b"HTTP/1.") else 0
        return status, closed, got

    def get(self, path, token=None, headers=""):
        token = self.token if token is None else token
        bearer = f"Authorization: Bearer {token}\r\n" if token else ""
        return self.send(f"GET {path} HTTP/1.1\r\nHost: a\r\n{bearer}{headers}Connection: close\r\n\r\n".encode())

    def raw(self, method, path, token, body, headers="", wait_s=2):
        """One request with a document, from an address that no other request has: guesses are counted by address."""
        self.number += 1
        text = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        bearer = f"Authorization: Bearer {token}\r\n" if token else ""
        kind = "" if body is None else f"Content-Length: {len(text)}\r\n"
        kind += "" if body is None or "Content-Type" in headers else "Content-Type: application/json\r\n"
        head = f"{method} {path} HTTP/1.1\r\nHost: a\r\n{bearer}{kind}{headers}Connection: close\r\n\r\n"
        return self.send(head.encode() + text, f"127.9.{self.number >> 8}.{self.number & 255 or 1}", wait_s)

    def ask(self, method, path, token, body=None, headers=""):
        """(status, the answer as JSON, or as bytes where it is none)."""
        status, _, got = self.raw(method, path, token, body, headers)
        _, _, text = got.partition(b"\r\n\r\n")
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def must(self, method, path, body):
        status, said = self.ask(method, path, self.token, body)
        check(status in (200, 201), f"{method} {path} of the administrator: {status} {said}")
        return said

    def token_of(self, tenant, user, role="user"):
        """A token of the tenant, which is created if it does not exist."""
        self.must("POST", "/v1/tenants", {"tenant": tenant})
        return self.must("POST", "/v1/tokens", {"tenant": tenant, "user": user, "role": role})["token"]

    def submit(self, token, doc):
        status, said = self.ask("POST", "/v1/jobs", token, doc)
        check(status == 201, f"a job is refused: {said}")
        return said["jobs"][0]["id"]

    def others(self, while_what, token=None):
        """An ordinary request of somebody else, and how long it took."""
        began = time.monotonic()
        status, _, got = self.get("/v1/whoami", token)
        took = time.monotonic() - began
        check(status == 200, f"{while_what}, an ordinary request gets {status}: {got[-300:]}")
        check(took < OTHERS_S, f"{while_what}, an ordinary request takes {took:.1f} s")
