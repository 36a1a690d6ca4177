"""Every savepoint that Flink wrote reads as Flink reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from compat.state.flink import HeaderReader, inspect, read_metadata
from compat.state.flink.handles import KeyGroups

NOT_COMPARED = {
    "offsets",
    "key_group_offsets",
    "text",  # of the properties, which are Java-serialized and stay unread
    "unclaimed",
    "backend_error",  # a sentence of the dumping program
}


def differences(expected: Any, found: Any, where: str = "") -> Iterator[str]:
    """The parts of `expected` that `found` lacks; `found` may say more."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            if key in NOT_COMPARED:
                continue
            if not isinstance(found, dict) or key not in found:
                yield f"{where}.{key} is missing"
            else:
                yield from differences(value, found[key], f"{where}.{key}")
    elif isinstance(expected, list):
        if not isinstance(found, list) or len(expected) != len(found):
            yield f"{where}: {expected} is {found}"
        else:
            for at, (one, other) in enumerate(zip(expected, found, strict=True)):
                yield from differences(one, other, f"{where}[{at}]")
    elif expected != found:
        yield f"{where}: {expected} is {found}"


def test_all_that_flink_says_is_said(saved: dict[str, Any]) -> None:
    found = json.loads(json.dumps(inspect(saved["path"])))
    assert list(differences(saved["flink_says"], found)) == []


def test_nothing_is_missing_or_unknown(saved: dict[str, Any]) -> None:
    found = inspect(saved["path"])
    assert found["missing_files"] == []
    assert '"unknown"' not in json.dumps(found)
    assert '"backend_error"' not in json.dumps(found)


def test_the_first_key_group_begins_where_the_header_ends(saved: dict[str, Any]) -> None:
    savepoint = read_metadata(saved["path"])
    headers = HeaderReader(savepoint)
    keyed = [s.managed_keyed for o in savepoint.operators for s in o.subtasks]
    for handle in (h for h in keyed if isinstance(h, KeyGroups)):
        header = headers.keyed(handle)
        assert header is not None
        begun = [offset for offset in handle.offsets if offset > 0]
        assert not begun or min(begun) == header.length


def test_total_bytes_are_those_of_the_operators(saved: dict[str, Any]) -> None:
    found = inspect(saved["path"])
    sizes = [
        (o["coordinator_state_bytes"] or 0) + sum(s["state_size"] for s in o["subtasks"]) for o in found["operators"]
    ]
    assert [o["totals"]["bytes"] for o in found["operators"]] == sizes
    assert found["total_bytes"] == sum(sizes)
