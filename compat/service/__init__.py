"""The service: a registry of jobs and a gate for deployments, over HTTP.

    app = create_app(ServiceSettings(database="sqlite:///compat.db"))

It takes plans and descriptions of snapshots, not programs: nothing from a client is imported, run or unpickled, except
programs that :mod:`compat.service.building` builds, confined, if the operator allows it. Starlette serves the requests; no
larger framework is needed, because bodies are read raw and checked in other processes. SQLAlchemy keeps the registry, and
Alembic migrates it. Pebble runs the processes that check, as it can end a process that takes too long. The checker imports
nothing below :mod:`compat.service`.
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
