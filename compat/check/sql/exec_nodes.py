"""All nodes of compiled SQL plans, with the state that each keeps: unlisted nodes are unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from msgspec import Struct

from compat.check.sql import aggregates, joins, multi_joins, other, ranks
from compat.check.sql.meaning import Meaning
from compat.check.sql.rows import Lineage
from compat.state.model.operators import Operator

Reader = Callable[[Operator, str, Lineage], Meaning]


class Keeps(Enum):
    """The kind of state that the operators of a node keep."""

    NOTHING = "nothing"
    PLACE = "how far a table was read"
    SUMS = "sums by a key"
    ROWS = "rows by a key or a time"
    FLIGHT = "rows in flight"
    OWN = "the state of a user's function"
    OUTPUT = "the unfinished output of a sink, and its rows by key"


class Kept(Struct, frozen=True):
    """The state that a node keeps, and the function that reads its meaning."""

    what: Keeps
    read: Reader = other.whole


NODES: Mapping[str, Kept] = {
    "async-calc": Kept(Keeps.FLIGHT, other.in_flight),
    "async-correlate": Kept(Keeps.FLIGHT, other.in_flight),
    "calc": Kept(Keeps.NOTHING),
    "changelog-normalize": Kept(Keeps.ROWS, ranks.normalized),
    "correlate": Kept(Keeps.NOTHING),
    "deduplicate": Kept(Keeps.ROWS, ranks.deduplication),
    "delta-join": Kept(Keeps.FLIGHT, other.in_flight),
    "drop-update-before": Kept(Keeps.NOTHING),
    "exchange": Kept(Keeps.NOTHING),
    "expand": Kept(Keeps.NOTHING),
    "global-group-aggregate": Kept(Keeps.SUMS, aggregates.grouped),
    "global-window-aggregate": Kept(Keeps.SUMS, aggregates.grouped),
    "group-aggregate": Kept(Keeps.SUMS, aggregates.grouped),
    "group-window-aggregate": Kept(Keeps.SUMS, aggregates.grouped),
    "incremental-group-aggregate": Kept(Keeps.SUMS, aggregates.grouped),
    "interval-join": Kept(Keeps.ROWS, joins.join),
    "join": Kept(Keeps.ROWS, joins.join),
    "limit": Kept(Keeps.ROWS, ranks.rank),
    "local-group-aggregate": Kept(Keeps.NOTHING),
    "local-window-aggregate": Kept(Keeps.NOTHING),
    "lookup-join": Kept(Keeps.FLIGHT, other.looked_up),
    "match": Kept(Keeps.ROWS, other.pattern),
    "mini-batch-assigner": Kept(Keeps.NOTHING),
    "ml-predict-table-function": Kept(Keeps.FLIGHT, other.in_flight),
    "multi-join": Kept(Keeps.ROWS, multi_joins.multi_join),
    "over-aggregate": Kept(Keeps.ROWS, aggregates.over),
    "process-table-function": Kept(Keeps.OWN),
    "python-async-calc": Kept(Keeps.FLIGHT),
    "python-calc": Kept(Keeps.NOTHING),
    "python-correlate": Kept(Keeps.NOTHING),
    "python-group-aggregate": Kept(Keeps.OWN),
    "python-group-window-aggregate": Kept(Keeps.OWN),
    "python-over-aggregate": Kept(Keeps.OWN),
    "rank": Kept(Keeps.ROWS, ranks.rank),
    "sink": Kept(Keeps.OUTPUT, ranks.materialized),
    "sort": Kept(Keeps.ROWS, other.ordered),
    "sort-limit": Kept(Keeps.ROWS, ranks.rank),
    "table-source-scan": Kept(Keeps.PLACE),
    "temporal-join": Kept(Keeps.ROWS, joins.join),
    "temporal-sort": Kept(Keeps.ROWS, other.ordered),
    "union": Kept(Keeps.NOTHING),
    "values": Kept(Keeps.PLACE),
    "vector-search-table-function": Kept(Keeps.FLIGHT, other.in_flight),
    "watermark-assigner": Kept(Keeps.NOTHING),
    "window-aggregate": Kept(Keeps.SUMS, aggregates.grouped),
    "window-deduplicate": Kept(Keeps.ROWS, ranks.deduplication),
    "window-join": Kept(Keeps.ROWS, joins.join),
    "window-rank": Kept(Keeps.ROWS, ranks.rank),
    "window-table-function": Kept(Keeps.ROWS, other.sessions),
}
"""By the kind of a node, as its type has it (Flink: ``ExecNodeMetadata`` of the classes ``StreamExec…``)."""


def meaning_of(kind: str, operator: Operator, text: str, lineage: Lineage) -> Meaning:
    """The meaning of the state of a node's operator."""
    listed = NODES.get(kind)
    return other.Unlisted(kind) if listed is None else listed.read(operator, text, lineage)
