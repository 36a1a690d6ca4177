"""Proposes a recipe from a report: known moves become steps, unknown ones questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from compat.check.catalogue import RULES
from compat.check.code_suggestions import MIGRATE, RESTORE
from compat.check.findings import (
    Account,
    CountHeir,
    Fate,
    FieldHeir,
    Finding,
    KeyHeir,
    Level,
    OperatorHeir,
    Report,
    RowHeir,
    StateHeir,
    TopicHeir,
    ValueHeir,
    WindowHeir,
)
from compat.check.rule import Family
from compat.check.states import key_type_of
from compat.escaping import visible
from compat.migration.python_proposals import conversions, key_conversions, of_pickles
from compat.migration.recipe import (
    FORMAT,
    ConvertState,
    ConvertWindows,
    DropOperator,
    DropState,
    MoveOffsets,
    MoveState,
    Open,
    RenameField,
    RenameOperator,
    RenameState,
    Step,
)
from compat.report.context import OfferedRecipe
from compat.savepoint.facts import COLLECTING
from compat.state.flink.errors import SavepointError
from compat.state.flink.merging import Rule
from compat.state.flink.transcoding import OF_ROW, Constant, SerializerConversion
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind, StateScope
from compat.state.names import WINDOW_CONTENTS

_MAY_GO = "May all of its state go?"
_FINE = (Fate.RESTORED, Fate.MIGRATED, Fate.EMPTY)


class Proposal(Struct, frozen=True):
    """A step, the reason for it, and the possible answers to a question."""

    step: Step
    because: str
    instead: tuple[Step, ...] = ()


def propose(report: Report) -> tuple[Proposal, ...]:
    """The steps and questions for OLD's state so that NEW restores all of it, operator by operator."""
    return tuple(_Proposing(report).run())


def perhaps(report: Report) -> tuple[Proposal, ...]:
    """Steps that may be unneeded: pickled values are restored, whatever objects NEW's code expects, and open windows
    end as they began.
    """
    proposing = _Proposing(report)
    return (*proposing.pickled(), *proposing.windows())


