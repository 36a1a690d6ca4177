"""Tokens: made here, shown once, kept as a hash.

A token is ``compat_ID_SECRET``. The secret has 256 random bits, so one round of SHA-256 is enough: nothing can be guessed, and
a slow hash would only let clients keep the server busy. The hash is compared in constant time, and so is that of an unknown id.
"""

from __future__ import annotations

import hmac
import secrets
import time
from hashlib import sha256

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from compat.service.database import Database
from compat.service.database.tables import tokens
from compat.service.records import Action, Identity, Role, Token
from compat.service.registry.audit import AT_THE_COMMAND_LINE, note
from compat.service.registry.errors import Conflict, NotFound

_NOBODY = sha256(b"").hexdigest()


class Tokens:
    """The tokens and their rights."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, role: Role, by: str = AT_THE_COMMAND_LINE) -> str:
        """Make a token and give its text, which nobody can see again. Raises Conflict if the name is taken."""
        id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        try:
            with self._database.write() as connection:
                connection.execute(
                    insert(tokens).values(id=id, name=name, role=int(role), hash=_hash(secret), created_at=time.time())
                )
                note(connection, by, Action.CREATE_TOKEN, name=name, role=role.name.lower())
        except IntegrityError:
            raise Conflict(f"There is a token {name!r} already.") from None
        return f"compat_{id}_{secret}"

    def identify(self, token: str) -> Identity | None:
        """The owner of a token; None for one that is not known."""
        head, _, rest = token.partition("_")
        id, _, secret = rest.partition("_")
        if head != "compat" or not (id.isascii() and id.isalnum()) or len(token) > 200:
            id = ""
        row = self._database.look("SELECT name, role, hash FROM tokens WHERE id = :id", id=id)
        name, role, known = ("", 0, _NOBODY) if row is None else row
        if not hmac.compare_digest(known, _hash(secret)) or row is None:
            return None
        return Identity(name, Role(role))

    def list(self) -> list[Token]:
        """All tokens, by name."""
        with self._database.read() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.name))
            return [Token(name=row.name, role=Role(row.role), created_at=row.created_at) for row in rows]

    def revoke(self, name: str, by: str = AT_THE_COMMAND_LINE) -> None:
        """Revoke a token. Raises NotFound."""
        with self._database.write() as connection:
            if connection.execute(delete(tokens).where(tokens.c.name == name)).rowcount == 0:
                raise NotFound(f"There is no token {name!r}.")
            note(connection, by, Action.REVOKE_TOKEN, name=name)


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
