"""Expressions of SQL as compiled plans hold them (Flink: ``RexNodeJsonSerializer``), with their columns traced to their origin.

Two expressions are equal if they mean the same by simple rules. These make no difference: another order of the operands of
``=``, ``AND``, ``+`` and the like; comparisons written the other way round; ``> 20`` instead of ``>= 21`` for whole numbers;
``IF`` instead of ``CASE``, and ``IFNULL`` or a ``CASE`` that asks for NULL instead of ``COALESCE``; ``CONCAT`` instead of
``||``; another function name for the same class; nested ``AND``. Reports show each expression as it was written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from compat.check.sql import ranges

_COMMUTATIVE = frozenset({"=", "<>", "AND", "OR", "+", "*"})
_FLAT = frozenset({"AND", "OR", "COALESCE", "||"})
_ALSO = {"IFNULL": "COALESCE", "CONCAT": "||", "SUBSTR": "SUBSTRING", "CHARACTER_LENGTH": "CHAR_LENGTH"}
"""Other names of functions (Flink: ``StringCallGen``, ``IfNullFunction``)."""
_OF_NOT = {
    "IS TRUE": "IS FALSE",
    "IS FALSE": "IS TRUE",
    "IS NOT TRUE": "IS NOT FALSE",
    "IS NOT FALSE": "IS NOT TRUE",
}
"""What is asked of a condition where this is asked of its opposite."""
_TURNED = {">": "<", ">=": "<="}
_TURNED_BACK = {"<": ">", "<=": ">=", "=": "=", "<>": "<>"}
_CASTS = frozenset({"CAST", "TRY_CAST", "REINTERPRET"})
_TYPES = {"VARCHAR(2147483647)": "STRING", "VARBINARY(2147483647)": "BYTES"}
"""Types that people write otherwise."""
_SPECIAL = {"IS NULL": "{} IS NULL", "IS NOT NULL": "{} IS NOT NULL", "IS TRUE": "{} IS TRUE", "NOT": "NOT {}"}

VIA = "via "
"""Begins the function of a column that an operator, whose id follows, hands on as it has read it."""

CONTENT = "content"
"""The kind of a literal that stands for all that a node says."""


class Column(Struct, frozen=True):
    """A column of the rows that the operator ``of`` gives. Of a table, ``place`` is its name, else its number from 0."""

    of: str
    place: str


class Literal(Struct, frozen=True):
    """A constant. ``kind`` is its type unless it is a number: the same text can be a date or a string."""

    value: str
    kind: str = ""


class Call(Struct, frozen=True, eq=False):
    """A function or operator applied to operands; ``kind`` is the type that a cast is to.

    ``under`` are the options that it depends on and that differ between OLD and NEW. ``written`` is its text in the query; it
    does not count in comparisons.
    """

    function: str
    operands: tuple[Expression, ...]
    kind: str = ""
    under: str = ""
    written: Call | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        return f"Call{self._parts!r}"

    @property
    def _parts(self) -> tuple[str, tuple[Expression, ...], str, str]:
        return self.function, self.operands, self.kind, self.under


Expression = Column | Literal | Call
_NULL = Literal("null")


class Rex(Struct, frozen=True, rename="camel"):
    """An expression in a plan. Which fields it has depends on ``kind``."""

    kind: str
    type: Any = None
    input_index: int = -1
    operands: tuple[Rex, ...] = ()
    value: Any = None
    symbol: str = ""
    sarg: Any = None
    alpha: str = ""
    name: str = ""
    expr: Rex | None = None
    internal_name: str = ""
    catalog_name: str = ""
    system_name: str = ""
    class_name: str = field(name="class", default="")
    sql_kind: str = ""
    correl: str = ""
    under: str = ""


def expression(rex: Rex, columns: Sequence[Expression]) -> Expression:
    """An expression over ``columns``. A reference to one that is not there stays one of nothing."""
    if rex.kind in ("INPUT_REF", "PATTERN_INPUT_REF"):
        found = columns[rex.input_index] if 0 <= rex.input_index < len(columns) else Column("", str(rex.input_index))
        return Call(f"{rex.alpha}.", (found,)) if rex.alpha else found
    if rex.kind == "LITERAL":
        return _literal(rex)
    operands = tuple(expression(one, columns) for one in rex.operands)
    if rex.expr is not None:
        operands = (expression(rex.expr, columns), *operands)
    function = (
        function_name(rex.internal_name, rex.catalog_name, rex.system_name, rex.class_name) or rex.sql_kind or rex.kind
    )
    if rex.kind == "CALL" and function in _CASTS:
        same = rex.operands and type_text(rex.operands[0].type) == type_text(rex.type)
        return operands[0] if same else Call(function, operands, type_text(rex.type), rex.under)
    if function in _COMPARISONS and _is_whole(rex.operands):
        return Call(function, operands, _WHOLE, rex.under)
    if function in ("CASE", "IF") and not _is_text(rex.type):
        return _case(Call(function, operands))
    return Call(function, operands, rex.name or rex.correl, rex.under)


def _case(given: Call) -> Call:
    """``IF`` as ``CASE``, and one that replaces NULL as ``COALESCE``."""
    if len(given.operands) == 3 and isinstance(condition := given.operands[0], Call):
        then, other = given.operands[1:]
        value, instead = (other, then) if condition.function == "IS NULL" else (then, other)
        if condition.function in ("IS NULL", "IS NOT NULL") and condition.operands == (value,) and instead != _NULL:
            return Call("COALESCE", (value, instead), written=given)
    return Call("CASE", given.operands, written=given)


def read_by_place(given: Expression) -> Iterator[str]:
    """The operators of whose columns an expression knows only the numbers."""
    if isinstance(given, Column) and given.place.lstrip("+").isdigit():
        yield given.of
    elif isinstance(given, Call):
        for one in given.operands:
            yield from read_by_place(one)


def columns_in(given: Expression) -> Iterator[Column]:
    """The columns that a value is made of. A number that is only asked for whether it is zero, where the value is null then, is
    none of them: so Flink makes a sum of one that is zero without any values."""
    if isinstance(given, Column):
        yield given
    elif isinstance(given, Call):
        for one in _null_at_zero(given) or given.operands:
            yield from columns_in(one)


def _null_at_zero(given: Call) -> tuple[Expression, ...]:
    """The value of ``CASE WHEN count = 0 THEN NULL ELSE value END``, and of ``WHEN count > 0`` the other way round."""
    if given.function != "CASE" or len(given.operands) != 3:
        return ()
    condition, *values = given.operands
    if not isinstance(condition, Call) or condition.function not in ("=", ">", "<", "<>"):
        return ()
    if not any(isinstance(one, Literal) and one.value == "0" for one in condition.operands):
        return ()
    there = tuple(one for one in values if not (isinstance(one, Literal) and one.value == "null" and not one.kind))
    return there if len(there) == 1 else ()


def places_of(rex: Rex | None) -> Iterator[int]:
    """The places of the columns that an expression of a plan refers to."""
    if rex is None:
        return
    if rex.kind in ("INPUT_REF", "PATTERN_INPUT_REF"):
        yield rex.input_index
    for one in (*rex.operands, rex.expr):
        yield from places_of(one)


_COMPARISONS = frozenset({"<", "<=", ">", ">=", "SEARCH"})
_WHOLE = "of whole numbers"
_WHOLE_TYPES = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"})
_LARGEST = 2**63 - 1


def _is_whole(operands: Sequence[Rex]) -> bool:
    """True for two operands that are whole numbers, of which one is a constant."""
    types = [type_text(one.type) for one in operands]
    return len(types) == 2 and _WHOLE_TYPES.issuperset(types) and any(one.kind == "LITERAL" for one in operands)


def _is_text(type: Any) -> bool:
    """True for texts, of which CASE fills up the shorter ones to the length of the longest."""
    return type_text(type).partition("(")[0] in ("CHAR", "VARCHAR", "BINARY", "VARBINARY")


def function_name(internal: str, catalog: str = "", system: str = "", class_name: str = "") -> str:
    """The name of a function: ``SUM`` of ``$SUM$1``, else the name in the catalog and the class behind it."""
    if internal:
        return internal.removeprefix("$").rpartition("$")[0] or internal
    name = catalog or system
    return f"{name}@{class_name}" if class_name else name


def function_of(name: str) -> str:
    """What a function is, whatever it is called: its class, where that is known (``f@lab.Sum``), else its name."""
    return name if "@" not in name else name[name.index("@") :]


def short_name(function: str) -> str:
    """A function's name as it is written in a query."""
    return function.partition("@")[0].rpartition(".")[2].strip("`").removeprefix("$")


