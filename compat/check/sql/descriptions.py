"""What Flink's descriptions tell, where there is no compiled plan: ``GroupAggregate(groupBy=[k], select=[k, SUM(v) AS s])``.

Names in a description are those of the operator before. They are replaced by the expressions of the projection, so that another
alias is no difference. Any other difference is reported as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from compat.check.sql.aspects import Aspect
from compat.check.sql.meaning import Difference, Meaning, Words
from compat.plan.facts import Program
from compat.plan.queries import Description, description, items, of_query
from compat.state.model.operators import Operator

_SELECT = re.compile(r"(?P<before>.*?)\bselect=\[(?P<items>.*?)\](?P<after>(?:, \w+=\[.*|))", re.DOTALL)
_WHERE = re.compile(r"where=\[(?P<condition>.*)\]", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_$][\w$]*|'(?:[^']|'')*'")
_ALIAS = re.compile(r"(?P<what>.*) AS (?P<name>[\w$]+)", re.DOTALL)
_NUMBER = re.compile(r"\[\d+\]:?")
_PASS = frozenset({"WatermarkAssigner", "MiniBatchAssigner", "DropUpdateBefore", "Exchange"})


class Described(Struct, frozen=True):
    """The description of an operator, with what the columns stand for, and the conditions that its rows meet."""

    text: str

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """Whether the descriptions are different."""
        assert isinstance(new, Described)
        if self.text != new.text:
            title = f"Flink described it as {_short(self.text)} and describes it as {_short(new.text)}"
            yield Difference(
                Aspect.UNKNOWN, title, "Only descriptions can be compared, as Flink cannot write a plan of it"
            )


def described(operator: Operator, program: Program) -> Meaning | None:
    """The description of an operator; None for one that is not of a query."""
    own = _description(operator, program)
    if own is None:
        return None
    all_columns = len(operator.inputs) > 1 or not own.kind.endswith("Aggregate")
    try:
        names, conditions = _inputs(operator, program, all_columns)
    except RecursionError:  # a loop, which no query makes
        return None
    return Described(f"{own.kind}({_resolved(_without_aliases(own.rest), names)}) of {' and '.join(conditions)}")


def _description(operator: Operator, program: Program) -> Description | None:
    return description(operator, numbered=program.language != "sql" and not of_query(operator))


def _inputs(operator: Operator, program: Program, all_columns: bool) -> tuple[dict[str, str], list[str]]:
    """What the names stand for in the rows that an operator reads, and what is known of those rows.

    ``all_columns`` tells whether that has to include columns that the operator's own description does not name.
    """
    names: dict[str, str] = {}
    known: list[str] = []
    for id in operator.inputs:
        before = program.by_id.get(id)
        if before is None:
            continue
        own = _description(before, program)
        if before.states or not before.inputs:
            known.append(before.id[:8])
            continue
        inner, conditions = _inputs(before, program, all_columns or len(before.inputs) > 1)
        if own is None:
            own = Description(_NUMBER.sub("", before.description or before.name), "")
        given = _projected(own.rest, inner) if own.kind == "Calc" else inner
        if all_columns and own.kind == "Calc":
            known.append(f"({', '.join(given.values())})")
        for name, what in given.items():
            names[name] = what if names.get(name, what) == what else f"{names[name]} or {what}"
        where = _WHERE.search(own.rest)
        if own.kind == "Calc" and where is not None:
            known.append(f"WHERE {_resolved(where['condition'], inner)}")
        elif own.kind != "Calc" and own.kind not in _PASS:
            known.append(f"{own.kind}({_resolved(_without_aliases(own.rest), inner)})")
        known += conditions
    return names, known


def _projected(rest: str, inner: dict[str, str]) -> dict[str, str]:
    select = _SELECT.fullmatch(rest)
    names: dict[str, str] = {}
    for item in [] if select is None else items(select["items"]):
        alias = _ALIAS.fullmatch(item)
        if alias is not None:
            names[alias["name"]] = _resolved(alias["what"], inner)
        else:
            names[item] = inner.get(item, item)
    return names


def _without_aliases(text: str) -> str:
    return re.sub(r"(?<=\)) AS [\w$]+(?=[,\]])", "", text)


def _resolved(text: str, names: dict[str, str]) -> str:
    return _WORD.sub(lambda word: names.get(word[0], word[0]), text)


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"
