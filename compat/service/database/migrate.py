"""Migrations, by Alembic; its scripts are in ``migrations/versions``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

_LOCK = 0x636F6D706174
"""Names the advisory lock that PostgreSQL keeps while one server migrates."""


def migrate(engine: Engine) -> None:
    """Bring the tables to the newest form, in one transaction that other servers wait for."""
    with engine.connect() as bare:
        connection = bare.execution_options(writes=True)
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            given = config()
            given.attributes["connection"] = connection
            command.upgrade(given, "head")


def migrated(connection: Connection) -> bool:
    """True if the tables have the newest form."""
    return revision(connection) == _head()


def revision(connection: Connection) -> str | None:
    """The form that the tables have; None for none."""
    return MigrationContext.configure(connection).get_current_revision()


def revisions() -> set[str]:
    """The forms that this version knows."""
    return {script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()}


def config() -> Config:
    """Alembic's settings: where the scripts are."""
    given = Config()
    given.set_main_option("script_location", str(files("compat.service.database").joinpath("migrations")))
    given.set_main_option("path_separator", "os")
    return given


@cache
def _head() -> str | None:
    return ScriptDirectory.from_config(config()).get_current_head()
