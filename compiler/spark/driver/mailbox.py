"""Requests of other processes to the driver of a job: files in the job's directory, a request and then its answer."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Iterator
from typing import Any

from compat.compiler.spark.driver import lease
from compat.state.stores.paths import Place

_SLOW = 1.0
"""Seconds between two looks into a mailbox on a storage where each is a request."""


class Mailbox:
    """The mailbox in the directory of a job."""

    def __init__(self, directory: Place) -> None:
        self._directory, self._box = directory, directory / "mailbox"
        self._looked = -math.inf

    def ask(self, action: str, timeout: float = 300.0, **arguments: Any) -> dict[str, Any]:
        """Send the driver a request and wait for its answer; its ``error`` says why there is no result."""
        number = uuid.uuid4().hex
        place = self._box / f"{number}.answer"
        send(self._box / f"{number}.request", {"action": action, **arguments})
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            over = not lease.is_held(self._directory)
            if place.exists():
                found: dict[str, Any] = json.loads(place.read())
                place.delete()
                return found
            if over:
                return {"error": f"Job {self._directory.name} is not running any more."}
            time.sleep(0.05 if self._box.local else _SLOW / 2)
        return {"error": f"Job {self._directory.name} gave no answer within {timeout:.0f} s."}

    def requests(self) -> Iterator[tuple[Place, dict[str, Any]]]:
        """The requests, each with the place for its answer."""
        now = time.monotonic()
        if not self._box.local and now - self._looked < _SLOW:
            return
        self._looked = now
        for entry in self._box.list():
            if entry.name.endswith(".request"):
                data = json.loads((self._box / entry.name).read())
                (self._box / entry.name).delete()
                yield self._box / f"{entry.name.removesuffix('.request')}.answer", data


def send(place: Place, data: dict[str, Any]) -> None:
    """Leave a message: a request, or an answer."""
    place.write(json.dumps(data).encode())
