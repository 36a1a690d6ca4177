"""A cluster of Flink that only answers: what its REST API tells of jobs, and what it was asked."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.compat.savepoint.golden import saved

SMALL = saved("flink_1_20_small_uid_canonical")
"""A savepoint of Flink 1.20, whose metadata has no names, with the program that wrote it."""
JOB, OTHER = "6f2c" * 8, "aa11" * 8
SOURCE, COUNT = "07b408f854675cb48b0e16c6b329ef79", "b71731f1c0df9c3076c4a455334d0ad6"


class Several(list[Any]):
    """What is answered one after the other."""


def job(id: str = JOB, name: str = "small", state: str = "RUNNING", started: int = 1000) -> dict[str, Any]:
    return {"jid": id, "name": name, "state": state, "start-time": started, "tasks": {}}


def details(vertices: Mapping[str, str], id: str = JOB, name: str = "small") -> dict[str, Any]:
    told = [{"id": key, "name": chain, "parallelism": 2, "maxParallelism": 128} for key, chain in vertices.items()]
    return {"jid": id, "name": name, "state": "RUNNING", "vertices": told, "plan": {}}


def taken(path: str, id: int = 7, *, savepoint: bool = False, at: int = 1_790_000_000_000) -> dict[str, Any]:
    return {"id": id, "is_savepoint": savepoint, "trigger_timestamp": at, "external_path": path, "discarded": False}


@dataclass
class Answers:
    """What a cluster answers, by path; ``asked`` are the methods and paths of requests, ``headers`` those of the last one."""

    pages: dict[str, Any]
    asked: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    token: str = ""
    url: str = ""


def answers(
    *jobs: dict[str, Any], path: str | None = None, vertices: Mapping[str, str] | None = None, version: str = "1.20.5"
) -> Answers:
    """The answers of a cluster whose jobs have one checkpoint each, the first of them that of ``path``."""
    pages: dict[str, Any] = {
        "/config": {"flink-version": version, "refresh-interval": 3000},
        "/jobs/overview": {"jobs": list(jobs or (job(),))},
    }
    for one in jobs or (job(),):
        at = f"/jobs/{one['jid']}"
        pages[at] = details(vertices or {}, one["jid"], one["name"])
        last = None if path is None else taken(path)
        pages[f"{at}/checkpoints"] = {"latest": {"completed": last, "savepoint": None, "failed": None}, "counts": {}}
        pages[f"{at}/checkpoints/details/7"] = {"tasks": {id: {"state_size": 400} for id in vertices or {}}}
    return Answers(pages)


@contextmanager
def cluster(told: Answers, base: str = "", context: ssl.SSLContext | None = None) -> Iterator[Answers]:
    """Such a cluster, at ``told.url``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer("POST")

        def _answer(self, method: str) -> None:
            told.asked.append((method, self.path))
            told.headers = dict(self.headers)
            found = told.pages.get(self.path.removeprefix(base)) if self.path.startswith(base) else None
            found = found.pop(0) if isinstance(found, Several) else found
            refused = told.token and self.headers.get("Authorization") != told.token
            status = 401 if refused else 404 if found is None else 200
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps({"errors": ["nothing"]} if status != 200 else found).encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    told.url = f"http{'' if context is None else 's'}://127.0.0.1:{server.server_port}{base}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
