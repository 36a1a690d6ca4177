"""A Maven repository of a few files, for tests."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HEAD = "<modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"


class Repository(ThreadingHTTPServer):
    """Counts what it is asked for; ``refusals`` requests are refused first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.refusals = 0
        self.asked: Counter[str] = Counter()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def add(self, name: str, pom: str = "", jar: bool = True) -> str:
        """Add version 1.0 of an artifact, whose pom says that; gives where its files are, without their endings."""
        path = f"/org/example/{name}/1.0/{name}-1.0"
        text = f"<project>{HEAD}<artifactId>{name}</artifactId><version>1.0</version>{pom}</project>"
        for ending, data in ((".pom", text.encode()), *([(".jar", _jar())] if jar else [])):
            self.files[path + ending] = data
            self.files[f"{path}{ending}.sha1"] = hashlib.sha1(data).hexdigest().encode()
        return path


class _Handler(BaseHTTPRequestHandler):
    server: Repository
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked[self.path] += 1
        data = self.server.files.get(self.path)
        if data is None or self.server.refusals > 0:
            self.server.refusals -= data is not None
            self.send_error(404 if data is None else 503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing on standard error."""


def _jar() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as jar:
        jar.writestr("words.txt", "a b c")
    return data.getvalue()


@contextmanager
def running() -> Iterator[Repository]:
    """A repository that answers within the block."""
    with Repository() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
