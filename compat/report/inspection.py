"""The contents of a snapshot for a person: as a table, and as a tree with keys, windows and serializers.

Both take the dictionary that ``compat inspect --format json`` prints, and a width in columns (0: lines are not broken).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from compat.check.rules.snapshots.cmp502_savepoint_incomplete import RULE as SAVEPOINT_INCOMPLETE
from compat.escaping import no_command, visible
from compat.state.flink.metadata import FIRST_TO_WRITE

Json = Mapping[str, Any]

_UNBROKEN = 10_000
"""The width without a terminal: lines stay whole, so that other programs can search them."""
_NO_NAME = "(no name recorded)"
_LARGEST, _KEYS = 3, 6
"""The most operators that the summary lines above the table name."""


def table(found: Json, shown: str, width: int = 0) -> str:
    """The summary, then one line per operator and one for each of its states. ``shown`` is the snapshot's path."""
    lines = Table(box=None, pad_edge=False, header_style="", show_edge=False)
    for heading, justify in (("operator or state", "left"), ("id or kind", "left"), ("parallelism", "left")):
        lines.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    lines.add_column("key groups", overflow="fold")
    lines.add_column("bytes", justify="right", no_wrap=True)
    for operator in found["operators"]:
        lines.add_row(
            _text(_label(operator)),
            _text(operator["id"]),
            _parallelism(operator),
            _balance(operator["totals"].get("key_groups")),
            f"{operator['totals']['bytes']:,}",
        )
        for state in operator["totals"]["states"]:
            groups = state.get("key_groups")
            within = "" if groups is None else f"{groups[0]} to {groups[1]}"
            lines.add_row(
                _text(f"  {state['name']}"), _text(state["type"]), "", within, _bytes(state["bytes"], unit=False)
            )
    above = [_headline(found, shown), *(f"  {name:<9}{said}" for name, said in _first_asked(found))]
    return _printed([*map(_text, above), Text(""), lines, *map(_text, _files(found))], width)


def tree(found: Json, shown: str, width: int = 0) -> str:
    """The snapshot with operators below it, and below these subtasks, keys, states and their serializers."""
    root = Tree(_text(_headline(found, shown)))
    for operator in found["operators"]:
        branch = root.add(_text(f"{_label(operator)}  {operator['id']}"))
        for line in _about(operator):
            branch.add(_text(line))
        details = _details(operator)
        for state in operator["totals"]["states"]:
            leaf = branch.add(_text(f"{state['name']}  {state['type']}  {_bytes(state['bytes'])}"))
            for line in details.get(state["name"], ()):
                leaf.add(_text(line))
    return _printed([root, *map(_text, _files(found))], width)


def _printed(parts: list[RenderableType], width: int) -> str:
    buffer = StringIO()
    console = Console(file=buffer, width=width or _UNBROKEN, color_system=None, markup=False, emoji=False)
    for part in parts:
        console.print(part, highlight=False)
    return "".join(no_command(line.rstrip()) + "\n" for line in buffer.getvalue().splitlines())


def _text(text: str) -> Text:
    return Text(visible(text))


def _headline(found: Json, shown: str) -> str:
    kind = found.get("properties", {})
    what = {True: "savepoint", False: "checkpoint", None: "snapshot"}[kind.get("is_savepoint")]
    form = f", {kind['savepoint_format'].lower()}" if kind.get("savepoint_format") else ""
    return (
        f"{shown}: {what}{form}, format {found['format_version']}, checkpoint {found['checkpoint_id']}; "
        f"{len(found['operators'])} operators, {found['total_bytes']:,} bytes"
    )


def _first_asked(found: Json) -> Iterator[tuple[str, str]]:
    """The summary that operators of systems need first: time, Flink version, location and size of the bytes, keys,
    missing files.
    """
    if "magic" in found:  # of Flink
        by, when = _written_by(found["format_version"]), _time_of(found)
        yield "written", ", ".join(part for part in (when, by) if part)
    by_size = sorted(found["operators"], key=lambda one: -one["totals"]["bytes"])
    largest = [
        f"{_short(one)} {one['totals']['bytes']:,} bytes{_largest_state(one)}"
        for one in by_size[:_LARGEST]
        if one["totals"]["bytes"]
    ]
    if largest:
        yield "largest", "; ".join(largest)
    keys = {
        _short(one): _serializer(key).replace("Serializer", "")
        for one in found["operators"]
        if (key := _key(one)) is not None
    }
    if keys:
        shown = [f"{name} by {key}" for name, key in list(keys.items())[:_KEYS]]
        yield "keys", "; ".join(shown) + ("; …" if len(keys) > _KEYS else "")
    if not any(one.get("name") or one.get("uid") for one in found["operators"]):
        yield "names", "not recorded; --names OLD, the program that wrote it or a table of uids, has them"
    missing = len(found["missing_files"])
    yield "missing", f"{missing} state {'file' if missing == 1 else 'files'}, see below" if missing else "nothing"


