"""The contents of a snapshot of any kind, as ``compat inspect`` shows them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from compat.savepoint.names import Names
from compat.state.stores.schemes import is_remote


def describe(snapshot: str) -> dict[str, Any]:
    """Operators, states, key groups, files and sizes of a savepoint or checkpoint, of Flink or of a job on Spark.

    Raises SavepointError or StoreError for what cannot be read, and ModuleNotFoundError if Delta is not installed.
    """
    from compat.state.flink import inspect_savepoint
    from compat.state.flink.remote import read_savepoint

    if not is_delta(snapshot):
        return inspect_savepoint(read_savepoint(snapshot))
    from compat.compiler.spark.driver.inspection import describe_snapshot

    return describe_snapshot(snapshot)


def is_delta(snapshot: str) -> bool:
    """True for a savepoint that ``compat`` wrote and for the state of a job in a store."""
    folder = snapshot.removeprefix("file://")
    folder = folder.rpartition("@")[0] if folder.rpartition("@")[2].isdigit() and "@" in folder else folder
    if is_remote(folder):
        return _is_delta_elsewhere(folder)
    return any(os.path.isdir(os.path.join(folder, *inner, "_delta_log")) for inner in ((), ("state",)))


def _is_delta_elsewhere(folder: str) -> bool:
    from compat.state.delta.errors import StoreError
    from compat.state.stores.paths import place_of

    try:
        place = place_of(folder)
        return (place / "_delta_log").exists() or (place / "state" / "_delta_log").exists()
    except (OSError, StoreError):  # whoever reads it says why it cannot be
        return False


def named(described: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """The contents of a snapshot, with names and uids of operators that it does not record itself."""
    operators = [
        {**one, "name": one.get("name") or names.name(one["id"]), "uid": one.get("uid") or names.uid(one["id"])}
        for one in described["operators"]
    ]
    return {**described, "operators": operators}
