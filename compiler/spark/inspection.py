"""Reading state back, by its declared types."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from compiler.spark import records as _records  # noqa: F401 - installs the row class
from compiler.spark.restore import open_snapshot, saved_operators
from state.delta.rows import Kind
from state.delta.savepoint import current_rows
from state.serializers import codec_of, key_codec_of
from state.types import ListTypeInfo, MapTypeInfo, from_json

_DRIVER = (Kind.OPERATOR, Kind.TASK, Kind.JOB)


class UnknownOperator(Exception):
    """No operator of the snapshot has that uid, name or id. The message lists those there are."""


def state_rows(path: str, operator: str) -> Iterator[dict[str, Any]]:
    """The entries of an operator's state: state, kind, key, key_group, namespace, map_key, value, timestamp."""
    log = open_snapshot(path)
    saved = saved_operators(log)
    found = [each for each in saved.values() if operator in (each.uid, each.name, each.id)]
    if len(found) != 1:
        known = ", ".join(sorted(f"{each.uid or each.name} ({each.id})" for each in saved.values()))
        raise UnknownOperator(f"The snapshot has {len(found)} operators {operator!r}. It has: {known}.")
    states = {each["name"]: each for each in found[0].states}
    key_type = next((each["key_type"] for each in found[0].states if "key_type" in each), None)
    keys = key_codec_of(None if key_type is None else from_json(key_type))
    for row in current_rows(log, found[0].id, key_type):
        described = states.get(row.state)
        yield {
            "state": row.state,
            "kind": row.kind,
            "key": keys.decode(row.key) if row.key else None,
            "key_group": row.key_group,
            "namespace": _window(row.namespace),
            "map_key": _map_key(row.kind, described, row.map_key),
            "value": _value(row.kind, described, row.value),
            "timestamp": row.timestamp,
        }


def _window(namespace: bytes) -> Any:
    if not namespace:
        return None
    if len(namespace) == 16:
        return list(struct.unpack(">qq", namespace))
    return int.from_bytes(namespace, "big")


def _map_key(kind: str, described: Any, data: bytes) -> Any:
    if kind in (Kind.MAP, Kind.BROADCAST) and described is not None:
        type_info = from_json(described["type"])
        return key_codec_of(type_info.key_type).decode(data) if isinstance(type_info, MapTypeInfo) else data
    return data.decode("utf-8", "replace") if kind in _DRIVER and data else None


def _value(kind: str, described: Any, data: bytes | None) -> Any:
    if data is None or described is None:
        return None if not data else data.decode("utf-8", "replace")[:200]
    type_info: Any = from_json(described["type"])
    if kind == Kind.MAP:
        return None if data == b"\0" else codec_of(type_info.value_type).decode(data[1:])
    if kind == Kind.BROADCAST:
        return codec_of(type_info.value_type).decode(data)
    if kind == Kind.LIST and not isinstance(type_info, ListTypeInfo):
        type_info = ListTypeInfo(type_info)
    return codec_of(type_info).decode(data)
