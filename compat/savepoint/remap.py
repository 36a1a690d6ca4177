"""Which operators of a savepoint get which ids: what a person writes as names, or what the report of a check tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from compat.compiler.streamgraph.hashing import uid_hash
from compat.compiler.streamgraph.translators.sinks import COMMITTER_UID, GLOBAL_COMMITTER_UID
from compat.savepoint.names import Names
from compat.state.flink import NewId, OperatorState, Savepoint
from compat.state.flink.writing import LONGEST_TEXT, write_utf

LARGEST_REPORT = 256 * 1024 * 1024
_NEAREST = 3
_ID = re.compile(r"[0-9a-fA-F]{32}")


class RemapError(ValueError):
    """What was asked for cannot be done with this savepoint; the message says why and what to do."""


class Move(Struct, frozen=True, kw_only=True):
    """An operator of the savepoint, the name that a person knows it by, and the id that it is to have."""

    operator: OperatorState
    label: str
    new: NewId


class Advice(Struct, frozen=True, kw_only=True):
    """A report's advice: the ids of OLD with the new ones, and the operators that it has none for, each with the reason."""

    ids: dict[str, NewId]
    left: tuple[str, ...]
    new_program: str | None


def moves(
    savepoint: Savepoint, names: Names, written: Iterable[str], advised: Advice | None = None
) -> tuple[Move, ...]:
    """The changes that ``OLD=NEW`` texts ask for, and those that a report advises, in the order of the savepoint.

    OLD is an id, a uid or a name, NEW an id or a uid; the committers of a sink follow its uid, as they do in a program. What a
    person writes goes before what a report says, and that before what follows from it. Raises RemapError.
    """
    known = _Operators(savepoint, names)
    chosen: dict[str, NewId] = {}
    following: dict[str, NewId] = {}
    for text in written:
        operator, new = known.change(text)
        if operator.id in chosen:
            raise RemapError(f"{known.label(operator)} is mapped twice; an operator has one id.")
        chosen[operator.id] = new
        following |= known.committers(operator, new)
    for old, new in ({} if advised is None else advised.ids).items():
        if not any(operator.id == old for operator in savepoint.operators):
            raise RemapError(
                f"The report is about another savepoint: this one has no operator {old}. Check this one: "
                f"compat check {savepoint.folder} new.py --output json=report.json"
            )
        chosen.setdefault(old, new)
    chosen = following | chosen
    if not chosen:
        raise RemapError(
            "There is nothing to map: the report knows no operator of NEW for state that does not find its own."
        )
    made = tuple(
        Move(operator=operator, label=known.label(operator), new=chosen[operator.id])
        for operator in savepoint.operators
        if operator.id in chosen
    )
    _require_apart(savepoint, known, chosen)
    return made


def _require_apart(savepoint: Savepoint, known: _Operators, chosen: dict[str, NewId]) -> None:
    """Raise unless all operators have ids of their own afterwards."""
    owners: dict[str, OperatorState] = {}
    for operator in savepoint.operators:
        id = chosen[operator.id].id if operator.id in chosen else operator.id
        other = owners.setdefault(id, operator)
        if other is operator:
            continue
        if operator.id in chosen and other.id in chosen:
            raise RemapError(
                f"{known.label(other)} and {known.label(operator)} would both have the id {id}, and Flink would restore one "
                "of them: give each an id of its own."
            )
        stays = other if operator.id in chosen else operator
        moved = operator if stays is other else other
        raise RemapError(
            f"{known.label(moved)} cannot have the id {id}: {known.label(stays)} has it. Map that one too: to its own new id, "
            f"or, if its state may go, to a uid that no operator has, and restore with -n."
        )


