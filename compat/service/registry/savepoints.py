"""Savepoints and checkpoints that were found in the operator's folders."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import delete, insert, select, update

from compat.service.database import AnyRow, Database
from compat.service.database.tables import savepoints
from compat.service.records import Savepoint
from compat.service.registry.errors import NotFound
from compat.service.registry.packing import unpack
from compat.state.stores.schemes import is_remote, split_remote


class SeenSavepoint(Struct, frozen=True, kw_only=True):
    """A snapshot found in a folder; ``inspection`` is deflated JSON, None for one that cannot be read."""

    id: str
    path: str
    kind: str
    job: str | None
    status: str
    error: str | None
    checkpoint: int | None
    operators: int | None
    size: int | None
    modified_at: float
    fingerprint: str
    inspection: bytes | None


class Savepoints:
    """Savepoints by id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, job: str | None = None, limit: int = 1000, kinds: Collection[str] | None = None) -> list[Savepoint]:
        """Savepoints, newest first: of one job, or all; of some kinds, or any."""
        query = select(*_COLUMNS).order_by(savepoints.c.modified_at.desc(), savepoints.c.id).limit(limit)
        if job is not None:
            query = query.where(savepoints.c.job == job)
        if kinds is not None:
            query = query.where(savepoints.c.kind.in_(kinds))
        with self._database.read() as connection:
            return [_savepoint(row) for row in connection.execute(query)]

    def get(self, id: str) -> Savepoint:
        """A savepoint. Raises NotFound."""
        with self._database.read() as connection:
            row = connection.execute(select(*_COLUMNS).where(savepoints.c.id == id)).first()
        if row is None:
            raise NotFound(f"There is no savepoint {id!r}.")
        return _savepoint(row)

    def at(self, path: str) -> Savepoint | None:
        """The savepoint of a path, None if there is none.

        Flink writes ``file:`` in front of a path, knows S3 by several names (``s3a://``) and takes the file for the folder.
        """
        plain = re.sub("^file:(?://)?(?=/)", "", path).rstrip("/").removesuffix("/_metadata").rstrip("/")
        if is_remote(plain):
            plain = "/".join(split_remote(plain)).rstrip("/")
        query = select(*_COLUMNS).where(savepoints.c.path == plain, savepoints.c.status == "ok")
        with self._database.read() as connection:
            row = connection.execute(query.limit(1)).first()
        return None if row is None else _savepoint(row)

    def inspection(self, id: str) -> dict[str, Any]:
        """The contents of a savepoint: for Flink's, what ``compat inspect --format json`` gives. Raises NotFound.

        For our Delta store: ``job_id``, ``job_name``, ``epoch``, ``plan`` and ``checkpoints``, each as far as it is known.
        """
        found: dict[str, Any] = json.loads(self.inspection_text(id))
        return found

    def inspection_text(self, id: str) -> bytes:
        """The JSON of those contents. Raises NotFound."""
        with self._database.read() as connection:
            row = connection.execute(select(savepoints.c.inspection).where(savepoints.c.id == id)).first()
        if row is None:
            raise NotFound(f"There is no savepoint {id!r}.")
        if row.inspection is None:
            raise NotFound(f"Savepoint {id!r} could not be read.")
        return unpack(row.inspection)

    def digest(self, id: str) -> str | None:
        """The digest of a savepoint of Flink, by its metadata; None if it is not known. Raises NotFound."""
        try:
            found = self.inspection(id).get("digest")
        except NotFound:
            return None
        return found if isinstance(found, str) else None

    def fingerprints(self) -> dict[str, str]:
        """The fingerprint of each present savepoint, by its id."""
        query = select(savepoints.c.id, savepoints.c.fingerprint).where(savepoints.c.status != "gone")
        with self._database.read() as connection:
            return {row.id: row.fingerprint for row in connection.execute(query)}

    def put(self, seen: SeenSavepoint) -> None:
        """Store the found savepoints, in place of their former entries."""
        values = asdict(seen) | {"bytes": seen.size, "seen_at": time.time()}
        del values["size"]
        with self._database.write() as connection:
            connection.execute(delete(savepoints).where(savepoints.c.id == seen.id))
            connection.execute(insert(savepoints).values(values))

    def gone(self, ids: Collection[str]) -> None:
        """Mark savepoints that are no longer in their folder."""
        if ids:
            with self._database.write() as connection:
                connection.execute(
                    update(savepoints).where(savepoints.c.id.in_(ids)).values(status="gone", seen_at=time.time())
                )


_COLUMNS = tuple(column for column in savepoints.c if column.name not in ("inspection", "fingerprint"))


def _savepoint(row: AnyRow) -> Savepoint:
    return Savepoint(
        id=row.id,
        path=row.path,
        kind=row.kind,
        job=row.job,
        status=row.status,
        error=row.error,
        checkpoint=row.checkpoint,
        operators=row.operators,
        bytes=None if row.bytes is None else int(row.bytes),
        modified_at=row.modified_at,
        seen_at=row.seen_at,
    )