def type_text(type: Any) -> str:
    """A type without whether it may be null."""
    if isinstance(type, str):
        return type.removesuffix(" NOT NULL")
    if isinstance(type, dict):
        return json.dumps({key: value for key, value in type.items() if key != "nullable"}, sort_keys=True)
    return ""


def _literal(rex: Rex) -> Literal:
    value = rex.sarg if rex.sarg is not None else rex.value
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if value is None or isinstance(value, int | float | bool):
        return Literal(text)
    kind = type_text(rex.type).partition("(")[0]
    if kind == "CHAR" and rex.sarg is not None:
        kind = "VARCHAR"  # IN makes ranges of CHAR, and OR of the column's VARCHAR: the same values are meant
    return Literal(text, "" if kind == "DECIMAL" else kind)


def canonical(given: Expression) -> Expression:
    """The one form of all expressions that mean the same as ``given`` by the rules of this module."""
    if not isinstance(given, Call):
        return given
    function, operands = function_of(given.function), [canonical(one) for one in given.operands]
    function = _ALSO.get(function, function)
    if function in _OF_NOT and isinstance(negated := operands[0], Call) and negated.function == "NOT":
        function, operands = _OF_NOT[function], [*negated.operands]
    if function in _TURNED and len(operands) == 2:
        function, operands = _TURNED[function], operands[::-1]
    if function == "<=" and given.kind == _WHOLE:
        function, operands = _without_the_bound(operands)
    if function == "SEARCH" and given.kind == _WHOLE and isinstance(operands[1], Literal):
        operands[1] = Literal(ranges.closed(operands[1].value), operands[1].kind)
    if function in _FLAT:
        operands = [inner for one in operands for inner in _parts(one, function)]
    if function in _COMMUTATIVE:
        operands.sort(key=repr)
    kind = "" if given.kind == _WHOLE else given.kind
    return Call(function, tuple(operands), kind, given.under, given.written or given)


