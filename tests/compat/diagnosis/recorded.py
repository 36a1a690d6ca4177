"""The failures of real restores in ``tests/golden``, as a log would have them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

GOLDEN = Path(__file__).parents[2] / "golden"


class Recorded(NamedTuple):
    """A restore that failed: where it is recorded, and its exceptions, the outermost first."""

    where: str
    exceptions: tuple[str, ...]

    @property
    def log(self) -> str:
        """What Java prints of the exceptions, without stack traces, which were not recorded."""
        return "\nCaused by: ".join(self.exceptions)


def failures() -> Iterator[Recorded]:
    """Every restore that is recorded as failed."""
    for read in (_differences, _drawn, _forst, _java, _pairs, _queries, _restores, _topologies, _types, _remapped):
        yield from read()


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _parts(text: str, between: str) -> tuple[str, ...]:
    return tuple(part for part in text.removeprefix("Failed: ").split(between) if part.strip())


def _differences() -> Iterator[Recorded]:
    for path in sorted(GOLDEN.glob("differences/*/flink.json")):
        for allowed, one in json.loads(path.read_text(encoding="utf-8")).items():
            if isinstance(one, dict) and one.get("outcome") == "failed":
                yield Recorded(f"{path.parent.name} {allowed}", _parts(one["error"], " <- "))


def _drawn() -> Iterator[Recorded]:
    for row in _rows(GOLDEN / "drawn" / "java.jsonl"):
        for backend, one in row["flink"].items():
            if not one["restored"] and one["what"].startswith("failed"):
                yield Recorded(f"drawn java {row['name']} {backend}", (one["how"],))
    for row in _rows(GOLDEN / "drawn" / "pyflink.jsonl"):
        if row["outcome"] == "failed":
            yield Recorded(f"drawn pyflink {row['name']}", tuple(row["errors"]))
    for row in _rows(GOLDEN / "drawn" / "sql.jsonl"):
        if row.get("exception"):
            one = row["exception"]
            yield Recorded(f"drawn sql {row['name']}", (f"{one['class']}: {one['message']}",))


def _forst() -> Iterator[Recorded]:
    for path in sorted((GOLDEN / "forst").rglob("*.json")):
        for job, backends in json.loads(path.read_text(encoding="utf-8")).items():
            for backend, said in backends.items() if isinstance(backends, dict) else ():
                if isinstance(said, str) and "Exception" in said:
                    yield Recorded(f"forst {job} {backend}", (said,))


def _java() -> Iterator[Recorded]:
    for path in sorted((GOLDEN / "java").rglob("*.json*")):
        try:
            rows = list(_rows(path))
        except json.JSONDecodeError:
            rows = [json.loads(path.read_text(encoding="utf-8"))]
        for row in rows:
            attempts = row.get("attempts") if isinstance(row, dict) else None
            for one, attempt in attempts.items() if isinstance(attempts, dict) else ():
                said = attempt.get("exception") if isinstance(attempt, dict) else None
                where = f"java {path.parent.name} {row.get('name')} {one}"
                if isinstance(said, str) and said:
                    yield Recorded(where, _parts(said, " | "))
                elif said:
                    yield Recorded(where, (f"{said['class']}: {said['message']}",))


def _pairs() -> Iterator[Recorded]:
    for row in _rows(GOLDEN / "pyflink-2.3" / "pairs.jsonl.gz"):
        restore = row["expected"].get("restore") or {}
        for ignoring, one in (("", restore), (" ignoring", restore.get("ignoring_unclaimed_state") or {})):
            if one.get("errors"):
                yield Recorded(f"pair {row.get('name')}{ignoring}", tuple(one["errors"]))


def _queries() -> Iterator[Recorded]:
    for row in _rows(GOLDEN / "random_queries" / "2.3.0.jsonl.gz"):
        if row["outcome"] == "failed":
            yield Recorded(f"query {row['seed']}", (row["error"],))


def _restores() -> Iterator[Recorded]:
    for path in sorted((GOLDEN / "random_restores").glob("*.jsonl.gz")):
        for row in _rows(path):
            if row["outcome"] == "failed":
                yield Recorded(f"restore {path.name} {row['seed']} {row['when']}", tuple(row["errors"]))


def _topologies() -> Iterator[Recorded]:
    for path in sorted((GOLDEN / "random_topologies").glob("*.jsonl.gz")):
        for row in _rows(path):
            for number, one in enumerate(row["restored"]):
                if one["outcome"] == "failed":
                    yield Recorded(f"topology {path.name} {row['seed']} {number}", _parts(one["error"], " <- "))


def _types() -> Iterator[Recorded]:
    for row in _rows(GOLDEN / "random_types" / "2.3.0.jsonl.gz"):
        if row["outcome"] == "failed":
            yield Recorded(f"types {row['seed']}", _parts(row["error"], " <- "))


def _remapped() -> Iterator[Recorded]:
    for path in sorted((GOLDEN / "savepoints_remapped").rglob("*.json")):
        for name, one in json.loads(path.read_text(encoding="utf-8")).items():
            said = one["restores"].get("without_remap", {}) if isinstance(one, dict) and "restores" in one else {}
            if said.get("message"):
                yield Recorded(f"remapped {name}", (said["message"],))
