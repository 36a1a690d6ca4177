"""The facts available to rules, and how rules report findings."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from compat.check.code_suggestions import MIGRATE, fresh_uid
from compat.check.findings import Direction, Fate, Finding, Fix, Heir, Level
from compat.check.finishing import Endings, Finishing, find_endings, find_finishing
from compat.check.identity import find_exchanged_values, find_rightful, named_before, takes_user_hash
from compat.check.mapping import BY_GENERATED_ID, BY_USER_HASH, Pair, StateMapping, map_state
from compat.check.rule import Rule
from compat.check.similarity import find_successors, kept_names
from compat.compiler.versions import LATEST_FLINK
from compat.plan.facts import Program
from compat.state.model.job import PYTHON_EXECUTION_MODE, STATE_BACKEND
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine

if TYPE_CHECKING:
    from compat.deployment.resources import Deployment
    from compat.loader.jvm.answers import Answer, Answers

_IGNORE: Final = "execution.state-recovery.ignore-unclaimed-state"


class Asked(Enum):
    """The settings of the cluster that rules ask for: options by name, and the version of Flink."""

    BACKEND = STATE_BACKEND
    EXECUTION_MODE = PYTHON_EXECUTION_MODE
    FLINK = "flink"


class Rewritten(Struct, frozen=True):
    """A state that a recipe wrote: its former name, and for each field of its rows the former place.

    The place is None for a new field; there are no places if the values are unchanged. ``filled`` are the fields that are
    constants where they were null, ``single`` is the field that is the whole value now.
    """

    was: str
    places: tuple[int | None, ...] | None = None
    filled: frozenset[int] = frozenset()
    single: str | None = None


class CheckOptions(Struct, frozen=True):
    """The user's decisions: whether non-restored state is allowed, the version of Flink to restore with
    (``flink_assumed`` if it was not given), and the direction; and the deployments of NEW and of OLD, if given.

    ``rewritten`` are the states of queries that were rewritten for NEW, by the ids of their operators and their names.
    ``moving`` is the command that moves state by a recipe, if any.
    """

    allow_non_restored: bool = False
    flink: str = LATEST_FLINK
    flink_assumed: bool = False
    direction: Direction = "forward"
    deployment: Deployment | None = None
    old_deployment: Deployment | None = None
    rewritten: Mapping[str, Mapping[str, Rewritten]] = {}
    moving: str | None = MIGRATE


class Check(Struct, frozen=True, dict=True, weakref=True):
    """Two programs, where the state goes, and the options.

    ``wrong_hands`` are the pairs in which the two operators are not the same one, by OLD's id, with the reason.
    ``rebuilt`` holds each program from a second build, by side (``old``, ``new``), if there was one; ``answers`` are
    the results of Flink's own classes restoring OLD's state in NEW, if they were asked. ``asked`` is what rules asked
    for: the verdict may depend on it if it was not given.
    """

    old: Program
    new: Program
    mapping: StateMapping
    options: CheckOptions
    wrong_hands: Mapping[str, str]
    rebuilt: Mapping[str, Program] = field(default_factory=dict)
    answers: Answers | None = None
    asked: set[Asked] = field(default_factory=set)

    @property
    def backend(self) -> str | None:
        """The state backend of NEW; None if it sets none."""
        self.asked.add(Asked.BACKEND)
        return self.new.settings.get(STATE_BACKEND)

    @property
    def execution_modes(self) -> tuple[str | None, str | None]:
        """The modes in which PyFlink runs OLD and NEW; None if unknown."""
        self.asked.add(Asked.EXECUTION_MODE)
        return self.told_modes

    @property
    def told_modes(self) -> tuple[str | None, str | None]:
        """The modes in the settings, for findings that hold in any mode: the verdict does not depend on it."""
        return self.old.settings.get(PYTHON_EXECUTION_MODE), self.new.settings.get(PYTHON_EXECUTION_MODE)

    @property
    def flink(self) -> str:
        """The version of Flink that restores."""
        self.asked.add(Asked.FLINK)
        return self.options.flink

    @property
    def in_flink(self) -> bool:
        """True if Flink restores; False if a store of this project has the state, or takes it over."""
        return not (self.old.kept_by_store or self.new.kept_by_store)

    @property
    def snapshot_to_come(self) -> bool:
        """True for two programs: Flink has not yet taken the snapshot of OLD."""
        return self.in_flink and self.old.snapshot is None

    @cached_property
    def finishing(self) -> Finishing | None:
        """How far OLD is when the snapshot is taken; None if nothing finishes before the rest."""
        return find_finishing(self.old, to_come=self.snapshot_to_come)

    @cached_property
    def endings(self) -> Endings | None:
        """Operators that may also have finished when the snapshot is taken."""
        return find_endings(self.old, to_come=self.snapshot_to_come)

    def answer(self, pair: Pair) -> Answer | None:
        """Flink's result for the state of a pair; None if it was not asked."""
        return None if self.answers is None else self.answers.operators.get(pair.new.node)

    @property
    def left_behind(self) -> str | None:
        """The setting that lets Flink drop state that no operator of NEW takes: ``-n``, or an option of NEW; None if
        Flink refuses.
        """
        if self.options.allow_non_restored:
            return "as -n allows"
        return f"as NEW sets {_IGNORE}" if self.new.settings.get(_IGNORE) else None

    @cached_property
    def right_pairs(self) -> tuple[Pair, ...]:
        """The pairs with state whose two sides are the same operator: those whose states can be compared."""
        return tuple(pair for pair in self.mapping.stateful_pairs() if pair.old.id not in self.doubtful)

    @cached_property
    def doubtful(self) -> frozenset[str]:
        """The operators of OLD, by id, whose state another operator gets, or for which that is open."""
        return frozenset(self.wrong_hands.keys() | self.mapping.contested.keys())

    @cached_property
    def exchanged_values(self) -> Mapping[str, Operator]:
        """The operators of NEW created with the values of an operator of OLD whose id another one has, by OLD's id."""
        return find_exchanged_values(self.mapping, self.new)

    @cached_property
    def uids(self) -> frozenset[str]:
        """All uids that the programs use: a new uid must differ from them."""
        return self.old.uids | self.new.uids

    def fresh_uid(self, operator: Operator) -> str:
        """A uid for an operator of NEW that no other operator has or gets; the same one for every rule."""
        uid = self._given.get(operator.id)
        if uid is None:
            uid = self._given[operator.id] = fresh_uid(operator, self.uids.union(self._given.values()))
        return uid

    @cached_property
    def _given(self) -> dict[str, str]:
        return {}

    def successor(self, operator: Operator) -> Operator | None:
        """The operator of NEW that does the work of an operator of OLD whose state no operator takes."""
        return self.mapping.successors.get(operator.id) or self._displaced.get(operator.id)

    @cached_property
    def rightful(self) -> Mapping[str, Operator]:
        """The operator of NEW that state in wrong hands belongs to, if there is one, by OLD's id."""
        wrong = [pair for pair in self.mapping.stateful_pairs() if pair.old.id in self.wrong_hands]
        if not wrong:
            return {}
        settled = {pair.new.id for pair in self.right_pairs}
        settled |= {new.id for old in self.mapping.lost if (new := self.successor(old)) is not None}
        return find_rightful(wrong, settled, self.new)

    @cached_property
    def tied(self) -> Mapping[str, Pair]:
        """The pairs that edits of NEW would create, for state that is now lost or in wrong hands, by OLD's id."""
        return {
            id: Pair(self.old.by_id[id], new, BY_USER_HASH) for id, new in self.owners.items() if takes_user_hash(new)
        }

    @cached_property
    def owners(self) -> Mapping[str, Operator]:
        """The operators of NEW that own state which is now lost or in wrong hands, by OLD's id."""
        owners = dict(self.rightful)
        if self.left_behind is None:
            lost = (old for old in self.mapping.lost if old.id not in self.mapping.guessed)
            owners |= {old.id: new for old in lost if (new := self.successor(old)) is not None}
        return owners

    @cached_property
    def leaving(self) -> frozenset[str]:
        """Operators of NEW, by id, that edits take off the id of the state they get, or whose state is open."""
        taking = {pair.new.id for pair in self.mapping.stateful_pairs() if pair.old.id in self.doubtful}
        return frozenset(taking - {pair.new.id for pair in self.tied.values()})

    @cached_property
    def kept(self) -> tuple[Pair, ...]:
        """Right pairs by generated ids that edits elsewhere move: they need a user hash to stay together."""
        return tuple(
            pair
            for pair in self.right_pairs
            if pair.new.id in self._moved and pair.by == BY_GENERATED_ID and takes_user_hash(pair.new)
        )

    def moved_by(self, operator: Operator) -> frozenset[str]:
        """The operators of NEW, by id, whose own ids change with another uid of ``operator``: itself, and those behind it."""
        found: set[str] = set()
        waiting = [operator.id]
        while waiting:
            id = waiting.pop()
            if id not in found:
                found.add(id)
                waiting += [each.id for each in self._behind.get(id, ()) if each.uid is None]
        return frozenset(found)

    @cached_property
    def _behind(self) -> Mapping[str, list[Operator]]:
        readers: dict[str, list[Operator]] = {}
        for operator in self.new.operators:
            for id in operator.inputs:
                readers.setdefault(id, []).append(operator)
        return readers

    @cached_property
    def _moved(self) -> frozenset[str]:
        """The operators of NEW, by id, whose own ids change with the edits that give others a uid."""
        wrong = (pair.new for pair in self.mapping.stateful_pairs() if pair.old.id in self.wrong_hands)
        tied = {pair.new.id for pair in self.tied.values()}
        named = [named_before(new, self.new) for new in wrong if new.id not in tied]
        named += [pair.new for pair in self.tied.values() if self.recorded_otherwise(pair.old, pair.new) is not None]
        return frozenset().union(*(self.moved_by(operator) for operator in named if operator is not None))

    def recorded_otherwise(self, old: Operator, new: Operator) -> int | None:
        """The max parallelism that OLD recorded under ``new``'s own id, if it differs from ``old``'s and NEW sets one.

        Flink compares NEW's with both records: no setting fits both.
        """
        own = self.old.by_id.get(new.id)
        if not new.max_parallelism_configured or own is None or own.max_parallelism == old.max_parallelism:
            return None
        return own.max_parallelism

    @cached_property
    def repaired(self) -> StateMapping:
        """The state mapping after these edits, so that remaining problems are reported at once."""
        ties = {pair.new.id: id for id, pair in self.tied.items()}
        ties |= {pair.new.id: pair.old.id for pair in self.kept}
        return map_state(self.old, self.new, ties, self._moved) if ties or self._moved else self.mapping

    @cached_property
    def _displaced(self) -> dict[str, Operator]:
        """Successors that share an id with another operator of OLD at present, by OLD's id."""
        lost = [operator for operator in self.mapping.lost if operator.id not in self.mapping.successors]
        right = {pair.new.id for pair in self.right_pairs} if lost else set()
        displaced = [pair.new for pair in self.mapping.pairs if pair.new.id not in right]
        return find_successors(lost, displaced, kept_names(self.old, self.new)) if lost else {}

    def finding(
        self,
        rule: Rule,
        title: str,
        *,
        level: Level | None = None,
        consequence: str,
        reason: str,
        old: Operator | None = None,
        new: Operator | None = None,
        state: str | None = None,
        fixes: tuple[Fix, ...] = (),
        silent: bool = False,
        related: tuple[tuple[str, SourceLine], ...] = (),
        subject: str | None = None,
        cause: str | None = None,
        fate: Fate | None = None,
        heirs: tuple[Heir, ...] = (),
    ) -> Finding:
        """A finding of ``rule``, at its usual level unless another one is given.

        It has a place in both programs: the line that asks for the state, else that of the operator, else of a
        neighbour, else the submitting line.
        """
        return Finding(
            rule=rule.id,
            level=rule.level_of(level),
            title=title,
            consequence=consequence,
            reason=reason,
            old=old,
            new=new,
            old_line=_state_line(old, state) or _line(old) or self._places_in_old.nearest(new),
            new_line=_state_line(new, state) or _line(new) or self._places_in_new.nearest(old),
            state=state,
            fixes=fixes,
            silent=silent,
            related=related,
            subject=subject,
            cause=cause,
            fate=fate,
            heirs=heirs,
            direction=self.options.direction,
        )

    @cached_property
    def _places_in_old(self) -> _Places:
        return _Places(self.new, {pair.new.id: pair.old for pair in self.mapping.pairs}, self.old)

    @cached_property
    def _places_in_new(self) -> _Places:
        return _Places(self.old, {pair.old.id: pair.new for pair in self.mapping.pairs}, self.new)


