"""The planner's options: what each touches, and what expressions mean under those that change it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

ZONE = "table.local-time-zone"
CASTS = "table.exec.legacy-cast-behaviour"


class Touches(Enum):
    """What another value of an option changes."""

    MEANING = "what expressions mean"
    PLAN = "which operators the planner makes, and so their ids"
    COMPARED = "tables, columns, states or their lives, which are compared by themselves"
    NOTHING = "nothing that is kept: memory, output on the way, the work of the client"


_P, _C, _N = Touches.PLAN, Touches.COMPARED, Touches.NOTHING
OPTIONS: Mapping[str, Touches] = {
    ZONE: Touches.MEANING,
    CASTS: Touches.MEANING,
    "table.builtin-": _C,
    "table.catalog-": _N,
    "table.column-expansion-strategy": _C,
    "table.display.": _N,
    "table.dml-sync": _N,
    "table.dynamic-table-options.enabled": _C,
    "table.exec.async-": _N,
    "table.exec.async-state.enabled": _C,
    "table.exec.deduplicate.": _C,
    "table.exec.delta-join.": _N,
    "table.exec.disabled-operators": _N,
    "table.exec.interval-join.min-cleanup-interval": _N,
    "table.exec.legacy-transformation-uids": _P,
    "table.exec.local-hash-agg.": _N,
    "table.exec.mini-batch.": _N,
    "table.exec.mini-batch.enabled": _P,
    "table.exec.operator-fusion-codegen.enabled": _N,
    "table.exec.rank.": _N,
    "table.exec.resource.": _N,
    "table.exec.shuffle-mode": _N,
    "table.exec.simplify-operator-name-enabled": _N,
    "table.exec.sink.": _P,
    "table.exec.sort.": _N,
    "table.exec.source.": _P,
    "table.exec.spill-compression.": _N,
    "table.exec.state.ttl": _C,
    "table.exec.topn-cache-size": _N,
    "table.exec.uid.": _P,
    "table.exec.unbounded-over.version": _C,
    "table.exec.window-agg.": _N,
    "table.generated-code.": _N,
    "table.legacy-nested-row-nullability": _C,
    "table.optimizer.": _P,
    "table.plan.": _C,
    "table.resources.": _N,
    "table.rtas-ctas.": _N,
    "table.sql-dialect": _C,
}
"""By name, or by what names begin with; the longest counts.