def read_advice(path: str) -> Advice:
    """The map in a report of ``compat check --output json``: from each operator whose state finds nobody, or the wrong one,
    to the operator that does its work now. Raises RemapError.
    """
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST_REPORT + 1)
        report = json.loads(text) if len(text) <= LARGEST_REPORT else None
    except (OSError, ValueError, RecursionError) as error:
        raise RemapError(f"{path}: cannot be read as a report: {error}.") from error
    if not isinstance(report, dict) or not isinstance(report.get("mapping"), list):
        many = isinstance(report, dict) and "reports" in report
        why = (
            "it holds several reports; check one savepoint against one program" if many else "it has no table `mapping`"
        )
        raise RemapError(f"{path}: this is no report of compat check --output json: {why}.")
    try:
        return _advice(report)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RemapError(
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
    return NewId(id, uid if isinstance(uid, str) and _fits(uid) and uid_hash(uid) == id else None)


def _id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise ValueError(f"{text!r} is no operator id")
    return text.lower()


def _told(operator: dict[str, Any]) -> str:
    return f"{operator['uid'] or operator['name']!r}"


class _Operators:
    """The operators of a savepoint, by all that they are called."""

    def __init__(self, savepoint: Savepoint, names: Names) -> None:
        self._savepoint = savepoint
        self._names = names
        self._tried: dict[str, str] = {}
        self._by_id: dict[str, OperatorState] = {}
        self._by_uid: dict[str, list[OperatorState]] = {}
        self._by_name: dict[str, list[OperatorState]] = {}
        for operator in savepoint.operators:
            if operator.id in self._by_id:
                raise RemapError(
                    f"{savepoint.path} lists the operator {operator.id} twice; Flink would restore one of them."
                )
            self._by_id[operator.id] = operator
            for uid in self._uids(operator):
                self._by_uid.setdefault(uid, []).append(operator)
            # The name of operators that were merged begins with that of the first, which the program gave.
            for text in dict.fromkeys(
                part for name in self._called(operator) for part in (name, name.partition(", ")[0])
            ):
                self._by_name.setdefault(text, []).append(operator)

    def label(self, operator: OperatorState) -> str:
        """The operator as a person knows it, with its id."""
        called = next(iter((*self._called(operator), *self._uids(operator))), None)
        return f"operator {operator.id}" if called is None else f"{called!r} ({operator.id})"

    def change(self, text: str) -> tuple[OperatorState, NewId]:
        """The operator and the id that ``OLD=NEW`` means. A uid may have a ``=`` in it: then OLD is what is an operator."""
        cuts = [at for at, character in enumerate(text) if character == "="]
        ways = [(text[:at], text[at + 1 :]) for at in cuts if text[:at] and text[at + 1 :]]
        if not ways:
            raise RemapError(f"{text!r} is not of the form OLD=NEW: an id, uid or name, and the new id or uid.")
        known = [(old, new) for old, new in ways if self._all(old)]
        if len(known) > 1:
            raise RemapError(
                f"{text!r} can be read in {len(known)} ways: write OLD as an id (compat inspect shows them)."
            )
        old, new = known[0] if known else ways[0]
        operator = self._one(old)
        if operator.id == uid_hash(old) and old not in self._uids(operator):
            self._tried[operator.id] = old
        return operator, _new_id(new)

    def committers(self, writer: OperatorState, new: NewId) -> dict[str, NewId]:
        """The new ids of the committers of a sink, if the operator is a sink's writer; they have uids made of its own."""
        uid = next((uid for uid in self._uids(writer) if uid_hash(uid) == writer.id), None)
        if uid is None or new.uid is None:
            return {}
        made = [(uid_hash(part.format(uid)), part.format(new.uid)) for part in (COMMITTER_UID, GLOBAL_COMMITTER_UID)]
        return {id: _new_id(part) for id, part in made if id in self._by_id}

    def _one(self, text: str) -> OperatorState:
        found = self._all(text)
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(operator.id for operator in found)
            raise RemapError(
                f"{len(found)} operators are called {text!r}: write the id of the one that is meant: {ids}."
            )
        raise RemapError(f"{self._savepoint.path} has no operator {text!r}. {self._nearest(text)}")

    def _all(self, text: str) -> list[OperatorState]:
        """The operators that a text can mean: an id before a uid before a name."""
        if _ID.fullmatch(text) and text.lower() in self._by_id:
            return [self._by_id[text.lower()]]
        # A uid that nobody recorded is still known by its hash.
        hashed = self._by_id.get(uid_hash(text))
        return self._by_uid.get(text) or ([hashed] if hashed is not None else self._by_name.get(text, []))

    def _nearest(self, text: str) -> str:
        spellings = [*self._by_uid, *self._by_name, *self._by_id]
        near = get_close_matches(text, spellings, n=_NEAREST, cutoff=0.5)
        if near:
            return f"Nearest: {', '.join(map(repr, near))}."
        labels = list(map(self.label, self._savepoint.operators))
        told = ", ".join(labels[:10]) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")
        unnamed = "" if self._by_name or self._by_uid else " Names are told by --names OLD.py."
        return f"It has: {told or 'no operators'}.{unnamed}"

    def _uids(self, operator: OperatorState) -> list[str]:
        """The uids that the savepoint, the names or a person who hit upon it tell."""
        told = (operator.uid, self._names.uid(operator.id), self._tried.get(operator.id))
        return list(dict.fromkeys(filter(None, told)))

    def _called(self, operator: OperatorState) -> list[str]:
        return list(dict.fromkeys(filter(None, (operator.name, self._names.name(operator.id)))))


def _new_id(text: str) -> NewId:
    if _ID.fullmatch(text):
        return NewId(text.lower())
    if not _fits(text):
        raise RemapError(
            f"{text[:60]!r} cannot be a uid: Flink writes at most {LONGEST_TEXT} bytes, and only whole characters."
        )
    return NewId(uid_hash(text), text)


def _fits(uid: str) -> bool:
    """Whether Flink can write the uid into its metadata."""
    try:
        return bool(write_utf(uid))
    except ValueError:
        return False