class _Proposing:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._names = Counter(operator.name for operator in report.old.operators)
        self._heirs: dict[tuple[str, str | None], tuple[Finding, StateHeir]] = {}
        self._of_fields: set[tuple[str, str | None]] = set()
        self._rewritten: dict[str, dict[str, Finding]] = {}
        self._apart: set[tuple[str, str | None]] = set()
        self._moved: set[str] = set()
        self._of: dict[str, list[Finding]] = {}
        for finding in report.findings:
            if finding.old is not None:
                self._of.setdefault(finding.old.id, []).append(finding)
            for heir in finding.heirs:
                if finding.old is not None and isinstance(heir, StateHeir):
                    self._heirs[finding.old.id, finding.state] = finding, heir
                elif finding.old is not None and isinstance(heir, FieldHeir):
                    self._of_fields.add((finding.old.id, finding.state))
                elif finding.old is not None and isinstance(heir, ValueHeir):
                    self._rewritten.setdefault(finding.old.id, {})[heir.state] = finding

    def run(self) -> Iterator[Proposal]:
        moved = self._moved
        for row in self._report.mapping:
            if row.old is not None and row.successor is not None and row.old.id not in moved:
                moved.add(row.old.id)
                yield self._moved_to(row.old, row.successor)
        for finding in self._report.findings:
            for heir in finding.heirs:
                if isinstance(heir, OperatorHeir):
                    moved.add(heir.old.id)
                    yield self._moved_to(heir.old, heir.new)
        yield from self._fields()
        asked = self._of_fields.copy()
        for old, name, proposal in self._anew():
            asked.add((old.id, name))
            yield proposal
        for old, proposal in self._topics():
            asked |= {(old.id, one.name) for one in old.states or ()} | {(old.id, None)}
            yield proposal
        for old, proposal in self._rows():
            asked |= {(old.id, one.name) for one in old.states or ()} | {(old.id, None)}
            yield proposal
        for account in self._report.accounts:
            state = None if account.state is None else account.state.name
            if account.fate in _FINE or account.old.id in moved or (account.old.id, state) in asked:
                continue
            reason = self._reason(account)
            if reason is not None and _is_of_values(reason):
                continue  # it is lost for the sake of other states, which have their steps
            if account.new is None or account.fate is Fate.WRONG_HANDS or _as_a_whole(account, reason):
                self._apart |= self._besides_keys(account, reason)
                states = {(account.old.id, one.name) for one in account.old.states or ()} - self._apart
                asked |= states | {(account.old.id, None)}
                yield self._of_operator(account, reason)
                if (account.old.id, state) not in self._apart:
                    continue
                reason = self._reason(account)
            asked.add((account.old.id, state))
            yield self._of_state(account, reason)

    def pickled(self) -> Iterator[Proposal]:
        """States that hold pickles before and after, with the step that has a function open them."""
        for account in self._report.accounts:
            now = _becomes(account)
            if (
                account.state is not None
                and now is not None
                and account.fate in _FINE
                and of_pickles(account.state, now)
            ):
                told = f"The state {account.state.name!r} of {account.old.label} is pickled"
                for step in conversions(self._called(account.old), account.state, now):
                    yield Proposal(step, f"{told}. Where NEW's code takes other objects:")

    def windows(self) -> Iterator[Proposal]:
        """Open windows that can become part of those that NEW has."""
        for finding in self._report.findings:
            for heir in finding.heirs:
                if finding.old is not None and isinstance(heir, WindowHeir):
                    size, offset = f"{heir.size} ms", f"{heir.offset} ms"
                    collects = finding.old.detail.get("window_function") in COLLECTING
                    merge = {WINDOW_CONTENTS: Rule.ALL.value} if collects else {}
                    step = ConvertWindows(operator=self._called(finding.old), size=size, offset=offset, merge=merge)
                    yield Proposal(step, f"{_said(finding)} Where open windows are to become part of those:")

    def _anew(self) -> Iterator[tuple[Operator, str, Proposal]]:
        """States whose values NEW's serializers have to write, and that is all."""
        for account in self._report.accounts:
            name = "" if account.state is None else account.state.name
            finding = self._rewritten.get(account.old.id, {}).get(name)
            if finding is not None and account.fate not in _FINE and account.old.id not in self._moved:
                step = ConvertState(operator=self._called(account.old), state=name)
                yield account.old, name, Proposal(step, _said(finding))

    def _fields(self) -> Iterator[Proposal]:
        """Fields that are gone, with the new ones that they may be; each once, whatever states have values of the class."""
        found: dict[tuple[str, str], tuple[Finding, list[str]]] = {}
        for finding in self._report.findings:
            for heir in finding.heirs:
                if isinstance(heir, FieldHeir):
                    _, names = found.setdefault((heir.owner, heir.gone), (finding, []))
                    names += [heir.field] if heir.field not in names else []
        for (owner, gone), (finding, names) in found.items():
            now = " or ".join(names)
            question = (
                f"Is {gone} of {owner} {now} now? If it may go, ignore {finding.rule} and take this question out."
            )
            steps = tuple(RenameField(owner=owner, name=gone, to=name) for name in names)
            yield Proposal(Open(question=question), _said(finding), steps)

    def _topics(self) -> Iterator[tuple[Operator, Proposal]]:
        """Sources of Kafka whose topics have other names."""
        for finding in self._report.findings:
            heirs = [heir for heir in finding.heirs if isinstance(heir, TopicHeir)]
            if finding.old is not None and heirs:
                called, told = self._called(finding.old), ", ".join(heir.gone for heir in heirs)
                question = f"Which topics are {told} now? If they are to be read no more, give the source another uid."
                steps = tuple(
                    MoveOffsets(operator=called, topics={heir.gone: topic}) for heir in heirs for topic in heir.topics
                )
                yield finding.old, Proposal(Open(operator=called, question=question), _said(finding), steps)

    def _rows(self) -> Iterator[tuple[Operator, Proposal]]:
        """What is kept of queries, state by state, with its parts where NEW has them."""
        for finding in self._report.findings:
            for heir in finding.heirs:
                if isinstance(heir, CountHeir):
                    yield heir.old, self._uncounted(heir, finding)
        found: dict[tuple[str, str], tuple[RowHeir, Finding]] = {}
        for finding in self._report.findings:
            for heir in finding.heirs:
                if isinstance(heir, RowHeir):
                    found.setdefault((heir.old.id, heir.state), (heir, finding))
        unfit = {heir.old.id for heir, _ in found.values() if _columns(heir.new, heir.state) != len(heir.places)}
        for heir, finding in found.values():
            if heir.old.id not in unfit:
                for proposal in self._in_places(heir, finding):
                    yield heir.old, proposal

    def _uncounted(self, heir: CountHeir, finding: Finding) -> Proposal:
        called = self._called(heir.old)
        step = ConvertState(operator=called, state=heir.state, single=heir.field, without=_besides(heir.field))
        return Proposal(step, _said(finding))

    def _in_places(self, heir: RowHeir, finding: Finding) -> Iterator[Proposal]:
        """A step where nothing begins; else a question, as what begins is of what comes from now on alone."""
        called, because = self._called(heir.old), _said(finding)
        if finding.old is not None and finding.old.id != heir.old.id:
            because = f"{because} {heir.old.name} keeps that, too."
        of = OF_ROW if heir.counted is not None else ""
        named = {
            f"f{now}": f"{of}f{place}"
            for now, place in enumerate(heir.places)
            if place is not None and (place != now or now in heir.filled)
        }
        constants: dict[str, Constant] = {f"f{now}": 0 if now in heir.zero else None for now in heir.begins}
        constants |= {f"f{now}": 0 for now in heir.filled}
        without = (*_besides(heir.counted), *(f"{of}f{place}" for place in heir.gone))
        step = ConvertState(
            operator=called,
            state=heir.state,
            fields=named,
            constants=constants,
            without=without,
            single=heir.counted,
        )
        gone = {place: name for place, name in heir.gone.items() if name not in heir.begins.values()}
        told = [f"{_listed(heir.begins)} would {'be null in rows that are kept' if heir.of_rows else 'start anew'}"]
        told = told if heir.begins else []
        if along := {now: heir.begins[now] for now in heir.along}:
            told = [f"{told[0]} ({_listed(along)} as well, as results are made of both)"]
        told += [f"{_listed(gone)} would go"] if gone else []
        if heir.begins:
            rest = "" if len(heir.begins) == len(heir.places) else ", the rest goes on"
            question = f"{' and '.join(told)}{rest}. May it be so, or may all of its state go?"
            asked = Open(operator=called, state=heir.state, question=question)
            # An operator that is renamed is dropped in the place of that step.
            gone_whole = () if heir.old.id in self._moved else (DropOperator(operator=called),)
            yield Proposal(asked, because, (step, *gone_whole))
        elif named or heir.gone or _type_of(heir.old, heir.state) != _type_of(heir.new, heir.state):
            yield Proposal(step, because)
        for name, now in heir.renamed.items():
            if now is None:
                yield Proposal(DropState(operator=called, state=name), because)
            elif now != name:
                yield Proposal(RenameState(operator=called, state=name, to=now), because)

    def _moved_to(self, old: Operator, successor: Operator) -> Proposal:
        """The other id of an operator; a question where what a query kept would be wrong under any id.

        So it is where findings do not tell where its parts are in NEW.
        """
        called = self._called(old)
        if wrong := [one for one in self._of.get(old.id, ()) if _of_queries(one) and not one.heirs]:
            asked = Open(operator=called, question=_MAY_GO)
            return Proposal(asked, " ".join(map(_said, wrong)), (DropOperator(operator=called),))
        step = RenameOperator(operator=self._called(old), to=successor.uid or successor.id)
        return Proposal(step, f"{old.label} is {successor.label} now, under another id.")

    def _of_operator(self, account: Account, reason: Finding | None) -> Proposal:
        """A question about all that an operator keeps."""
        called = self._called(account.old)
        gone = account.new is None or account.fate is Fate.WRONG_HANDS
        drop = DropOperator(operator=called)
        if account.new is None and reason is not None and reason.new is not None:
            guess = RenameOperator(operator=called, to=reason.new.uid or reason.new.id)
            asked = Open(operator=called, question=f"Is it {reason.new.label} now, or may its state go?")
            return Proposal(asked, _said(reason), (guess, drop))
        if reason is not None and any(isinstance(heir, KeyHeir) for heir in reason.heirs):
            asked = Open(operator=called, question="Can its keys be converted, or may all of its state go?")
            types = (None if one is None else key_type_of(one) for one in (account.old, account.new))
            return Proposal(asked, _said(reason), (*key_conversions(called, *types), drop))
        elsewhere = gone and (reason is None or not _of_queries(reason))
        question = "Which operator of NEW has its state now, or may it go?" if elsewhere else _MAY_GO
        told = (
            f"{account.old.label}: {account.gap or account.fate.value}."
            if reason is None or elsewhere
            else _said(reason)
        )
        return Proposal(Open(operator=called, question=question), told, (drop,))

    def _of_state(self, account: Account, reason: Finding | None) -> Proposal:
        called = self._called(account.old)
        name = "" if account.state is None else account.state.name
        drop = DropState(operator=called, state=name)
        finding, heir = self._heirs.get((account.old.id, name), (None, None))
        if finding is not None and heir is not None and not heir.likely:
            to = heir.operator.uid or heir.operator.id
            return Proposal(MoveState(operator=called, state=name, to=to), _said(finding))
        if finding is not None and heir is not None:
            question = f"Is it {heir.state!r} now, or may it go?"
            instead = (RenameState(operator=called, state=name, to=heir.state), drop)
            return Proposal(Open(operator=called, state=name, question=question), _said(finding), instead)
        told = f"{account.gap or account.fate.value}." if reason is None else _said(reason)
        now = _becomes(account)
        if account.state is not None and now is not None:
            asked = Open(operator=called, state=name, question="Can its values be converted, or may it go?")
            return Proposal(asked, told, (*conversions(called, account.state, now), drop))
        return Proposal(Open(operator=called, state=name, question="May it go?"), told, (drop,))

    def _besides_keys(self, account: Account, reason: Finding | None) -> set[tuple[str, str | None]]:
        """The states of an operator under other keys whose values have another type, too, or are of another kind."""
        if reason is None or account.new is None or not any(isinstance(heir, KeyHeir) for heir in reason.heirs):
            return set()
        now = {state.name: state for state in account.new.states or () if state.type is not None}
        states = (one for one in account.old.states or () if one.type is not None and one.name in now)
        return {
            (account.old.id, one.name)
            for one in states
            if (one.kind, one.type) != (now[one.name].kind, now[one.name].type)
        }

    def _reason(self, account: Account) -> Finding | None:
        """The worst finding about the account's operator, or else about its state: what is wrong with all of it comes first."""
        id, name = account.old.id, None if account.state is None else account.state.name
        found = self._of.get(id, [])
        if (id, name) in self._apart:
            return next((one for one in found if one.state == name), None)
        whole = next((one for one in found if one.state is None and one.level is Level.ERROR), None)
        if whole is None or _is_of_values(whole):
            whole = next((one for one in found if one.state == name is not None), whole)
        return whole or next((one for one in found if one.state in (name, None)), None)

    def _called(self, operator: Operator) -> str:
        """The uid, the name if it is the only one, or the id: what the savepoint knows the operator by."""
        if operator.uid is not None:
            return operator.uid
        return operator.name if self._names[operator.name] == 1 and not operator.detail.get("unnamed") else operator.id


