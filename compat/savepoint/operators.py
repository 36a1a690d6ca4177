"""The operators of a savepoint under all their names, and the ids that texts refer to."""

from __future__ import annotations

import re
from difflib import get_close_matches

from compat.compiler.streamgraph.hashing import uid_hash
from compat.compiler.streamgraph.translators.sinks import COMMITTER_UID, GLOBAL_COMMITTER_UID
from compat.savepoint.names import Names
from compat.state.flink import NewId, OperatorState, Savepoint
from compat.state.flink.writing import LONGEST_TEXT, write_utf

_NEAREST = 3
OPERATOR_ID = re.compile(r"[0-9a-fA-F]{32}")


class RequestError(ValueError):
    """A request that cannot be done with this savepoint; the message says why and what to do."""


class Operators:
    """The operators of a savepoint under all their names."""

    def __init__(self, savepoint: Savepoint, names: Names) -> None:
        self._savepoint = savepoint
        self._names = names
        self._tried: dict[str, str] = {}
        self._by_id: dict[str, OperatorState] = {}
        self._by_uid: dict[str, list[OperatorState]] = {}
        self._by_name: dict[str, list[OperatorState]] = {}
        for operator in savepoint.operators:
            if operator.id in self._by_id:
                raise RequestError(
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
        """The operator's displayed name, with its id."""
        called = next(iter((*self._called(operator), *self._uids(operator))), None)
        return f"operator {operator.id}" if called is None else f"{called!r} ({operator.id})"

    def change(self, text: str) -> tuple[OperatorState, NewId]:
        """The operator and the id in ``OLD=NEW``. If a uid contains ``=``, the split is where OLD is an operator."""
        cuts = [at for at, character in enumerate(text) if character == "="]
        ways = [(text[:at], text[at + 1 :]) for at in cuts if text[:at] and text[at + 1 :]]
        if not ways:
            raise RequestError(f"{text!r} is not of the form OLD=NEW: an id, uid or name, and the new id or uid.")
        known = [(old, new) for old, new in ways if self._all(old)]
        if len(known) > 1:
            raise RequestError(
                f"{text!r} can be read in {len(known)} ways: write OLD as an id (compat inspect shows them)."
            )
        old, new = known[0] if known else ways[0]
        return self.one(old), new_id(new)

    def committers(self, writer: OperatorState, new: NewId) -> dict[str, NewId]:
        """The new ids of the committers of a sink, if the operator is a sink's writer; they have uids made of its own."""
        uid = next((uid for uid in self._uids(writer) if uid_hash(uid) == writer.id), None)
        if uid is None or new.uid is None:
            return {}
        made = [(uid_hash(part.format(uid)), part.format(new.uid)) for part in (COMMITTER_UID, GLOBAL_COMMITTER_UID)]
        return {id: new_id(part) for id, part in made if id in self._by_id}

    def one(self, text: str) -> OperatorState:
        """The operator that a text refers to. Raises RequestError if there is none, or several."""
        found = self._all(text)
        if len(found) == 1:
            if found[0].id == uid_hash(text) and text not in self._uids(found[0]):
                self._tried[found[0].id] = text
            return found[0]
        if found:
            ids = ", ".join(operator.id for operator in found)
            raise RequestError(
                f"{len(found)} operators are called {text!r}: write the id of the one that is meant: {ids}."
            )
        raise RequestError(f"{self._savepoint.path} has no operator {text!r}. {self._nearest(text)}")

    def find(self, text: str) -> OperatorState | None:
        """The operator that a text refers to; None if there is none. Raises RequestError if there are several."""
        return self.one(text) if self._all(text) else None

    def _all(self, text: str) -> list[OperatorState]:
        """The operators that a text can mean: an id before a uid before a name."""
        if OPERATOR_ID.fullmatch(text) and text.lower() in self._by_id:
            return [self._by_id[text.lower()]]
        # The hash of an unrecorded uid still identifies it.
        hashed = self._by_id.get(uid_hash(text))
        return self._by_uid.get(text) or ([hashed] if hashed is not None else self._by_name.get(text, []))

    def _nearest(self, text: str) -> str:
        spellings = [*self._by_uid, *self._by_name, *self._by_id]
        near = get_close_matches(text, spellings, n=_NEAREST, cutoff=0.5)
        if near:
            return f"Nearest: {', '.join(map(repr, near))}."
        labels = list(map(self.label, self._savepoint.operators))
        told = ", ".join(labels[:10]) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")
        unnamed = "" if self._by_name or self._by_uid else "  --names OLD.py gives names."
        return f"It has: {told or 'no operators'}.{unnamed}"

    def _uids(self, operator: OperatorState) -> list[str]:
        """The uids that the savepoint, the names or a person who hit upon it tell."""
        told = (operator.uid, self._names.uid(operator.id), self._tried.get(operator.id))
        return list(dict.fromkeys(filter(None, told)))

    def _called(self, operator: OperatorState) -> list[str]:
        return list(dict.fromkeys(filter(None, (operator.name, self._names.name(operator.id)))))


def new_id(text: str) -> NewId:
    """The id that a text means: itself, or the hash of a uid. Raises RequestError for any other text."""
    if OPERATOR_ID.fullmatch(text):
        return NewId(text.lower())
    if not fits(text):
        raise RequestError(
            f"{text[:60]!r} cannot be a uid: Flink writes at most {LONGEST_TEXT} bytes, and only whole characters."
        )
    return NewId(uid_hash(text), text)


def fits(uid: str) -> bool:
    """Whether Flink can write the uid into its metadata."""
    try:
        return bool(write_utf(uid))
    except ValueError:
        return False