def _written_by(format: int) -> str:
    """The versions of Flink that write metadata of this format."""
    first, after = FIRST_TO_WRITE.get(format), FIRST_TO_WRITE.get(format + 1)
    if first is None:
        return ""
    begin = f"by Flink {first[0]}.{first[1]}"
    if after is None:
        return f"{begin} or later"
    last = "1.20" if after == (2, 0) else f"{after[0]}.{after[1] - 1}"
    return begin if begin.endswith(f" {last}") else f"{begin} to {last}"


def _time_of(found: Json) -> str:
    """The time when the metadata was written, from the file: a snapshot does not record it."""
    try:
        seconds = os.stat(found["path"]).st_mtime
    except (KeyError, OSError, ValueError):
        return ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC (the file's time)"


def _largest_state(operator: Json) -> str:
    states = [state for state in operator["totals"]["states"] if state["bytes"]]
    if not states:
        return ""
    largest = max(states, key=lambda state: state["bytes"])
    return f" ({largest['name']} {largest['bytes']:,})"


def _key(operator: Json) -> Json | None:
    """The serializer of the operator's keys; None if there is none."""
    return next((header["key_serializer"] for header in _headers(operator) if "key_serializer" in header), None)


def _short(operator: Json) -> str:
    name: str = operator.get("name") or operator.get("uid") or operator["id"][:8]
    return name


def _label(operator: Json) -> str:
    uid = f"  uid={operator['uid']}" if operator.get("uid") else ""
    return f"{operator.get('name') or _NO_NAME}{uid}"


def _parallelism(operator: Json) -> str:
    finished = ", finished" if operator.get("fully_finished") else ""
    return f"{operator['parallelism']} of at most {operator['max_parallelism']}{finished}"


def _balance(groups: Json | None) -> str:
    if groups is None:
        return ""
    fewest, most = groups["fewest_per_subtask"], groups["most_per_subtask"]
    each = f"{most} a subtask" if fewest == most else f"{fewest} to {most} a subtask"
    return each if groups["with_data"] is None else f"{each}, {groups['with_data']} with data"


def _bytes(size: int | None, *, unit: bool = True) -> str:
    if size is None:
        return "size not known" if unit else "not known"
    return f"{size:,} bytes" if unit else f"{size:,}"


def _about(operator: Json) -> Iterator[str]:
    yield f"parallelism {_parallelism(operator)}; {operator['totals']['bytes']:,} bytes"
    balance = _balance(operator["totals"].get("key_groups"))
    if balance:
        yield f"key groups: {balance}"
    if operator.get("coordinator_state_bytes") is not None:
        yield f"coordinator  {operator['coordinator_state_bytes']:,} bytes"
    key = _key(operator)
    if key is not None:
        yield f"key  {_serializer(key)}"
    for problem in dict.fromkeys(_problems(operator)):
        yield f"not read: {problem}"


def _details(operator: Json) -> dict[str, list[str]]:
    """The facts in each state's header, by the state's name."""
    details: dict[str, list[str]] = {}
    for header in _headers(operator):
        for kind in ("states", "operator_states", "broadcast_states"):
            for state in header.get(kind, ()):
                if state["name"] not in details:
                    options = [f"{key.lower()}: {value}" for key, value in state["options"].items()]
                    serializers = [
                        f"{key.lower()}: {_serializer(value)}" for key, value in state["serializers"].items()
                    ]
                    details[state["name"]] = options + serializers
    return details


def _handles(operator: Json) -> Iterator[Json]:
    for subtask in operator.get("subtasks", ()):
        for kind in ("managed_keyed", "managed_operator"):
            for handle in subtask.get(kind, ()):
                yield handle
                yield from handle.get("materialized", ())


def _headers(operator: Json) -> Iterator[Json]:
    return (handle["backend"] for handle in _handles(operator) if "backend" in handle)


def _problems(operator: Json) -> Iterator[str]:
    for handle in _handles(operator):
        if "backend_error" in handle:
            yield handle["backend_error"]
        if "unknown" in handle.get("backend", {}):
            yield handle["backend"]["unknown"]["what"]


def _serializer(serializer: Json) -> str:
    """The serializer's short class name, with those of its parts."""
    whole = serializer.get("restored_serializer") or serializer["class"]
    name = whole.rpartition(".")[2]
    nested = ", ".join(_serializer(part) for part in serializer.get("nested", ()))
    unknown = f" ({serializer['unknown']})" if "unknown" in serializer else ""
    return f"{name}{f'<{nested}>' if nested else ''}{unknown}"


def _files(found: Json) -> Iterator[str]:
    missing = found["missing_files"]
    if found.get("files"):
        elsewhere = sum(file["status"] == "remote" for file in found["files"])
        remote = f", {elsewhere} on other storage and not looked at" if elsewhere else ""
        yield ""
        yield f"{len(found['files'])} state files{remote}"
    if missing:
        yield f"{SAVEPOINT_INCOMPLETE.id}: {len(missing)} state {'file is' if len(missing) == 1 else 'files are'} missing:"
        for file in missing:
            yield f"  {file['name']} ({file['status']}), {file['size']:,} bytes"
