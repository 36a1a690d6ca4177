"""Window operators whose windows are of another type, end in another way, or are of another size."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.code_suggestions import longer_windows, migrate, under_another_name
from compat.check.code_suggestions import window as window_call
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.check.similarity import recorded
from compat.check.states import changes, has_other_windows
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind
from compat.state.names import EVENT_TIMERS, PROCESSING_TIMERS

_CLOCKS = ((EVENT_TIMERS, "event time"), (PROCESSING_TIMERS, "processing time"))
_TIME_WINDOW = "TimeWindow"


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("window"), pair.new.detail.get("window")
        if before is None or after is None:
            continue
        refused, stranded = has_other_windows(pair), _stranded(pair, check)
        if before == after and stranded is None:
            continue
        if refused:
            consequence = "The task fails when it starts: the windows in the state are of another type."
        elif stranded:
            consequence = f"Flink restores this without an error, but {stranded}: what they hold is lost."
        else:
            consequence = (
                "Windows that are open at the savepoint end as they began; new ones follow the new rule, and the first "
                "of them lack the records of the old ones."
            )
        heir = None if refused or stranded else longer_windows(before, after)
        yield check.finding(
            RULE,
            f"the windows of {pair.new.label} were {before} and are {after}"
            if before != after
            else f"the windows of {pair.new.label} are {after}, and those in the savepoint end by another clock",
            level=Level.ERROR if refused or stranded else Level.WARNING,
            consequence=consequence,
            reason="Windows are part of the state's address.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Keep the assigner, or give the new windows an operator with a uid of its own.",
                    code=(window_call(before) if "python" in pair.new.detail else None) or uid_call(pair.new, check),
                ),
                *(() if heir is None else migrate(check)),
            ),
            heirs=() if heir is None else (heir,),
            silent=stranded is not None and not refused,
        )
    yield from _states_of_windows(check)


def _states_of_windows(check: Check) -> Iterator[Finding]:
    """States that a window's function asks for, which each window had and all windows of a key share now, or the other way."""
    for change in changes(check):
        if "window" not in change.pair.new.detail or change.asked:
            continue
        for old, new in change.kept:
            if (old.namespace_type is None) == (new.namespace_type is None):
                continue
            yield check.finding(
                RULE,
                f"the state {old.name!r} of {change.pair.new.label} belonged to {_owner(old)} and belongs to {_owner(new)}",
                consequence="The task fails at the first access: the state was registered for another namespace.",
                reason="Windows are part of the state's address.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(
                    Fix(
                        text=f"Ask for {old.name!r} by the same method as before, or give the new state another name.",
                        code=under_another_name(new),
                    ),
                ),
            )


def _owner(state: State) -> str:
    return "all windows of a key" if state.namespace_type is None else "each window"


def _stranded(pair: Pair, check: Check) -> str | None:
    """Why open windows never end in NEW, if so.

    A merging assigner only knows the windows of its own set. Other assigners look for contents under the window itself, while a
    merged window keeps them under one of the windows that it was merged from. The new trigger ignores timers of the other
    clock.
    """
    merged, merges = (operator.detail.get("window_merging") for operator in (pair.old, pair.new))
    if None not in (merged, merges) and merged != merges:
        return "windows that are open at the savepoint are not found any more"
    was, now = pair.old.detail.get("window_clock"), pair.new.detail.get("window_clock")
    if "python" not in pair.new.detail and recorded(pair.old):
        was = _clock(pair.old)
    if None not in (was, now) and was != now:
        return f"windows that are open at the savepoint wait for {was}, but NEW looks only at {now}"
    return None


def _clock(operator: Operator) -> str | None:
    """The clock that ends the windows in a savepoint: that of all timers there; None if that cannot be told."""
    pending = {
        clock
        for state in operator.states or ()
        for prefix, clock in _CLOCKS
        if state.kind is StateKind.TIMERS and state.name.startswith(prefix) and state.bytes
    }
    by_time = any(state.namespace_type == _TIME_WINDOW for state in operator.states or ())
    return pending.pop() if by_time and len(pending) == 1 else None


RULE = Rule(
    id="CMP407",
    name="window-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="error also from merging (session) windows to others and back, and between event and processing time, as open "
    "windows never end; error for a state of one window that all windows of a key now share, or the other way; "
    "warning if only the size, slide or gap changed, as open windows of the old size end beside the new ones",
    fate=Fate.REFUSED,
    summary="The window assigner makes windows of another type.",
    why="The window is a part of the state's address. Time windows, count windows and the global window have different "
    "bytes, so the old windows cannot be read.",
    old="keyed.window(TumblingEventTimeWindows.of(Time.minutes(5)))",
    new="keyed.count_window(100)",
    fix="Give the new window another uid, and let the old one run out first if its results matter.",
    find=_find,
)
