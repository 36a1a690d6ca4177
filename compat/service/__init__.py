"""The service: a registry of jobs and a gate for deployments, over HTTP.

    app = create_app(ServiceSettings(database="sqlite:///compat.db"))

It takes plans and descriptions of snapshots, not programs: nothing from a client is imported, run or unpickled, except
programs that :mod:`compat.service.building` builds, confined, if the operator allows it. Starlette
carries the requests (no framework above it is needed: bodies are read raw, and checked in other processes), SQLAlchemy the
registry, Alembic its migrations, Pebble the processes that check, as it can end one that takes too long. Nothing below
:mod:`compat.service` is imported by the checker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compat.service.app import create_app
    from compat.service.settings import ServiceSettings

__all__ = ["ServiceSettings", "create_app"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from compat.service.app import create_app

        return create_app
    if name == "ServiceSettings":
        from compat.service.settings import ServiceSettings

        return ServiceSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
