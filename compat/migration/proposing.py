"""A recipe from a report: what can be told is a step, and what cannot is a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from compat.check.findings import Account, Fate, Finding, MappingRow, Report
from compat.migration.recipe import FORMAT, DropOperator, DropState, MoveState, Open, RenameOperator, RenameState, Step
from compat.state.model.operators import Operator

_FINE = (Fate.RESTORED, Fate.MIGRATED, Fate.EMPTY)


class Proposal(Struct, frozen=True):
    """A step, why it is there, and steps that could stand in the place of a question."""

    step: Step
    because: str
    instead: tuple[Step, ...] = ()


def propose(report: Report) -> tuple[Proposal, ...]:
    """What has to become of OLD's state so that NEW restores all of it, operator by operator."""
    return tuple(_Proposing(report).run())


class _Proposing:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._names = Counter(operator.name for operator in report.old.operators)
        self._told = {(one.old.id, one.state): one for one in report.findings if one.old is not None and one.heir}

    def run(self) -> Iterator[Proposal]:
        moved: set[str] = set()
        for row in self._report.mapping:
            if row.old is not None and row.successor is not None and row.old.id not in moved:
                moved.add(row.old.id)
                yield self._renamed(row, row.old, row.successor)
        asked: set[tuple[str, str | None]] = set()
        for account in self._report.accounts:
            state = None if account.state is None else account.state.name
            if account.fate in _FINE or account.old.id in moved or (account.old.id, state) in asked:
                continue
            if account.new is None or account.fate is Fate.WRONG_HANDS:
                asked |= {(account.old.id, one.name) for one in account.old.states or ()} | {(account.old.id, None)}
                yield self._without_operator(account)
            else:
                asked.add((account.old.id, state))
                yield self._of_state(account)

    def _renamed(self, row: MappingRow, old: Operator, successor: Operator) -> Proposal:
        step = RenameOperator(operator=self._called(old), to=successor.uid or successor.id)
        return Proposal(step, f"{old.label} is {successor.label} now, under another id ({row.by}).")

    def _without_operator(self, account: Account) -> Proposal:
        called = self._called(account.old)
        question = Open(operator=called, question="Which operator of NEW has its state now, or may it go?")
        return Proposal(question, f"{account.gap or 'Nobody takes its state'}.", (DropOperator(operator=called),))

    def _of_state(self, account: Account) -> Proposal:
        called = self._called(account.old)
        name = "" if account.state is None else account.state.name
        finding = self._told.get((account.old.id, name))
        heir = None if finding is None else finding.heir
        drop = DropState(operator=called, state=name)
        if finding is not None and heir is not None and not heir.likely:
            to = heir.operator.uid or heir.operator.id
            return Proposal(MoveState(operator=called, state=name, to=to), _said(finding))
        if finding is not None and heir is not None:
            question = f"Is it {heir.state!r} now, or may it go?"
            instead = (RenameState(operator=called, state=name, to=heir.state), drop)
            return Proposal(Open(operator=called, state=name, question=question), _said(finding), instead)
        told = self._why(account)
        if account.state is None:
            return Proposal(
                Open(operator=called, question="What does it keep besides the states that are known?"), told
            )
        return Proposal(Open(operator=called, state=name, question="May it go?"), told, (drop,))

    def _why(self, account: Account) -> str:
        """The sentence of a finding about the account, or what is missing of it."""
        name = None if account.state is None else account.state.name
        for finding in self._report.findings:
            if finding.old is not None and finding.old.id == account.old.id and finding.state in (name, None):
                return _said(finding)
        return f"{account.gap or account.fate.value}."

    def _called(self, operator: Operator) -> str:
        """The uid, the name if it is the only one, or the id: what the savepoint knows the operator by."""
        if operator.uid is not None:
            return operator.uid
        return operator.name if self._names[operator.name] == 1 and not operator.detail.get("unnamed") else operator.id


def _said(finding: Finding) -> str:
    return f"{finding.rule}: {finding.title}."


def written(proposals: Iterable[Proposal], old: str, new: str) -> str:
    """The recipe as a file: each step behind the reason for it, and behind a question the steps that could answer it."""
    lines = [
        f"# What becomes of the state of {old} that {new} cannot restore as it is.",
        "# Read each step; put a step in the place of each question. Then:",
        "#   compat migrate SAVEPOINT NEW OUT --recipe FILE",
        f"recipe: {FORMAT}",
    ]
    proposed = list(proposals)
    lines.append("steps:" if proposed else "steps: []")
    for one in proposed:
        lines.append(f"  # {one.because}")
        lines += [f"  #   {line}" for step in one.instead for line in _lines(step)]
        lines += [f"  {line}" for line in _lines(one.step)]
    return "\n".join(lines) + "\n"


def _lines(step: Step) -> list[str]:
    """The lines of a step, as an entry of a list; fields without a value are left out."""
    fields = {name: value for name, value in msgspec.to_builtins(step).items() if value is not None}
    return msgspec.yaml.encode([fields]).decode().rstrip("\n").split("\n")