def _without_the_bound(operands: list[Expression]) -> tuple[str, list[Expression]]:
    """``21 <= v`` as ``20 < v``, and ``v <= 20`` as ``v < 21``: of whole numbers both are the same."""
    for place, step in ((0, -1), (1, 1)):
        bound = operands[place]
        if isinstance(bound, Literal) and bound.value.lstrip("-").isdigit() and abs(int(bound.value)) < _LARGEST:
            moved = list(operands)
            moved[place] = Literal(str(int(bound.value) + step), bound.kind)
            return "<", moved
    return "<=", operands


def conjuncts(condition: Expression | None) -> Iterator[Expression]:
    """The conditions that all have to hold."""
    if condition is not None:
        yield from _parts(condition, "AND")


def _parts(given: Expression, function: str) -> Iterator[Expression]:
    if isinstance(given, Call) and given.function == function:
        for one in given.operands:
            yield from _parts(one, function)
    else:
        yield given


Name = Callable[[Expression], str | None]
"""What a column is called; for other expressions the name of the computed column that they are, None if they are none."""


def text(given: Expression, name: Name) -> str:
    """The expression as a person writes it."""
    called = name(given)
    if called is not None or isinstance(given, Column):
        return called or ""
    if isinstance(given, Literal):
        return _literal_text(given)
    if given.function.startswith(VIA):
        return text(given.operands[0], name)
    if given.operands and isinstance(given.operands[0], Literal) and given.operands[0].kind == CONTENT:
        return given.function.rpartition(" ")[2]
    shown = _call_text(_constant_behind(given.written or given), name)
    return f"{shown} ({given.under})" if given.under else shown


def _call_text(given: Call, name: Name) -> str:
    parts = [text(one, name) for one in given.operands]
    nested = [_bracketed(one, part) for one, part in zip(given.operands, parts, strict=True)]
    if given.function == "SEARCH" and isinstance(sarg := given.operands[1], Literal):
        return ranges.text(sarg.value, nested[0])
    if given.function in _CASTS:
        return f"{given.function}({parts[0]} AS {_TYPES.get(given.kind, given.kind)})"
    if given.function in _SPECIAL and len(parts) == 1:
        return _SPECIAL[given.function].format(nested[0])
    if given.function.endswith(".") and len(parts) == 1:
        return given.function + parts[0]
    if given.function == "CASE" and len(parts) % 2:
        whens = " ".join(f"WHEN {one} THEN {two}" for one, two in zip(parts[:-1:2], parts[1::2], strict=True))
        return f"CASE {whens} ELSE {parts[-1]} END"
    symbol = not given.function[:1].isalnum() and given.function[:1] not in "$`_"
    if len(parts) > 1 and (symbol or given.function in ("AND", "OR", "LIKE")):
        return f" {given.function} ".join(nested)
    return f"{short_name(given.function)}({', '.join(parts)})"


def _constant_behind(given: Call) -> Call:
    """A comparison with the constant behind, as people write it."""
    if len(given.operands) != 2 or not isinstance(given.operands[0], Literal) or isinstance(given.operands[1], Literal):
        return given
    turned = _TURNED_BACK.get(given.function)
    return given if turned is None else Call(turned, given.operands[::-1], given.kind, given.under)


def _bracketed(given: Expression, shown: str) -> str:
    return f"({shown})" if isinstance(given, Call) and " " in shown and not shown.endswith((")", "END")) else shown


def _literal_text(given: Literal) -> str:
    kind = given.kind
    if not kind or kind.startswith("{"):
        return given.value
    if kind in ("CHAR", "VARCHAR"):
        return f"'{given.value}'"
    return f"{kind} '{given.value}'"
