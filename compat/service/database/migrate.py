"""Migrations, by Alembic; its scripts are in ``migrations/versions``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

_LOCK = 0x636F6D706174
"""The name of the advisory lock that PostgreSQL holds while one server migrates."""


class Schema(NamedTuple):
    """Tables that are migrated together: the place of the scripts, their package, and the table with the present form."""

    package: str
    scripts: str
    form: str


REGISTRY = Schema("compat.service.database", "migrations/versions", "alembic_version")
"""The tables of the registry."""


class LaterForm(ValueError):
    """Tables of a form that only a later version of compat knows."""


def migrate(engine: Engine, schema: Schema = REGISTRY) -> None:
    """Bring the tables to the newest form, in one transaction that other servers wait for.

    Tables that have it are only read: somebody else may be in the midst of a write. Raises LaterForm.
    """
    with engine.connect() as connection:
        if migrated(connection, schema):
            return
        found, known = revision(connection, schema), revisions(schema)
        if found is not None and found not in known:
            raise LaterForm(
                f"The tables of {engine.url.render_as_string()} have form {found}, and this version of compat knows the forms "
                f"up to {max(known)}: a later one has migrated them. Update compat, or go back to a backup of before."
            )
    with engine.connect() as bare:
        connection = bare.execution_options(writes=True)
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL lock_timeout = 0"))  # another server's migration may take long
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            given = config(schema)
            given.attributes["connection"] = connection
            command.upgrade(given, "head")


def migrated(connection: Connection, schema: Schema = REGISTRY) -> bool:
    """True if the tables have the newest form."""
    return revision(connection, schema) == _head(schema)


def revision(connection: Connection, schema: Schema = REGISTRY) -> str | None:
    """The present form of the tables; None for none."""
    return MigrationContext.configure(connection, opts={"version_table": schema.form}).get_current_revision()


def revisions(schema: Schema = REGISTRY) -> set[str]:
    """The forms known to this version."""
    return {script.revision for script in ScriptDirectory.from_config(config(schema)).walk_revisions()}


def config(schema: Schema = REGISTRY) -> Config:
    """Alembic's settings: where the scripts are."""
    given = Config()
    given.set_main_option("script_location", str(files("compat.service.database").joinpath("migrations")))
    given.set_main_option("version_locations", str(files(schema.package).joinpath(schema.scripts)))
    given.set_main_option("path_separator", "os")
    given.attributes["form"] = schema.form
    return given


@cache
def _head(schema: Schema) -> str | None:
    return ScriptDirectory.from_config(config(schema)).get_current_head()
