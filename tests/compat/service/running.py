"""A service as a process of its own, and plans to send to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from compat.loader.topology import plan_of
from compat.plan.writing import plain
from compat.service.database import Database
from compat.service.records import Role
from compat.service.registry import Registry

ROOT = Path(__file__).parents[3]
JSON = {"Content-Type": "application/json"}


def topology(*names: str, uids: bool = False, job: str = "job") -> dict[str, Any]:
    """A chain of keyed operators with these names, each with state."""
    ops: list[dict[str, Any]] = [{"id": "in", "kind": "source"}]
    for name in names:
        ops.append({"id": f"key {name}", "kind": "key_by", "inputs": [ops[-1]["id"]]})
        ops.append({"id": name, "kind": "keyed_process", "name": name, "inputs": [f"key {name}"]})
        if uids:
            ops[-1]["uid"] = f"uid {name}"
    ops.append({"id": "out", "kind": "print", "inputs": [ops[-1]["id"]]})
    return {"name": job, "ops": ops}


def plan(*names: str, uids: bool = False) -> dict[str, Any]:
    """The plan of :func:`topology`."""
    found = plan_of(topology(*names, uids=uids), "2.3", {})
    assert found.error is None, found.error
    return plain(found)


@cache
def plans_text(*names: str) -> str:
    return json.dumps(plan(*names))


OLD = ("count", "sum")
RENUMBERED = ("new", "count", "sum")
"""A program in which every generated id moved."""


@dataclass
class Running:
    """A service that runs; ``tokens`` by role."""

    process: subprocess.Popen[bytes]
    url: str
    database: str
    log: Path
    tokens: dict[str, str]
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    def client(self, role: str | None = "admin") -> httpx.Client:
        """A client with a token of that role, or without one."""
        if (role or "") not in self.clients:
            headers = {} if role is None else {"Authorization": f"Bearer {self.tokens[role]}"}
            self.clients[role or ""] = httpx.Client(base_url=self.url + "/api/v1", headers=headers, timeout=60)
        return self.clients[role or ""]

    @property
    def registry(self) -> Registry:
        return Registry(Database(self.database))

    def push(self, job: str, *names: str, **more: Any) -> httpx.Response:
        return self.client("push").post(f"/jobs/{job}/versions", json={"plan": plan(*names), **more})

    def promote(self, job: str, role: str = "push", **more: Any) -> httpx.Response:
        return self.client(role).post(f"/jobs/{job}/promotions", json=more)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        self._close()

    def stop(self) -> int:
        """End it as an operator would; its exit code."""
        self.process.terminate()
        try:
            code = self.process.wait(30)
        finally:
            self._close()
        return code

    def _close(self) -> None:
        for client in self.clients.values():
            client.close()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def rss(self) -> int:
        """Bytes of memory of the server's own process."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmRSS"))

    def lines(self) -> list[dict[str, Any]]:
        """The log."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def make_tokens(database: str) -> dict[str, str]:
    """A token of each role, in a database whose tables are made here."""
    registry = Registry(Database(database))
    registry.database.migrate()
    try:
        return {role.name.lower(): registry.tokens.create(f"a {role.name.lower()}", role) for role in Role if role}
    finally:
        registry.database.close()


def serve(
    folder: Path, *options: str, database: str | None = None, tokens: dict[str, str] | None = None, **popen: Any
) -> Running:
    """Start a service with its database in ``folder``, and wait until it is ready."""
    database = database or f"sqlite:///{folder}/compat.db"
    tokens = tokens or make_tokens(database)
    log = folder / "server.log"
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "compat",
                "serve",
                "--database",
                database,
                "--port",
                "0",
                "--workers",
                "1",
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            **popen,
        )
    assert process.stdout is not None
    url = process.stdout.readline().decode().strip()
    running = Running(process, url, database, log, tokens)
    try:
        wait_until_ready(running)
    except BaseException:
        running.kill()
        raise
    return running


def wait_until_ready(running: Running, seconds: float = 240) -> None:
    """Return when the service can serve. Raises AssertionError, with its log, if it ends or takes too long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert running.process.poll() is None, running.log.read_text()
        try:
            if httpx.get(f"{running.url}/readyz", timeout=60).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.05)
    raise AssertionError(running.log.read_text())
