"""Computed columns of tables: a plan has their expressions wherever a query names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from compat.check.sql.expressions import Column, Expression, Rex, canonical, expression, places_of, text
from compat.check.sql.sources import schema_of, table_of
from compat.plan.facts import Program


class ComputedColumn(Struct, frozen=True):
    """A computed column: its table and its name."""

    table: str
    name: str


_COMPUTED = "COMPUTED"

Computed = Mapping[Expression, ComputedColumn]
"""The computed columns of a program, by what each is in the rows of its source."""


def computed_alike(old: Program, new: Program) -> tuple[Computed, Computed]:
    """The computed columns of both versions. One that is computed in another way now has no name: people have to see both."""
    both = [dict(_computed(program)) for program in (old, new)]
    ways: dict[ComputedColumn, set[str]] = {}
    for columns in both:
        for given, column in columns.items():
            ways.setdefault(column, set()).add(text(given, lambda one: one.place if isinstance(one, Column) else None))
    was, now = ({one: column for one, column in columns.items() if len(ways[column]) == 1} for columns in both)
    return was, now


def _computed(program: Program) -> Iterator[tuple[Expression, ComputedColumn]]:
    """Those of the program's tables that are computed from columns. Flink: ``DefaultSchemaResolver`` resolves them over the
    other ones, in their order."""
    for operator in program.operators:
        table = None if operator.inputs else table_of(operator)
        if table is None:
            continue
        schema = schema_of(operator)
        read = tuple(Column(operator.id, str(one["name"])) for one in schema if one.get("kind") != _COMPUTED)
        for one in schema:
            rex = _rex(one.get("expression")) if one.get("kind") == _COMPUTED else None
            if rex is not None and next(places_of(rex), None) is not None:
                yield canonical(expression(rex, read)), ComputedColumn(table.name, str(one["name"]))


def _rex(given: Any) -> Rex | None:
    try:
        return msgspec.convert(given["rexNode"], Rex)
    except (KeyError, TypeError, msgspec.ValidationError):
        return None
