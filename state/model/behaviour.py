"""The code facts of an operator that matter for a restore, from Flink's own objects of a Java job."""

from __future__ import annotations

from compat.state.model.fields import Record


class Holding(Record, frozen=True, kw_only=True):
    """The fields of a function in which it holds its states, and what its code does with them.

    ``fields`` are the names of states by field. ``code`` is a digest of all methods that name no state. ``code_by_state`` is
    the same with each field named by its state, so that it does not change when a field is renamed. For a function of two
    inputs, ``inputs`` are the states that it uses for a record of each.
    """

    fields: dict[str, str]
    code: str
    code_by_state: str
    inputs: tuple[tuple[str, ...], ...] = ()


class Stage(Record, frozen=True, kw_only=True):
    """A state of the automaton that Flink makes of a pattern: its name and kind, and the ways out of it with a digest each."""

    name: str
    kind: str
    ways: tuple[str, ...] = ()


class Pattern(Record, frozen=True, kw_only=True):
    """A pattern of Flink's CEP; ``options`` are the rest: time limits, what is skipped after a match, the clock."""

    stages: tuple[Stage, ...]
    options: dict[str, str] = {}
