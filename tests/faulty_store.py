"""An S3 server on this machine that fails at requests that a seed decides on, as storages do.

``python -m tests.object_store faulty SEED SHARE`` serves what :mod:`tests.object_store` does, but that share of requests is not
done, or done and not answered. ``GET /faults`` tells how many there were of each kind.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

REFUSED = ("500 Internal Server Error", "503 Slow Down")
"""Answers to what was not done, or was."""
SLOW = 1.0
"""Seconds that a slow answer takes at most."""
_TOLD = "/faults"


class Faulty:
    """Passes requests on to a server, but for some."""

    def __init__(self, application: Application, seed: str, share: float) -> None:
        self._application = application
        self._chance, self._share = random.Random(seed), share
        self._drawing = threading.Lock()
        self._faults: Counter[str] = Counter()

    def __call__(self, environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environment["PATH_INFO"] == _TOLD:
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(self._faults).encode()]
        fault = self._fault(environment)
        match fault:
            case "reset before":
                _reset(environment)
            case "reset behind":
                self._done(environment)
                _reset(environment)
            case "cut":
                return self._cut(environment, start)
            case "slow":
                time.sleep(self._chance.uniform(0, SLOW))
            case "":
                pass
            case _:
                if fault.endswith("behind"):
                    self._done(environment)
                start(fault.rpartition(" ")[0], [("Content-Length", "0")])
                return []
        return self._application(environment, start)

    def _fault(self, environment: dict[str, Any]) -> str:
        """What goes wrong with a request; empty for nothing. Buckets can always be made."""
        kinds = ["reset before", "reset behind", "slow", "cut"]
        kinds += [f"{answer} {when}" for answer in REFUSED for when in ("before", "behind")]
        with self._drawing:
            hit, kind = self._chance.random() < self._share, self._chance.choice(kinds)
            if not hit or environment["PATH_INFO"].count("/") < 2:
                return ""
            conditional = "conditional put" if "HTTP_IF_NONE_MATCH" in environment else environment["REQUEST_METHOD"]
            self._faults[f"{conditional}: {kind}"] += 1
            return kind

    def _done(self, environment: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bytes]:
        """Have a request be done; gives its answer, which nobody has yet."""
        said: list[tuple[str, list[tuple[str, str]]]] = []
        answer = self._application(environment, lambda status, headers, *_: said.append((status, headers)))
        body = b"".join(answer)
        return *said[0], body

    def _cut(self, environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status, headers, body = self._done(environment)
        start(status, headers)
        yield body[: len(body) // 2]
        _reset(environment)


def _reset(environment: dict[str, Any]) -> None:
    """Have the connection be reset: the system does so where it is closed with a linger of no time."""
    connection: socket.socket = environment["werkzeug.socket"]
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(connection.detach())
    raise ConnectionResetError("as the seed says")


def faults_of(address: str) -> Counter[str]:
    """How many faults of each kind a server has made."""
    with urllib.request.urlopen(f"{address}{_TOLD}") as answer:
        return Counter(json.load(answer))
