"""The contents of a snapshot in a folder for its page: from the registry, and from its table now."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from compat.service import discovery, worker
from compat.service.pages import contents, running
from compat.service.records import Savepoint
from compat.service.registry import NotFound


class Stored(Struct, frozen=True):
    """A snapshot's contents; ``history`` is that of a job's own table, None for any other and for one that cannot be read."""

    inside: dict[str, Any]
    history: running.History | None

    def shown(self) -> dict[str, Any]:
        """The values that templates of such pages have in common."""
        return {
            "facts": contents.facts(self.inside),
            "operators": contents.operators(self.inside),
            "metrics": contents.metrics(self.inside),
        }


def stored(found: Savepoint) -> Stored:
    """The contents of a snapshot. Reads files: for a worker process."""
    try:
        inside = worker.registry().savepoints.inspection(found.id)
    except NotFound:
        inside = {}
    if found.kind == discovery.FLINK or found.status != "ok":
        return Stored(inside, None)
    history, measured = running.look_into(found.path, is_job=found.kind == discovery.DELTA_JOB)
    return Stored({**inside, "operators": measured or inside.get("operators")}, history)