Flink: ``ExecutionConfigOptions``, ``TableConfigOptions``, ``OptimizerConfigOptions``.
"""


def touches(option: str) -> Touches | None:
    """What an option touches, by the longest name that fits; None for one that is not listed."""
    fitting = [name for name in OPTIONS if option == name or (name[-1] in ".-" and option.startswith(name))]
    return OPTIONS[max(fitting, key=len)] if fitting else None


def value(options: Mapping[str, str], option: str) -> str | None:
    """The value of an option that changes meanings; None for the time zone of the cluster."""
    given = options.get(option)
    if option == CASTS:
        return (given or "DISABLED").upper()
    return None if given == "default" else given


class Marks(msgspec.Struct, frozen=True):
    """The values of options that differ between OLD and NEW: what depends on them is marked with them."""

    zone: str | None = None
    casts: str | None = None

    def on(self, node: str) -> str:
        """The JSON of a node with a mark on each expression and window that depends on a value."""
        if self.zone is None and self.casts is None:
            return node
        try:
            return msgspec.json.encode(self._marked(msgspec.json.decode(node))).decode()
        except msgspec.MsgspecError:
            return node  # its reader finds the error

    def _marked(self, given: Any) -> Any:
        if isinstance(given, list):
            return [self._marked(one) for one in given]
        if not isinstance(given, dict):
            return given
        found = {key: self._marked(part) for key, part in given.items()}
        under = [self._of_zone(given), self._of_casts(given)]
        return found | {"under": " ".join(filter(None, under))} if any(under) else found

    def _of_zone(self, given: Mapping[str, Any]) -> str | None:
        return f"in {self.zone}" if self.zone is not None and depends_on_zone(given) else None

    def _of_casts(self, given: Mapping[str, Any]) -> str | None:
        if self.casts is None or not depends_on_casts(given):
            return None
        return "as casts were before Flink 1.15" if self.casts == "ENABLED" else "as casts are since Flink 1.15"


def is_touched(node: str, option: str) -> bool:
    """True if a node has something that depends on an option that changes meanings."""
    marks = Marks(zone="elsewhere") if option == ZONE else Marks(casts="ENABLED")
    return '"under":' in marks.on(node)


def marks_of(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Marks, Marks]:
    """The marks of both sides. The time zone of the cluster is none that is known, and marks nothing."""
    zones, casts = ([value(side, option) for side in (old, new)] for option in (ZONE, CASTS))
    if zones[0] == zones[1] or None in zones:
        zones = [None, None]
    if casts[0] == casts[1]:
        casts = [None, None]
    return Marks(zones[0], casts[0]), Marks(zones[1], casts[1])


def depends_on_zone(given: Mapping[str, Any]) -> bool:
    """True for an expression, or a window, whose meaning depends on the time zone of the session.

    Sources: the planner's ``BuiltInMethods`` that take a ``TimeZone``, the rules of casts that use the session's zone, and
    ``TimeWindowUtil``, which gives the start of windows over instants.
    """
    if "timeAttributeType" in given:
        return _is_instant(given["timeAttributeType"])
    if "timeField" in given:
        return _is_instant(given["timeField"].get("fieldType"))
    function, types = (
        _function(given),
        [one.get("type") for one in given.get("operands") or () if isinstance(one, dict)],
    )
    instants = [_is_instant(one) for one in types]
    if function in _CASTS:
        return instants[:1] != [_is_instant(given.get("type"))]
    if function in _COMPARED:
        return any(instants) and not all(instants)
    if function in _OF_INSTANTS:
        return any(instants) or (function == "DATE_FORMAT" and any(map(_is_text, types[:1])))
    return function in _OF_THE_ZONE or (function == "UNIX_TIMESTAMP" and bool(types))


def depends_on_casts(given: Mapping[str, Any]) -> bool:
    """True for a cast that is another one with Flink's old casts.

    From the planner's rules of casts that ask for ``legacyBehaviour``, and from what gives NULL for texts that it cannot read.
    """
    if _function(given) != "CAST" or not given.get("operands"):
        return False
    source, target = given["operands"][0].get("type"), given.get("type")
    if not _is_text(target):
        return _is_text(source)
    return is_limited(target) or not _SIMPLE.match(_shown(source))


_CASTS = ("CAST", "TRY_CAST", "REINTERPRET")
_COMPARED = frozenset({"=", "<>", "<", "<=", ">", ">="})
_OF_INSTANTS = frozenset({"DATE_FORMAT", "EXTRACT", "FLOOR", "CEIL", "JSON_STRING", "JSON_OBJECT", "JSON_ARRAY"})
_OF_THE_ZONE = frozenset({"FROM_UNIXTIME", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_DATE", "CURRENT_TIME"})
_INSTANT = re.compile(r"LOCAL[ _]TIME[ _]ZONE|TIMESTAMP_LTZ")
_SIMPLE = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL|DATE|TIME|VARCHAR|CHAR|NULL")
_TEXT = re.compile(r"(?:VAR)?(?:CHAR|BINARY)\b|STRING|BYTES")
_LENGTH = re.compile(r"(?:VAR)?(?:CHAR|BINARY)\((\d+)\)")
_UNLIMITED = "2147483647"


def _function(given: Mapping[str, Any]) -> str:
    name = given.get("internalName") if given.get("kind") == "CALL" else None
    return name.removeprefix("$").rpartition("$")[0] if isinstance(name, str) else ""


def _shown(type: Any) -> str:
    return type if isinstance(type, str) else msgspec.json.encode(type).decode() if type is not None else ""


def _is_instant(type: Any) -> bool:
    return _INSTANT.search(_shown(type)) is not None


def _is_text(type: Any) -> bool:
    return _TEXT.match(_shown(type)) is not None


def is_limited(type: Any) -> bool:
    """True for the type of texts or bytes that have a largest length."""
    found = _LENGTH.match(_shown(type))
    return found is not None and found[1] != _UNLIMITED
