"""The results of a check: findings, the verdict, and where each state goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

from msgspec import Struct

from compat.plan.facts import Program
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine
from compat.state.model.states import State

Direction = Literal["forward", "rollback"]
"""The direction of the check: forward for the deployment, or back for a rollback, in which OLD has to restore NEW's state."""


class Level(Enum):
    """How bad a finding is, worst first."""

    ERROR = "error"
    UNKNOWN = "unknown"
    MIGRATE = "migrate"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Level).index(self)


class Verdict(Enum):
    """The answer. Unknown is never success."""

    COMPATIBLE = "compatible"
    MIGRATION = "compatible-with-migration"
    INCOMPATIBLE = "incompatible"
    UNKNOWN = "unknown"

    @property
    def restores(self) -> bool:
        """True if the state is restored, unchanged or migrated."""
        return self in (Verdict.COMPATIBLE, Verdict.MIGRATION)


class Fate(Enum):
    """The fate of an operator's state at the restore."""

    RESTORED = "restored"
    MIGRATED = "migrated"
    DROPPED = "dropped"
    REFUSED = "refused"
    WRONG_HANDS = "handed to another operator"
    LOST = "lost"
    UNKNOWN = "unknown"
    EMPTY = "starts empty"


FIELDS = {"set_uid_hash": "uidHash", "uid": "uid", "set_max_parallelism": "maxParallelism"}
"""The calls that ``--fix`` writes, with the equivalent field of a topology file.

They say where state belongs and do not change the job's behaviour.
"""

SAFE = tuple(FIELDS)

SETTERS = frozenset(
    {
        *SAFE,
        "name",
        "set_description",
        "set_parallelism",
        "slot_sharing_group",
        "disable_chaining",
        "start_new_chain",
        "set_buffer_timeout",
        "force_non_parallel",
    }
)
"""Calls on a stream that configure its operator and return the same stream."""

_CALL = re.compile(r"(?:env)?\.(\w+)\((.*)\)")


class Fix(Struct, frozen=True, kw_only=True):
    """An edit that repairs a finding.

    ``text`` is the description for people. ``call`` is the code to add to an operator's calls (``.set_uid_hash("…")``),
    ``at`` the line of NEW that creates the operator, ``operator_id`` the operator's id; a call that begins with ``env``
    is one on the environment, without a place. All are None if the fix is not a single call; ``code`` is then the code
    to write or the command to run: ``moves`` says that it is a command that moves state by a recipe.
    """

    text: str
    call: str | None = None
    at: SourceLine | None = None
    operator_id: str | None = None
    code: str | None = None
    moves: bool = False

    @property
    def field(self) -> str | None:
        """The call as a field of a topology file, to go behind the entry's ``id``. None if there is no such field or file."""
        call = None if self.call is None else _CALL.fullmatch(self.call)
        if call is None or call[1] not in FIELDS or self.at is None or not self.at.file.endswith(".json"):
            return None
        return f'"{FIELDS[call[1]]}": {call[2]},'

    @property
    def safe(self) -> bool:
        """Whether the fix is a call that can be written without knowing what the job does."""
        call = None if self.call is None else _CALL.fullmatch(self.call)
        return call is not None and call[1] in FIELDS


class StateHeir(Struct, frozen=True):
    """The state of NEW that replaces a lost one: its operator and its name. It is ``likely`` if only kinds and types
    match, otherwise the name matches.
    """

    operator: Operator
    state: str
    likely: bool = False


class FieldHeir(Struct, frozen=True):
    """The field of NEW that may be a removed one under another name: ``owner`` is the class of both."""

    owner: str
    gone: str
    field: str


class ValueHeir(Struct, frozen=True):
    """A state that NEW has unchanged, whose values it takes once NEW's serializers have rewritten them."""

    state: str


class OperatorHeir(Struct, frozen=True):
    """The operator of NEW that does the work of one of OLD, under another id."""

    old: Operator
    new: Operator


class KeyHeir(Struct, frozen=True):
    """The key of NEW under which the state of an operator is looked up, if it differs from OLD's."""


class WindowHeir(Struct, frozen=True):
    """The windows of NEW that open ones may become part of: their size and the start of one of them, in milliseconds."""

    size: int
    offset: int


