"""Sources of a job in SQL: the tables that they read, and those that changed places or were replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from compat.check.mapping import Pair
from compat.check.sql.nodes import ExecNode, read
from compat.state.model.operators import Operator

_SCAN = re.compile(
    r"TableSourceScan\(table=\[\[(?P<name>[^\]]*?)(?:, (?:filter|project|watermark|limit|metadata)=.*)?\]"
)


class _Schema(Struct, frozen=True, rename="camel"):
    columns: tuple[dict[str, Any], ...] = ()


class _Resolved(Struct, frozen=True, rename="camel"):
    table_schema: _Schema = msgspec.field(name="schema", default=_Schema())
    options: dict[str, str] = {}


class _Table(Struct, frozen=True, rename="camel"):
    identifier: str = ""
    resolved_table: _Resolved = _Resolved()


class _Source(Struct, frozen=True, rename="camel"):
    table: _Table = _Table()


class _Scan(ExecNode, frozen=True, rename="camel"):
    scan_table_source: _Source = _Source()


_HOW = re.compile(
    r"(?:lookup|scan|sink|connection)\..*|(?:.*\.)?(?:user|username|password|secret|secret-key|token|driver)|sink-.*"
    r"|source\.monitor-interval|.*\b(?:parallelism|max-retries|timeout|cache)(?:[.-].*)?",
    re.IGNORECASE,
)
"""Options that say how and as whom a table is read, and from where on, not which table it is."""


def identity(options: Mapping[str, str]) -> dict[str, str]:
    """The options that tell which table is meant: not those of caches, retries, credentials and starting places."""
    return {key: value for key, value in options.items() if _HOW.fullmatch(key) is None}


class Table(Struct, frozen=True):
    """A table that a source reads: its name with catalog and database, its options, and its own columns."""

    name: str
    options: Mapping[str, str]
    columns: tuple[str, ...]

    @property
    def short(self) -> str:
        """The name alone."""
        return self.name.rpartition(".")[2]

    def is_alike(self, other: Table) -> bool:
        """True for the same table under another name."""
        same = (identity(self.options), self.columns) == (identity(other.options), other.columns)
        return bool(self.options) and same


def table_of(operator: Operator) -> Table | None:
    """The table that an operator reads; None if it reads none, or if that is not told."""
    table = _scanned(operator)
    if table.identifier:
        columns = (one for one in table.resolved_table.table_schema.columns if one.get("kind") in (None, "PHYSICAL"))
        return Table(
            table.identifier.replace("`", ""),
            table.resolved_table.options,
            tuple(msgspec.json.encode(one, order="sorted").decode() for one in columns),
        )
    match = _SCAN.search(operator.description or "")
    return None if match is None else Table(match["name"].replace(", ", "."), {}, ())


def schema_of(operator: Operator) -> tuple[dict[str, Any], ...]:
    """The columns of the table that an operator reads, as its plan has them, computed ones too; empty if it tells none."""
    return _scanned(operator).resolved_table.table_schema.columns


def _scanned(operator: Operator) -> _Table:
    try:
        return _Table() if operator.exec_node is None else read(operator.exec_node, _Scan).scan_table_source.table
    except msgspec.MsgspecError:
        return _Table()


_OF_CHANGES = re.compile(r".*(debezium|canal|maxwell|ogg|cdc|protobuf-confluent-debezium).*")
_INSERTING = frozenset({"datagen", "filesystem", "kafka", "kinesis", "kinesis-legacy", "pulsar", "rabbitmq", "socket"})


def only_inserts(operator: Operator) -> bool:
    """Whether an operator reads a table whose rows are known never to be taken back, by its connector and formats."""
    table = table_of(operator)
    if table is None or operator.inputs or table.options.get("connector") not in _INSERTING:
        return False
    formats = (value for key, value in table.options.items() if key == "format" or key.endswith(".format"))
    return not any(map(_OF_CHANGES.fullmatch, formats))


class TableChange(Struct, frozen=True):
    """A source that reads another table than the one of its id in OLD. ``exchanged``: NEW reads OLD's by another source."""

    pair: Pair
    old: Table
    new: Table
    exchanged: bool


def table_changes(pairs: Iterable[Pair], news: Iterable[Operator]) -> list[TableChange]:
    """The sources that read other tables; a table that only has another name is none."""
    elsewhere = {table.name for operator in news if (table := table_of(operator)) is not None}
    found = []
    for pair in pairs:
        old, new = table_of(pair.old), table_of(pair.new)
        if old is None or new is None or old.name == new.name:
            continue
        exchanged = old.name in elsewhere
        if exchanged or not old.is_alike(new):
            found.append(TableChange(pair, old, new, exchanged))
    return found
