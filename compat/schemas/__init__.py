"""The JSON schemas of what compat reads and writes.

The schema of a plan follows from its model, those of settings and topologies from the tables they are read by; that of a
report is a file.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

NAMES = ("plan", "report", "settings", "topology")
"""The formats that have a schema."""


def text(name: str) -> str:
    """The schema of a format.

    Raises :class:`ValueError` for a name that is none, :class:`FileNotFoundError` if its file is not installed.
    """
    if name not in NAMES:
        raise ValueError(f"no schema named {name!r}; there are {', '.join(NAMES)}")
    if name == "plan":
        from compat.plan import schema as plan

        return json.dumps(plan.schema(), indent=2) + "\n"
    if name == "settings":
        from compat.settings import keys as settings

        return json.dumps(settings.schema(), indent=2) + "\n"
    if name == "topology":
        from compat.compiler.topology import schema as topology

        return json.dumps(topology.schema(), indent=2) + "\n"
    return files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")


def load(name: str) -> dict[str, Any]:
    """The schema of a format as a value; raises as :func:`text`."""
    schema: dict[str, Any] = json.loads(text(name))
    return schema