class RowHeir(Struct, frozen=True):
    """The parts of a query's state, in order: for each part of NEW, its place in OLD.

    ``begins`` are the names of NEW's parts that OLD lacks, by their places; those in ``zero`` begin with zero, the others
    with null. ``along`` are those among them that OLD has, but that make one result together with parts that begin.
    ``filled`` are zero where OLD had null. ``gone`` are the names of OLD's parts that NEW lacks, by their places. ``renamed``
    are states beside it, by their names in NEW; None for a state that is dropped. ``of_rows`` is true for columns of rows,
    false for sums. ``counted`` is what is kept beside a number that NEW does not keep (`CountHeir`).
    """

    old: Operator
    new: Operator
    state: str
    places: tuple[int | None, ...]
    begins: Mapping[int, str]
    zero: frozenset[int]
    gone: Mapping[int, str]
    renamed: Mapping[str, str | None]
    of_rows: bool
    along: frozenset[int] = frozenset()
    filled: frozenset[int] = frozenset()
    counted: str | None = None


class CountHeir(Struct, frozen=True):
    """A state of a join that stores a count with each row, which NEW does not store."""

    old: Operator
    new: Operator
    state: str
    field: str


class TopicHeir(Struct, frozen=True):
    """The topics of NEW that a topic which NEW no longer names may have become."""

    gone: str
    topics: tuple[str, ...]


