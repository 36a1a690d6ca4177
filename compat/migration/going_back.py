"""The way back: whether a recipe takes NEW's state to OLD, and the recipe that undoes another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from compat.check.findings import Report
from compat.comparison import Outcomes
from compat.compiler.streamgraph.hashing import uid_hash
from compat.escaping import visible
from compat.migration.proposing import Proposal, propose, written
from compat.migration.python_proposals import FUNCTION
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    ConvertWindows,
    DropKeys,
    DropOperator,
    DropState,
    MoveOffsets,
    MoveState,
    Open,
    Recipe,
    RenameClass,
    RenameField,
    RenameOperator,
    RenameState,
    Step,
)
from compat.savepoint.operators import Operators
from compat.state.flink import OperatorState
from compat.state.flink.transcoding import OF_ROW, Constant
from compat.state.names import PYTHON_PREFIX

_MOST_TOLD = 8
_DROPS = Open | DropState | DropOperator

Converting = TypeVar("Converting", ConvertState, ConvertKey)


def with_way_back(result: Outcomes) -> Outcomes:
    """The outcomes of a check; reports on the way back say whether a recipe moves the state that OLD cannot restore
    unchanged.
    """
    told = (
        replace(one, notes=(*one.notes, *told_back(one)))
        if isinstance(one, Report) and one.direction == "rollback"
        else one
        for one in result.outcomes
    )
    return replace(result, outcomes=tuple(told))


def told_back(report: Report) -> tuple[str, ...]:
    """For each thing in a report on the way back that OLD cannot restore unchanged, whether a recipe moves it."""
    told = [f"{one.because} {_taken(one)}" for one in propose(report)]
    more = len(told) - _MOST_TOLD
    return (*told[:_MOST_TOLD], *([f"So it is with {more} more."] if more > 0 else ()))


def _taken(proposal: Proposal) -> str:
    keeping = [step for step in (proposal.step, *proposal.instead) if not isinstance(step, _DROPS)]
    if not keeping:
        return "No recipe takes it back: it can only be dropped."
    may = "may take" if isinstance(proposal.step, Open) else "takes"
    return f"A recipe {may} it back ({keeping[0].__struct_config__.tag})."


class Inverse(Struct, frozen=True):
    """The recipe that undoes another one: its steps, questions for unknown former values, and what is lost."""

    proposals: tuple[Proposal, ...]
    lost: tuple[str, ...]

    @property
    def recipe(self) -> Recipe:
        """The recipe with its questions in their places."""
        return Recipe(steps=tuple(one.step for one in self.proposals))


def inverse_of(recipe: Recipe, operators: Operators) -> Inverse:
    """The recipe that undoes another one; ``operators`` are those of the original savepoint.

    All names in it are those after the other recipe. Raises RequestError for missing operators.
    """
    return _Inverting(recipe, operators).run()


def written_back(inverse: Inverse, old: str, new: str, run: str) -> str:
    """The recipe as a file, with comments on what is lost; ``run`` is the command that carries it out."""
    lost = "".join(f"# {visible(line)}\n" for line in inverse.lost)
    return written(inverse.proposals, new, old, run) + lost


class _Inverting:
    def __init__(self, recipe: Recipe, operators: Operators) -> None:
        self._recipe, self._operators = recipe, operators
        self._lost: list[str] = []
        self._ids: dict[str, str] = {}
        self._classes: dict[str, str] = {}
        self._states: dict[tuple[str, str], tuple[str, str]] = {}
        for step in recipe.steps:
            if isinstance(step, RenameOperator):
                self._ids[operators.one(step.operator).id] = step.to
            elif isinstance(step, RenameClass):
                self._classes[step.name] = step.to
        for step in recipe.steps:
            if isinstance(step, RenameState):
                place = self._place(step.operator, step.state)
                self._states[place] = self._now(step.operator), step.to
            elif isinstance(step, MoveState):
                place = self._place(step.operator, step.state)
                self._states[place] = self._taker(step.to), step.name or place[1]

    def run(self) -> Inverse:
        found = tuple(proposal for step in self._recipe.steps for proposal in self._undone(step))
        return Inverse(found, tuple(self._lost))

    def _undone(self, step: Step) -> Iterator[Proposal]:
        match step:
            case RenameOperator(operator=called, to=to):
                was = _lasting(self._operators.one(called), called)
                yield _sure(RenameOperator(operator=to, to=was))
            case RenameState(operator=called, state=state, to=to):
                yield _sure(RenameState(operator=self._now(called), state=to, to=_declared(state)))
            case MoveState(operator=called, state=state):
                owner, name = self._states[self._place(called, state)]
                was = _declared(state)
                named = was if name != was else None
                yield _sure(MoveState(operator=owner, state=name, to=self._now(called), name=named))
            case RenameClass(name=name, to=to):
                yield _sure(RenameClass(name=to, to=name))
            case RenameField(owner=owner, name=name, to=to):
                yield _sure(RenameField(owner=self._classes.get(owner, owner), name=to, to=name))
            case ConvertState(operator=called, state=state):
                owner, name = self._states.get(self._place(called, state), (self._now(called), state))
                yield from self._converted(replace(step, operator=owner, state=name))
            case ConvertKey(operator=called):
                yield from self._converted(replace(step, operator=self._now(called)))
            case MoveOffsets(operator=called):
                yield from self._read_again(step)
            case DropKeys(operator=called):
                self._lost.append(f"Keys of {called!r} were dropped, and start empty.")
            case ConvertWindows(operator=called):
                self._lost.append(f"Windows of {called!r} that became one stay one.")
            case DropState(operator=called, state=state):
                self._lost.append(f"The state {state!r} of {called!r} was dropped, and starts empty.")
            case DropOperator(operator=called):
                self._lost.append(f"What {called!r} kept was dropped but for what was moved, and starts empty.")
            case _:
                told = f"What undoes {step.__struct_config__.tag}?"
                yield Proposal(Open(question=told), "It cannot be told from the step.")

    def _converted(self, step: Converting) -> Iterator[Proposal]:
        """The step that converts back; of what went with the fields, a question asks what it is to begin with."""
        place = step.operator if isinstance(step, ConvertKey) else f"{step.state} of {step.operator}"
        if isinstance(step, ConvertKey) and step.merge:
            self._lost.append(f"Values of {place} whose keys became one stay one.")
            step = replace(step, merge={})
        if isinstance(step, ConvertState) and step.drops:
            self._lost.append(f"Values of {place} that the function let go start empty.")
            step = replace(step, drops=False)
        if step.function is not None:
            question = f"Which function gives back what {step.function.rpartition(':')[2]} made of {place}?"
            back = replace(step, function=FUNCTION)
            yield Proposal(Open(question=question), "Nobody can tell from a function.", (back,))
            return
        if isinstance(step, ConvertState) and any(
            one.startswith(OF_ROW) for one in (*step.fields.values(), *step.without)
        ):
            question = f"The rows of {place} are no longer beside a number: may they go?"
            drop = DropState(operator=step.operator, state=step.state)
            yield Proposal(Open(question=question), "Nobody has counted since.", (drop,))
            return
        fields: dict[str, str] = {}
        for now, was in step.fields.items():
            fields.setdefault(was, now)
        copies: list[str] = [now for now, was in step.fields.items() if fields[was] != now]
        gone: dict[str, Constant] = dict.fromkeys(step.without)
        back = replace(step, fields=fields, constants=gone, without=(*step.constants, *copies))
        if isinstance(back, ConvertState) and back.entry is not None:
            question = f"The values of {place} became entries of a map: may they go?"
            drop = DropState(operator=back.operator, state=back.state)
            yield Proposal(Open(question=question), "Entries do not become single values again.", (drop,))
        elif gone:
            self._lost.append(f"The values of {', '.join(gone)} in {place} went.")
            question = f"What do {', '.join(gone)} of {place} begin with?"
            yield Proposal(Open(question=question), "Their values went.", (back,))
        else:
            yield _sure(back)

    def _read_again(self, step: MoveOffsets) -> Iterator[Proposal]:
        """A source under its old topics and partitions; it goes on where the new version was."""
        topics = {now: was for was, now in step.topics.items()}
        called = self._now(step.operator)
        if len(topics) < len(step.topics):
            yield Proposal(Open(operator=called, question="Which topics were read before?"), "Several became one.")
            return
        if step.offsets:
            self._lost.append(f"The offsets that {step.operator!r} had: it goes on where NEW was.")
        if topics or step.partitions:
            partitions = {now: was for was, now in step.partitions.items()}
            yield _sure(MoveOffsets(operator=called, topics=topics, partitions=partitions))

    def _place(self, called: str, state: str) -> tuple[str, str]:
        return self._operators.one(called).id, _declared(state)

    def _now(self, called: str) -> str:
        """What an operator is called in what was made."""
        operator = self._operators.one(called)
        return self._ids.get(operator.id) or _lasting(operator, called)

    def _taker(self, called: str) -> str:
        """What an operator that a state moves to is called there: one that was there, or a new one."""
        return called if self._operators.find(called) is None else self._now(called)


def _sure(step: Step) -> Proposal:
    return Proposal(step, "It is undone.")


def _declared(state: str) -> str:
    """The name of a state as programs know it, and steps have it."""
    return state.removeprefix(PYTHON_PREFIX)


def _lasting(operator: OperatorState, called: str) -> str:
    """What an operator is called whatever names a program gives: by its uid, or its id."""
    return called if uid_hash(called) == operator.id else operator.uid or operator.id
