"""The ledger: an account for each state of OLD, and for further states of an operator: its owners, its fate, the evidence.

The verdict is a fold over the ledger and the findings about the whole job: a job is compatible if that is proven for
each account. An account without evidence for its fate is open, and leaves the check undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from compat.check.catalogue import fate_of
from compat.check.context import Check
from compat.check.evidence import of_state, of_the_rest
from compat.check.findings import Account, Evidence, Fate, Finding, Gap, Level, MappingRow, Proof, Verdict, Witness
from compat.check.mapping import Pair
from compat.state.model.operators import Operator
from compat.state.model.states import State


def ledger(check: Check, rows: Iterable[MappingRow], findings: Iterable[Finding]) -> tuple[Account, ...]:
    """The accounts, in the order of the rows of the mapping. ``findings`` come worst first.

    An operator whose id several operators of NEW have gets one account per state, with the first of them.
    """
    book = _Book(check, findings)
    first: dict[str, tuple[MappingRow, Operator]] = {}
    for row in rows:
        if row.old is not None:
            first.setdefault(row.old.id, (row, row.old))
    return tuple(account for row, old in first.values() for account in book.accounts(row, old))


def verdict(findings: Iterable[Finding], accounts: Iterable[Account] = ()) -> Verdict:
    """The verdict that follows from the findings and the accounts. Unknown is never success.

    A finding reports a bad fate or a gap, and a person may ignore it. An account without a finding or evidence is open.
    """
    levels = {finding.level for finding in findings}
    if Level.ERROR in levels:
        return Verdict.INCOMPATIBLE
    if Level.UNKNOWN in levels or any(account.open for account in accounts):
        return Verdict.UNKNOWN
    return Verdict.MIGRATION if Level.MIGRATE in levels else Verdict.COMPATIBLE


class _Book:
    """The findings and pairs of a check, by operator."""

    def __init__(self, check: Check, findings: Iterable[Finding]) -> None:
        self._check = check
        self._pairs = {pair.old.id: pair for pair in check.mapping.pairs}
        self._told: dict[tuple[str, str | None], Finding] = {}
        self._of_the_job: Finding | None = None
        for finding in findings:
            if finding.old is not None:
                self._told.setdefault((finding.old.id, finding.state), finding)
            elif finding.new is None and finding.level.rank <= Level.MIGRATE.rank:
                self._of_the_job = self._of_the_job or finding

    def accounts(self, row: MappingRow, old: Operator) -> Iterator[Account]:
        """The accounts of an operator of OLD: its states, and further states that it may keep."""
        pair = self._pairs.get(old.id)
        states: list[State | None] = list(old.states or ())
        if old.states is None or old.more is not None or not states:
            states.append(None)
        for state in states:
            if pair is None or row.new is None or row.fate is Fate.WRONG_HANDS:
                why = f"{'no' if row.new is None else 'another'} operator of NEW has its id"
                yield Account(old=old, state=state, new=row.new, fate=row.fate, rule=row.note, gap=why)
            else:
                yield self._of(pair, state)

    def _of(self, pair: Pair, state: State | None) -> Account:
        """The account of a state whose operator exists: by the worst finding, else by the proof."""
        found = [self._of_the_job, self._told.get((pair.old.id, None))]
        found += [] if state is None else [self._told.get((pair.old.id, state.name))]
        told = min((one for one in found if one is not None), key=lambda one: one.level.rank, default=None)
        account = Account(old=pair.old, state=state, new=pair.new, fate=Fate.RESTORED)
        if told is not None and told.level.rank <= Level.MIGRATE.rank:
            return replace(account, fate=fate_of(told), rule=told.rule)
        proof = self._proof(pair, state)
        if isinstance(proof, Evidence):
            return replace(account, evidence=proof)
        if proof is None and told is not None:
            return replace(account, fate=Fate.DROPPED, rule=told.rule)
        why = "NEW does not declare it, and no rule covers it" if proof is None else proof.why
        return replace(account, fate=Fate.UNKNOWN, rule="" if told is None else told.rule, gap=why)

    def _proof(self, pair: Pair, state: State | None) -> Proof | None:
        if state is not None:
            return of_state(self._check, pair, state)
        if pair.old.states is None:
            answer = self._check.answer(pair)
            return (
                Evidence(("id",), Witness.FLINK)
                if answer is not None
                else Gap("its states are not known", "", "states")
            )
        return of_the_rest(pair) or Evidence(("id",), Witness.READERS)
