"""Savepoints that Flink wrote: where they are, and what was written beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[2] / "golden"
SAVEPOINTS = GOLDEN / "savepoints"


def saved(name: str) -> dict[str, Any]:
    """A savepoint that Flink wrote: its folder, the program that wrote it, the settings of the cluster."""
    case: dict[str, Any] = json.loads((SAVEPOINTS / f"{name}.json").read_text(encoding="utf-8"))
    return case | {"path": SAVEPOINTS / case["folder"]}
