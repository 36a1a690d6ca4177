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
    inputs, ``inputs`` are the states that it uses for a record of each, and ``changed`` those into which it puts something.
    """

    fields: dict[str, str]
    code: str
    code_by_state: str
    inputs: tuple[tuple[str, ...], ...] = ()
    changed: tuple[tuple[str, ...], ...] = ()
    roles: dict[str, str] = {}

    @property
    def by_side(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """The same for each of two inputs; empty for other functions."""
        return tuple(zip(self.inputs, self.changed or ((),) * len(self.inputs), strict=True))


class Stage(Record, frozen=True, kw_only=True):
    """A state of the automaton that Flink makes of a pattern: its name and kind, and the ways out of it with a digest each."""

    name: str
    kind: str
    ways: tuple[str, ...] = ()


class Pattern(Record, frozen=True, kw_only=True):
    """A pattern of Flink's CEP; ``options`` are the rest: time limits, what is skipped after a match, the clock."""

    stages: tuple[Stage, ...]
    options: dict[str, str] = {}
