"""Requests and answers as they went over the wire: a relay between a client and the broker writes each of them as a line of JSON,
which judge.py compares with docs/openapi.yaml. It passes every byte on as it comes, so streams stay streams.

  exchanges.py URL FILE      prints the URL of the relay, and passes on until it is ended"""
import base64, json, os, signal, socket, subprocess, sys, threading

PYTHON = ["/usr/bin/python3", "-P"]  # the one that Debian's packages are for
JUDGE = [*PYTHON, os.path.join(os.path.dirname(os.path.abspath(__file__)), "judge.py")]


def can_judge():
    """Whether the packages are there that judge.py needs."""
    return subprocess.run([*PYTHON, "-c", "import jsonschema, yaml"], stderr=subprocess.DEVNULL).returncode == 0


class Message:
    """One request or answer, from the bytes that have come so far."""

    def __init__(self, head, lines, length):
        self.head, self.headers, self.body, self.whole = head, {}, b"", False
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.length = length  # of its body; None: until the connection ends


def chunks(data, message):
    """Takes the complete chunks at the beginning of data; what is left."""
    while not message.whole:
        size, found, rest = data.partition(b"\r\n")
        count = int(size.split(b";")[0], 16) if found else 0
        if not found or len(rest) < count + 2:
            return data
        message.body += rest[:count]
        data = rest[count + 2:]
        message.whole = count == 0
    return data


class Side:
    """The messages of one direction of a connection."""

    def __init__(self, is_request, method_of=None):
        self.is_request, self.method_of, self.data, self.now = is_request, method_of, b"", None
        self.raw = False  # after 101 the bytes are no messages any more

    def begin(self):
        head, found, rest = self.data.partition(b"\r\n\r\n")
        if not found:
            return False
        first, *lines = head.decode("latin-1").split("\r\n")
        self.data = rest
        message = Message(first, lines, 0)
        status = 0 if self.is_request else int(first.split(" ")[1])
        if status == 100:
            return bool(rest) and self.begin()
        self.raw = status == 101
        bodiless = not self.is_request and (status in (101, 204, 304) or self.method_of() == "HEAD")
        if "content-length" in message.headers and not bodiless:
            message.length = int(message.headers["content-length"])
        elif not self.is_request and not bodiless:
            message.length = None
        self.now = message
        return True

    def feed(self, piece):
        """Yields the messages that this piece completes."""
        if self.raw:
            return
        self.data += piece
        while self.now or (self.data and not self.raw and self.begin()):
            message = self.now
            if message.headers.get("transfer-encoding") == "chunked":
                self.data = chunks(self.data, message)
            elif message.length is None:
                message.body, self.data = message.body + self.data, b""
            else:
                need = message.length - len(message.body)
                message.body, self.data = message.body + self.data[:need], self.data[need:]
                message.whole = len(message.body) == message.length
            if not message.whole:
                return
            self.now = None
            yield message

    def end(self):
        """What was under way when the connection ended; None: nothing."""
        message, self.now = self.now, None
        if message:
            message.whole = message.length is None and "transfer-encoding" not in message.headers
        return message


def line_of(request, answer):
    method, target = (request.head.split(" ") + ["", ""])[:2]
    return json.dumps({"method": method, "target": target, "request_headers": {"content-type": request.headers.get("content-type", "")},
                       "request": base64.b64encode(request.body).decode(), "status": int(answer.head.split(" ")[1]), "headers": answer.headers,
                       "body": base64.b64encode(answer.body).decode(), "whole": answer.whole}) + "\n"


class Relay:
    """Listens on a port of this machine and writes what passes to a file."""

    def __init__(self, to_url, path, port=0):
        host, to_port = to_url.removeprefix("http://").split(":")
        self.to, self.file, self.lock = (host, int(to_port)), open(path, "a"), threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.path = path
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, (address, _) = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client, address), daemon=True).start()

    def write(self, request, answer):
        self.put(line_of(request, answer))

    def note(self, fault):
        """What the judge is to call a fault."""
        self.put(json.dumps({"fault": fault}) + "\n")

    def put(self, line):
        with self.lock:
            if not self.file.closed:
                self.file.write(line)
                self.file.flush()

    def serve(self, client, address):
        """The broker sees the client's address: guesses of tokens are counted by address."""
        try:
            broker = socket.create_connection(self.to, source_address=(address, 0))
        except OSError:
            client.close()
            return
        for side in (client, broker):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        requests = []  # without an answer so far
        outward = Side(True)
        inward = Side(False, lambda: requests[0].head.split(" ")[0] if requests else "")
        up = threading.Thread(target=self.pump, args=(client, broker, lambda piece: requests.extend(outward.feed(piece))), daemon=True)
        up.start()

        def answered(piece):
            for answer in inward.feed(piece):
                outward.raw = inward.raw
                if requests:
                    self.write(requests.pop(0), answer)
        self.pump(broker, client, answered)
        rest = inward.end()
        if rest and requests:
            self.write(requests.pop(0), rest)
        up.join(1)
        client.close()
        broker.close()

    def pump(self, source, sink, see):
        """Until the source ends; the other direction ends with it. What a piece means is looked at before it goes on, and whatever that gives,
        it goes on."""
        try:
            while piece := source.recv(65536):
                try:
                    see(piece)
                except (ValueError, IndexError) as error:
                    self.note(f"not understood: {error!r} in {piece[:200]!r}")
                    see = bool
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
        with self.lock:
            self.file.close()


if __name__ == "__main__":
    print(Relay(*sys.argv[1:]).url, flush=True)
    signal.pause()