class _Places:
    """Places in a program for an operator that only the other program has.

    The place is that of the partner of what feeds the operator there, else the line that submits the job. ``partners``
    are the
    program's operators by the id of the other one's.
    """

    def __init__(self, other: Program, partners: Mapping[str, Operator], program: Program) -> None:
        self._other = other
        self._partners = partners
        self._default = program.source or next((item.source for item in program.operators if item.source), None)
        self._known: dict[str, SourceLine | None] = {}

    def nearest(self, operator: Operator | None) -> SourceLine | None:
        """The nearest line. Walked parts are remembered, so that all walks together visit an operator once."""
        walked: dict[str, None] = {}
        line = self._default
        while operator is not None and operator.id not in walked:
            if operator.id in self._known:
                line = self._known[operator.id]
                break
            walked[operator.id] = None
            partner = self._partners.get(operator.id)
            if partner is not None and partner.source is not None:
                line = partner.source
                break
            operator = self._other.by_id.get(operator.inputs[0]) if operator.inputs else None
        self._known.update(dict.fromkeys(walked, line))
        return line


def _state_line(operator: Operator | None, name: str | None) -> SourceLine | None:
    """The line at which an operator asks for a state."""
    states = () if operator is None or name is None else operator.states or ()
    return next((state.source for state in states if state.name == name and not state.built_in), None)


def _line(operator: Operator | None) -> SourceLine | None:
    return None if operator is None else operator.source