Heir = OperatorHeir | StateHeir | ValueHeir | FieldHeir | KeyHeir | WindowHeir | RowHeir | CountHeir | TopicHeir


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that the check found.

    ``title`` is one line; ``consequence`` says what would happen at the restore, ``reason`` why. ``old`` and ``new`` are the
    operators concerned; ``related`` are further places. ``silent`` marks findings that Flink itself would not report.
    ``subject`` is its further subject (an option, a uid), if one operator can have several findings of its rule.
    ``cause`` is what it has in common with others of its rule, in words for all operators concerned ("run with
    parallelism 200"). ``fate`` is what happens to the state, if that differs from the rule's usual fate. ``heirs`` are
    the places where its values belong, or may belong, so that a savepoint can be written with them there.
    """

    rule: str
    level: Level
    title: str
    consequence: str
    reason: str
    old: Operator | None = None
    new: Operator | None = None
    old_line: SourceLine | None = None
    new_line: SourceLine | None = None
    state: str | None = None
    fixes: tuple[Fix, ...] = ()
    silent: bool = False
    related: tuple[tuple[str, SourceLine], ...] = ()
    ignored: str | None = None
    subject: str | None = None
    cause: str | None = None
    fate: Fate | None = None
    heirs: tuple[Heir, ...] = ()
    direction: Direction = "forward"

    @property
    def fingerprint(self) -> str:
        """The text that stays the same when lines move: rule, operators by uid or name and id, state, subject. For
        baselines. Findings without an operator are distinguished by their titles.
        """
        parts = [self.rule]
        for operator in (self.old, self.new):
            parts.append("" if operator is None else operator.uid or f"{operator.name}#{operator.id[:8]}")
        parts.append(self.state or "")
        subject = self.subject or (self.title if self.old is None and self.new is None else None)
        parts += [] if subject is None else [subject]
        parts += [] if self.direction == "forward" else [self.direction]
        return "|".join(parts)


class MappingRow(Struct, frozen=True, kw_only=True):
    """One line of the table of the state mapping: an operator of OLD, an operator of NEW, and the state's fate.

    ``successor`` is the operator of NEW that the state belongs to, if Flink does not take it there and it is known.
    """

    old: Operator | None
    new: Operator | None
    fate: Fate
    by: str
    note: str = ""
    successor: Operator | None = None


class Witness(Enum):
    """The witness who compared a state of OLD with NEW's declaration."""

    READERS = "our readers"
    FLINK = "Flink's serializers"
    VALUES = "values that were restored"
    CODE = "the same code"


class Evidence(Struct, frozen=True):
    """What was compared for a state, and by which witness."""

    compared: tuple[str, ...]
    witness: Witness


class Gap(Struct, frozen=True):
    """The missing proof that a state is restored, and what would settle it. ``cause`` is the same for gaps that one
    step settles.
    """

    why: str
    settle: str
    cause: str


Proof = Evidence | Gap


class Account(Struct, frozen=True, kw_only=True):
    """The account of one state of OLD: its old and new operators, its fate, and the evidence for that. ``state`` is
    None for further states that the operator may keep besides the known ones. ``rule`` is the rule that decided its
    fate; without one, ``evidence`` is the proof that it is restored, or ``gap`` says what is missing for the proof or
    the restore.
    """

    old: Operator
    state: State | None
    new: Operator | None
    fate: Fate
    evidence: Evidence | None = None
    rule: str = ""
    gap: str = ""

    @property
    def open(self) -> bool:
        """True if there is neither evidence for its fate nor a finding about it."""
        return self.fate is Fate.UNKNOWN and not self.rule


class Assumption(Struct, frozen=True, kw_only=True):
    """An input that was not given and that the verdict may depend on: an option of the cluster, the version of Flink.

    The check was made with ``value``, and with ``tried`` as well; ``differs`` says that one of these gives another
    verdict. ``settle`` is the option that gives it.
    """

    name: str
    value: str
    settle: str
    tried: tuple[str, ...] = ()
    differs: bool = False


class Passage(Struct, frozen=True, kw_only=True):
    """The fate of one operator's state, for people: ``new`` is the operator that does its work now, if any. ``way`` is
    why its id changed: the operator itself, then the inputs, back to the first cause.
    """

    old: Operator
    new: Operator | None
    fate: Fate
    sentences: tuple[str, ...]
    way: tuple[str, ...] = ()


class Change(Struct, frozen=True, kw_only=True):
    """One difference: ``kind`` is ``changed``, ``added`` or ``removed``, ``path`` is its place."""

    kind: str
    path: tuple[str, ...]
    was: Any
    now: Any


class OperatorChanges(Struct, frozen=True, kw_only=True):
    """The differences between an operator in OLD and in NEW."""

    old: Operator
    new: Operator
    changes: tuple[Change, ...]


class Difference(Struct, frozen=True, kw_only=True):
    """The differences between two programs, as data. ``removed`` and ``added`` are operators without a partner."""

    settings: tuple[Change, ...]
    operators: tuple[OperatorChanges, ...]
    removed: tuple[Operator, ...]
    added: tuple[Operator, ...]


class ReadState(Struct, frozen=True, kw_only=True):
    """The real values of a state of OLD that were restored into NEW on a state backend.

    ``read`` is how many were restored and read, ``migrated`` whether they were rewritten for that. ``at`` is the time
    of the first failure (``restore``, ``first-read``, ``checkpoint``), with the key group, the key, and Flink's
    message.
    """

    scope: str
    name: str
    backend: str
    read: int = 0
    migrated: bool = False
    at: str | None = None
    key_group: int | None = None
    key: str = ""
    reason: str = ""


class RehearsedOperator(Struct, frozen=True, kw_only=True):
    """The rehearsal of an operator's restore: its states, and how much of its keyed state was read, in bytes and key groups."""

    operator: Operator
    states: tuple[ReadState, ...]
    key_groups: int
    key_groups_read: int
    bytes: int
    bytes_read: int
    notes: tuple[str, ...] = ()


class Started(Struct, frozen=True, kw_only=True):
    """How a program is started besides its options: its arguments, its main class, and its import paths."""

    arguments: tuple[str, ...] = ()
    main_class: str | None = None
    pyfiles: tuple[str, ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """The outcome of one check. ``findings`` are sorted, worst first; ``suppressed`` were ignored or in the baseline.

    ``story`` and ``difference`` are set if an explanation was asked for, ``rehearsal`` if real state was restored.
    ``started`` is how NEW was started. ``refused`` is NEW if Flink refuses it as a job: then nothing was compared, and
    the one finding that says so cannot be ignored.
    """

    old: Program
    new: Program
    verdict: Verdict
    findings: tuple[Finding, ...]
    mapping: tuple[MappingRow, ...]
    accounts: tuple[Account, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    suppressed: tuple[Finding, ...] = ()
    allow_non_restored: bool = False
    direction: Direction = "forward"
    notes: tuple[str, ...] = ()
    story: tuple[Passage, ...] = ()
    difference: Difference | None = None
    refused: bool = False
    started: Started = Started()
    rehearsal: tuple[RehearsedOperator, ...] | None = None

    @property
    def deployed(self) -> Program:
        """The program to be deployed: NEW, or OLD in the check of a rollback."""
        return self.new if self.direction == "forward" else self.old
