"""A relay whose answers can be lost."""
import os, socket, sys, threading, urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "openapi"))
import exchanges  # noqa: E402


class Lossy:
    """Passes requests on, and hangs up instead of answering as often as it is told to: the broker has carried them out."""

    def __init__(self, url):
        self.to, self.lose, self.lost = urllib.parse.urlsplit(url), 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        side, messages = exchanges.Side(True), []
        with client, socket.create_connection((self.to.hostname, self.to.port)) as broker:
            while not messages:
                piece = client.recv(65536)
                if not piece:
                    return
                messages += side.feed(piece)
                broker.sendall(piece)
            while piece := broker.recv(65536):
                if self.lose > 0:
                    self.lose, self.lost = self.lose - 1, self.lost + 1
                    return
                client.sendall(piece)
