"""The code facts of an operator that matter for a restore, from Flink's own objects of a Java job."""

from __future__ import annotations

from collections.abc import Mapping

from compat.state.model.fields import Record

MOST_ROLES = 20
"""The states above which nobody asks what the code does with each."""


def in_its_role(state: str, fields: Mapping[str, str]) -> dict[str, str]:
    """The names by which code shows what it does with a state: that one, or another one. A field of an object that helps is
    named in that object's code; names that are fields of two objects tell nothing."""
    names = {place: place.rpartition(".")[2] for place in fields if place.replace(".", "").isidentifier()}
    once = {place: name for place, name in names.items() if list(names.values()).count(name) == 1}
    return {name: "one" if fields[place] == state else "another" for place, name in once.items()}


class Holding(Record, frozen=True, kw_only=True):
    """The fields of a function in which it holds its states, and what its code does with them.

    ``fields`` are the names of states by field. ``code`` is a digest of all methods that name no state. ``code_by_state`` is
    the same with each field named by its state, so that it does not change when a field is renamed. ``roles`` are digests of
    it by state, in which only that state can be told from the others: what the code does with it. For a function of two
    inputs, ``inputs`` are the states that it uses for a record of each.
    """

    fields: dict[str, str]
    code: str
    code_by_state: str
    inputs: tuple[tuple[str, ...], ...] = ()
    roles: dict[str, str] = {}


class Stage(Record, frozen=True, kw_only=True):
    """A state of the automaton that Flink makes of a pattern: its name and kind, and the ways out of it with a digest each."""

    name: str
    kind: str
    ways: tuple[str, ...] = ()


class Pattern(Record, frozen=True, kw_only=True):
    """A pattern of Flink's CEP; ``options`` are the rest: time limits, what is skipped after a match, the clock."""

    stages: tuple[Stage, ...]
    options: dict[str, str] = {}


class Shape(Record, frozen=True, kw_only=True):
    """The structure of a value that code pickles: a ``number``, ``text``, ``bytes``, ``tuple``, ``list``, ``set`` or ``dict``.

    ``parts`` are the elements of a tuple, ``keys`` the texts among the keys of a dict. A value that is not ``whole`` may have
    more.
    """

    kind: str
    parts: tuple[Shapes, ...] = ()
    keys: tuple[str, ...] = ()
    whole: bool = True

    def __str__(self) -> str:
        if self.kind == "tuple" and self.whole:
            return f"a tuple of {len(self.parts)}"
        return (
            f"a dict with {', '.join(map(repr, self.keys))}"
            if self.keys
            else _WITH_ARTICLE.get(self.kind, f"a {self.kind}")
        )

    def is_read_as(self, new: Shape) -> bool:
        """Whether code that puts in ``new`` reads this. New keys of a dict are not in old ones."""
        if self.kind != new.kind or not (self.whole and new.whole):
            return self.kind == new.kind
        if self.kind == "tuple":
            pairs = zip(self.parts, new.parts, strict=False)
            return len(self.parts) == len(new.parts) and all(are_read_as(*pair) for pair in pairs)
        return set(new.keys) <= set(self.keys)


Shapes = tuple[Shape, ...]
"""What a value may be, in order; empty if that is not known."""
_WITH_ARTICLE = {"text": "text", "bytes": "bytes"}


def are_read_as(old: Shapes, new: Shapes) -> bool:
    """Whether code that puts one of ``new`` into a state reads what was put there before; True if either is not known."""
    return not (old and new) or all(any(one.is_read_as(other) for other in new) for one in old)
