"""Jars from a repository that several ask at once, that refuses once, or that does not answer."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from compat.loader.jvm import maven
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.maven import Artifact, fetch

ARTIFACT = Artifact(group="org.example", name="words", version="1.0")
BASE = "/org/example/words/1.0/words-1.0"
POM = b"""<project><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>words</artifactId><version>1.0</version></project>"""


def _jar() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as jar:
        jar.writestr("words.txt", "a b c")
    return data.getvalue()


FILES = {f"{BASE}.pom": POM, f"{BASE}.jar": _jar()}
FILES |= {f"{name}.sha1": hashlib.sha1(data).hexdigest().encode() for name, data in FILES.items()}


class Repository(ThreadingHTTPServer):
    """A repository of one jar, which counts what it is asked for; ``refusals`` requests are refused first."""

    refusals = 0
    asked: Counter[str]


class _Handler(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        self.server.asked[self.path] += 1
        data = FILES.get(self.path)
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


@pytest.fixture
def repository(java: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    with Repository(("127.0.0.1", 0), _Handler) as server:
        server.asked = Counter()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv(maven.REPOSITORY_VARIABLE, f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(maven, "cache_folder", lambda: tmp_path / "a cache")
        monkeypatch.setattr(maven, "_PAUSE", 0.0)
        yield server
        server.shutdown()


def test_several_that_want_the_same_jars_fetch_them_once(repository: Repository) -> None:
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: fetch("words", [ARTIFACT]), range(3)))
    assert [[jar.name for jar in jars] for jars in found] == [["words-1.0.jar"]] * 3
    assert repository.asked[f"{BASE}.pom"] <= 2  # Ivy asks for the size, then for the file


def test_a_repository_that_refuses_once_is_asked_again(repository: Repository) -> None:
    repository.refusals = 1
    (jar,) = fetch("words", [ARTIFACT])
    assert jar.read_bytes() == FILES[f"{BASE}.jar"]


def test_one_that_goes_on_refusing_is_told_with_its_reason(repository: Repository) -> None:
    repository.refusals = 1_000
    with pytest.raises(
        JvmError, match=r"org\.example:words:1\.0 cannot be fetched .*SERVER ERROR: Service Unavailable"
    ):
        fetch("words", [ARTIFACT])


def test_a_jar_that_is_nowhere_is_asked_for_once(repository: Repository) -> None:
    with pytest.raises(JvmError, match="not found"):
        fetch("words", [Artifact(group="org.example", name="letters", version="1.0")])
    assert repository.asked["/org/example/letters/1.0/letters-1.0.pom"] == 1