def _listed(names: Mapping[int, str]) -> str:
    return ", ".join(dict.fromkeys(names.values()))


def _of_queries(finding: Finding) -> bool:
    """Whether a finding says that what a query kept would be wrong."""
    return finding.level is Level.ERROR and RULES[finding.rule].family is Family.SQL


def _is_of_values(finding: Finding) -> bool:
    """Whether a finding tells of states whose values NEW's serializers have to write, and of nothing else."""
    return set(map(type, finding.heirs)) == {ValueHeir}


def _as_a_whole(account: Account, reason: Finding | None) -> bool:
    """Whether an account is settled with its operator alone: its state has no name of its own, or it is not about the state."""
    nameless = account.state is None or account.state.kind is StateKind.COORDINATOR
    return nameless or (reason is not None and reason.state is None)


def _becomes(account: Account) -> State | None:
    """The state as NEW has it, with other values or as another kind, where both say how they write them."""
    old = account.state
    if account.new is None or old is None or old.kind in _UNCONVERTED:
        return None
    found = (
        one
        for one in account.new.states or ()
        if one.name == old.name
        and one.kind not in _UNCONVERTED
        and (one.scope is StateScope.KEYED) is (old.scope is StateScope.KEYED)
        and (one.serializers is not None or None not in (one.type, old.type))
    )
    return next(found, None)


