"""Whatever PyFlink 2.3 offers is there, with the same parameters."""

from __future__ import annotations

import enum
import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

API: dict[str, Any] = json.loads((Path(__file__).parents[2] / "golden" / "pyflink_api.json").read_text("utf-8"))

NOT_OURS = {
    "pyflink.common.typeinfo.DateTypeInfo.EPOCH_ORDINAL",
    "pyflink.common.typeinfo.TimeTypeInfo.EPOCH_ORDINAL",
    "pyflink.common.types.RowKind.to_j_row_kind",
    "pyflink.datastream.connectors.file_system.FileSink.BaseBuilder.with_rolling_policy",
    "pyflink.datastream.connectors.file_system.StreamingFileSink.BaseBuilder.with_rolling_policy",
    "pyflink.datastream.utils.convert_to_python_obj",
    "pyflink.datastream.utils.pickled_bytes_to_python_obj",
    "pyflink.datastream.window.Min",
    "pyflink.datastream.window.WindowOperationDescriptor",
    "pyflink.datastream.window.long_to_int_with_bit_mixing",
    "pyflink.datastream.window.mod_inverse",
}
"""Steps on PyFlink's way to Java and back, and abstract methods, which no program calls."""

NAMED_OTHERWISE = {"to_internal_type", "from_internal_type"}
"""Methods whose parameters PyFlink calls differently from class to class."""


def ours(name: str) -> str:
    return name.replace("pyflink.common", "compat.compiler.datastream.common").replace("pyflink.", "compat.compiler.")


@pytest.mark.parametrize("module", sorted(API))
def test_module(module: str) -> None:
    missing = [line for line in _missing(module) if line not in NOT_OURS]
    assert not missing, "\n".join(missing)


def _missing(module: str) -> Iterator[str]:
    api = API[module]
    try:
        found = import_module(ours(module))
    except ModuleNotFoundError as error:
        yield f"{module}: {error}"
        return
    for name in api.get("names", []):
        if not hasattr(found, name):
            yield f"{module}.{name} (a public name)"
    for name, parameters in api.get("functions", {}).items():
        yield from _missing_function(f"{module}.{name}", getattr(found, name, None), parameters)
    for name, members in api.get("classes", {}).items():
        yield from _missing_members(f"{module}.{name}", getattr(found, name, None), members)


def _missing_members(name: str, found: Any, members: dict[str, Any]) -> Iterator[str]:
    if name in NOT_OURS:
        return
    if found is None:
        yield name
        return
    for member in members.get("members", []):
        if not (issubclass(found, enum.Enum) and member in found.__members__):
            yield f"{name}.{member}"
    for attribute in members.get("attributes", []):
        if not hasattr(found, attribute):
            yield f"{name}.{attribute}"
    for method, parameters in members.get("methods", {}).items():
        there = found if method == "__init__" else getattr(found, method, None)
        yield from _missing_function(f"{name}.{method}", there, parameters)
    for nested, inner in members.get("nested", {}).items():
        yield from _missing_members(f"{name}.{nested}", getattr(found, nested, None), inner)


def _missing_function(name: str, found: Any, parameters: list[str]) -> Iterator[str]:
    if found is None:
        yield name
        return
    if name.rpartition(".")[2] in NAMED_OTHERWISE:
        return
    given = [
        f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name
        for parameter in inspect.signature(found).parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    wanted = [p for p in parameters if not p.startswith(("j_", "_j_")) and p not in ("self", "cls")]
    if given[: len(wanted)] != wanted:
        yield f"{name}({', '.join(wanted)}), and not ({', '.join(given)})"
