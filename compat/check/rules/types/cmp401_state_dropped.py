"""States of OLD that the same operator of NEW does not declare any more."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts, code_suggestions, restores
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.sql.findings import explained
from compat.check.states import changes
from compat.state.model.states import State, StateKind

_CARRIED = "Flink restores this without an error and carries the state along, unused."
_NOTHING_LEFT = (
    "Flink restores this without an error, also without -n; the state is dropped, and nothing takes its place."
)


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        if explained(change.pair, check) or change.pair.new.more is not None:
            continue  # NEW may still ask for unknown states, which another rule reports
        level, consequence = Level.WARNING, _CARRIED
        if check.new.built_by_flink and not any(map(_holds, change.pair.new.states or ())):
            level, consequence = _level(check), _NOTHING_LEFT
        for state in change.gone:
            yield check.finding(
                RULE,
                f"{change.pair.new.label} does not declare the state {state.name!r}{amounts.of(state)} any more",
                level=level,
                consequence=consequence,
                reason=f"OLD declares {state.kind.value} state {state.name!r}; NEW has no state of that name.",
                old=change.pair.old,
                new=change.pair.new,
                state=state.name,
                fixes=(
                    Fix(
                        text="Nothing, if it is not needed; declare it again if it is.",
                        code=code_suggestions.descriptor(state),
                    ),
                ),
                silent=True,
            )
    yield from _of_connectors(check)
    yield from _told_by_flink(check)


def _of_connectors(check: Check) -> Iterator[Finding]:
    """What sources, sinks and Flink's own operators kept, of those that are the same sort and keep nothing now."""
    for pair in check.right_pairs if check.new.built_by_flink else ():
        if pair.new.states != () or pair.new.has_state:
            continue
        kept = [state for state in pair.old.states or () if state.built_in and _holds(state)]
        if not kept:
            continue
        names = ", ".join(repr(state.name) for state in kept)
        yield check.finding(
            RULE,
            f"{pair.new.label} keeps no state any more, and OLD kept {names}{amounts.of(*kept)}",
            level=_level(check),
            consequence=_NOTHING_LEFT,
            reason="Flink asks for an operator with the id of the state, and not for one that uses it.",
            old=pair.old,
            new=pair.new,
            fixes=(Fix(text="Let the new operator keep the state, or restore with -n if it may go."),),
            silent=True,
        )


def _holds(state: State) -> bool:
    return state.kind not in (StateKind.TIMERS, StateKind.COORDINATOR)


def _level(check: Check) -> Level:
    """As bad as an operator that is gone altogether: with ``-n`` the state may go."""
    return Level.WARNING if check.options.allow_non_restored else Level.ERROR


def _told_by_flink(check: Check) -> Iterator[Finding]:
    """Dropped states of operators whose states only Flink knows."""
    for pair, answer in restores.answered(check):
        for state in answer.missing if pair.old.states is None else ():
            yield check.finding(
                RULE,
                f"{pair.new.label} does not declare the state {state.name!r} any more",
                consequence="Flink restores this without an error and carries the state along, unused.",
                reason=f"OLD has {state.scope} state {state.name!r}; NEW has no state of that name.",
                old=pair.old,
                new=pair.new,
                state=state.name,
                fixes=(Fix(text="Nothing, if it is not needed; declare it again if it is."),),
                silent=True,
            )


RULE = Rule(
    id="CMP401",
    name="state-dropped",
    level=Level.WARNING,
    other_levels=(Level.ERROR,),
    when="error if an operator in Java or SQL no longer keeps any state, unless state may be left behind (-n)",
    fate=Fate.LOST,
    summary="NEW no longer declares a state of OLD.",
    why="The operator gets its old state, but does not read this part of it. Flink carries it along unread, or drops it.",
    old='get_state(ValueStateDescriptor("count", Types.LONG()))',
    new="# the descriptor was removed",
    fix="Nothing if it may go. Otherwise declare the state again, under the same name.",
    find=_find,
)