_UNCONVERTED = (StateKind.TIMERS, StateKind.COORDINATOR)


def _type_of(operator: Operator, state: str) -> str | None:
    return next((one.type for one in operator.states or () if one.name == state), None)


def _besides(field: str | None) -> tuple[str, ...]:
    """The other one of two fields; none where there is one thing only."""
    return () if field is None else tuple(f"f{place}" for place in range(2) if f"f{place}" != field)


def _columns(operator: Operator, state: str) -> int | None:
    """How many fields the rows have that an operator of a query keeps in a state."""
    for one in operator.states or ():
        if one.name == state and one.serializers is not None and one.serializers.value is not None:
            try:
                places = SerializerConversion(one.serializers.value).places
            except SavepointError:  # a plan can be sent by anybody
                return None
            return None if places is None else len(places)
    return None


def _said(finding: Finding) -> str:
    return f"{finding.rule}: {finding.title}."


def offered(report: Report) -> OfferedRecipe | None:
    """The recipe for a report, as a file, and the command that carries it out; None if all state is restored without one."""
    proposals = propose(report)
    if not proposals:
        return None
    run = command(report)
    return OfferedRecipe(written(proposals, report.old.name, report.new.name, run), run)


def command(report: Report) -> str:
    """The command that moves the state, for a finding."""
    fixes = (fix for finding in report.findings for fix in finding.fixes)
    placeholders = RESTORE if report.old.kind == "snapshot" else MIGRATE
    return next((fix.code for fix in fixes if fix.moves and fix.code is not None), placeholders)


def written(
    proposals: Iterable[Proposal], old: str, new: str, run: str = MIGRATE, others: Iterable[Proposal] = ()
) -> str:
    """The recipe as a file: each step after the reason for it, and after a question the steps that could answer it.

    ``run`` is the command that carries it out. ``others`` are comments.
    """
    lines = [
        f"# What happens to the state of {visible(old)} that {visible(new)} cannot restore as it is.",
        "# Read each step; replace each question by a step. Then:",
        f"#   {visible(run)}",
        f"recipe: {FORMAT}",
    ]
    proposed = list(proposals)
    lines.append("steps:" if proposed else "steps: []")
    for one in proposed:
        # A savepoint gives its operators and states any names: they stay on the line of the comment.
        lines.append(f"  # {visible(one.because)}")
        lines += [f"  #   {line}" for step in one.instead for line in _lines(step)]
        lines += [f"  {line}" for line in _lines(one.step)]
    for one in others:
        lines += [f"  # {visible(one.because)}", *(f"  #   {line}" for line in _lines(one.step))]
    return "\n".join(lines) + "\n"


def _lines(step: Step) -> list[str]:
    """The lines of a step, as an entry of a list."""
    return msgspec.yaml.encode([step]).decode().rstrip("\n").split("\n")
