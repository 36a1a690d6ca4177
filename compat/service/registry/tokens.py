"""Tokens: made here, shown once, kept as a hash.

A token is ``compat_ID_SECRET``. The secret has 256 random bits, so one round of SHA-256 is enough: nothing can be guessed, and
a slow hash would only let clients keep the server busy. The hash is compared in constant time, and so is that of an unknown id.
"""

from __future__ import annotations

import hmac
import secrets
import time
from hashlib import sha256

import msgspec
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from compat.service.database import Database
from compat.service.database.tables import tokens
from compat.service.records import Action, Identity, Role, Token, moment
from compat.service.registry.audit import AT_THE_COMMAND_LINE, note
from compat.service.registry.errors import Conflict, Expired, NotFound

_NOBODY = sha256(b"").hexdigest()


class Tokens:
    """The tokens and their rights."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        name: str,
        role: Role,
        by: str = AT_THE_COMMAND_LINE,
        jobs: tuple[str, ...] = (),
        expires_at: float | None = None,
    ) -> str:
        """Make a token and give its text, which nobody can see again. Raises Conflict if the name is taken.

        With ``jobs`` it changes only what belongs to jobs whose names match one of these patterns.
        """
        id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        bound = msgspec.json.encode(jobs).decode() if jobs else None
        values = {"id": id, "name": name, "role": int(role), "hash": _hash(secret), "created_at": time.time()}
        told = {"name": name, "role": role.name.lower()}
        if jobs:
            told["jobs"] = ", ".join(jobs)
        if expires_at is not None:
            told["expires"] = str(moment(expires_at))
        try:
            with self._database.write() as connection:
                connection.execute(insert(tokens).values(**values, jobs=bound, expires_at=expires_at))
                note(connection, by, Action.CREATE_TOKEN, **told)
        except IntegrityError:
            raise Conflict(f"There is a token {name!r} already.") from None
        return f"compat_{id}_{secret}"

    def identify(self, token: str) -> Identity | None:
        """The owner of a token; None for an unknown one. Raises Expired for one whose end has come."""
        head, _, rest = token.partition("_")
        id, _, secret = rest.partition("_")
        if head != "compat" or not (id.isascii() and id.isalnum()) or len(token) > 200:
            id = ""
        row = self._database.look("SELECT hash, name, role, jobs, expires_at FROM tokens WHERE id = :id", id=id)
        known = _NOBODY if row is None else row[0]
        if not hmac.compare_digest(known, _hash(secret)) or row is None:
            return None
        _, name, role, jobs, expires_at = row
        if expires_at is not None and time.time() >= expires_at:
            raise Expired(
                f"The token {name!r} ended at {moment(expires_at)}. Ask for another one: compat registry token create."
            )
        return Identity(name, Role(role), jobs=_bound(jobs))

    def list(self) -> list[Token]:
        """All tokens, by name."""
        with self._database.read() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.name))
            return [
                Token(
                    name=row.name,
                    role=Role(row.role),
                    created_at=row.created_at,
                    jobs=_bound(row.jobs),
                    expires_at=row.expires_at,
                )
                for row in rows
            ]

    def revoke(self, name: str, by: str = AT_THE_COMMAND_LINE) -> None:
        """Revoke a token. Raises NotFound."""
        with self._database.write() as connection:
            if connection.execute(delete(tokens).where(tokens.c.name == name)).rowcount == 0:
                raise NotFound(f"There is no token {name!r}.")
            note(connection, by, Action.REVOKE_TOKEN, name=name)


def _bound(jobs: str | None) -> tuple[str, ...]:
    return () if jobs is None else msgspec.json.decode(jobs, type=tuple[str, ...])


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
