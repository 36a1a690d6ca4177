"""The new ids of a savepoint's operators: from names that the user gives, or from the report of a check."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from compat.compiler.streamgraph.hashing import uid_hash
from compat.savepoint.names import Names
from compat.savepoint.operators import OPERATOR_ID, Operators, RequestError, fits
from compat.state.flink import NewId, OperatorState, Savepoint

LARGEST_REPORT = 256 * 1024 * 1024


class Move(Struct, frozen=True, kw_only=True):
    """An operator of the savepoint, its displayed name, and its new id."""

    operator: OperatorState
    label: str
    new: NewId


class Advice(Struct, frozen=True, kw_only=True):
    """A report's advice: new ids by the ids of OLD, and the operators without one, each with the reason."""

    ids: dict[str, NewId]
    left: tuple[str, ...]
    new_program: str | None


def moves(
    savepoint: Savepoint, names: Names, written: Iterable[str], advised: Advice | None = None
) -> tuple[Move, ...]:
    """The changes that ``OLD=NEW`` texts ask for, and those that a report advises, in the order of the savepoint.

    OLD is an id, a uid or a name, NEW an id or a uid; the committers of a sink follow its uid, as they do in a program.
    The user's changes override those of a report, which override derived ones. Raises RequestError.
    """
    known = Operators(savepoint, names)
    chosen: dict[str, NewId] = {}
    following: dict[str, NewId] = {}
    for text in written:
        operator, new = known.change(text)
        if operator.id in chosen:
            raise RequestError(f"{known.label(operator)} is mapped twice; an operator has one id.")
        chosen[operator.id] = new
        following |= known.committers(operator, new)
    for old, new in ({} if advised is None else advised.ids).items():
        if not any(operator.id == old for operator in savepoint.operators):
            raise RequestError(
                f"The report is about another savepoint: this one has no operator {old}. Check this one: "
                f"compat check {savepoint.folder} new.py --output json=report.json"
            )
        chosen.setdefault(old, new)
    chosen = following | chosen
    if not chosen:
        raise RequestError(
            "There is nothing to map: the report knows no operator of NEW for state that does not find its own."
        )
    made = tuple(
        Move(operator=operator, label=known.label(operator), new=chosen[operator.id])
        for operator in savepoint.operators
        if operator.id in chosen
    )
    _require_apart(savepoint, known, chosen)
    return made


def _require_apart(savepoint: Savepoint, known: Operators, chosen: dict[str, NewId]) -> None:
    """Raise unless all operators have ids of their own afterwards."""
    owners: dict[str, OperatorState] = {}
    for operator in savepoint.operators:
        id = chosen[operator.id].id if operator.id in chosen else operator.id
        other = owners.setdefault(id, operator)
        if other is operator:
            continue
        if operator.id in chosen and other.id in chosen:
            raise RequestError(
                f"{known.label(other)} and {known.label(operator)} would both have the id {id}, and Flink would restore one "
                "of them: give each an id of its own."
            )
        stays = other if operator.id in chosen else operator
        moved = operator if stays is other else other
        raise RequestError(
            f"{known.label(moved)} cannot have the id {id}: {known.label(stays)} has it. Map that one too: to its own new id, "
            f"or, if its state may go, to a uid that no operator has, and restore with -n."
        )


def read_advice(path: str) -> Advice:
    """The map in a report of ``compat check --output json``: from each operator whose state no operator or the wrong
    one takes, to the operator that does its work now. Raises RequestError.
    """
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST_REPORT + 1)
        report = json.loads(text) if len(text) <= LARGEST_REPORT else None
    except (OSError, ValueError, RecursionError) as error:
        raise RequestError(f"{path}: cannot be read as a report: {error}.") from error
    if not isinstance(report, dict) or not isinstance(report.get("mapping"), list):
        many = isinstance(report, dict) and "reports" in report
        why = (
            "it holds several reports; check one savepoint against one program" if many else "it has no table `mapping`"
        )
        raise RequestError(f"{path}: this is no report of compat check --output json: {why}.")
    try:
        return _advice(report)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RequestError(
            f"{path}: this is no report of compat check --output json: {type(error).__name__}: {error}."
        ) from None


def _advice(report: dict[str, Any]) -> Advice:
    ids: dict[str, NewId] = {}
    left = []
    for row in report["mapping"]:
        old, successor = row["old"], row.get("successor")
        if old is None:
            continue
        if successor is not None:
            ids[_id(old["operator_id"])] = _identity(successor)
        elif row["new"] is None or row["fate"] == "wrong-hands":
            left.append(f"{_told(old)} ({old['operator_id']})")
    new = report.get("new")
    return Advice(ids=ids, left=tuple(left), new_program=new["name"] if isinstance(new, dict) else None)


def _identity(operator: dict[str, Any]) -> NewId:
    id, uid = _id(operator["operator_id"]), operator["uid"]
    return NewId(id, uid if isinstance(uid, str) and fits(uid) and uid_hash(uid) == id else None)


def _id(text: str) -> str:
    if not OPERATOR_ID.fullmatch(text):
        raise ValueError(f"{text!r} is no operator id")
    return text.lower()


def _told(operator: dict[str, Any]) -> str:
    return f"{operator['uid'] or operator['name']!r}"
