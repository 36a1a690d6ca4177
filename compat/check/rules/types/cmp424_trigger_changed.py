"""Windows that end by another rule: trigger, evictor, lateness."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compat.check import triggers
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.states import has_other_windows
from compat.state.names import WINDOW_CONTENTS


class _Change(Struct, frozen=True):
    """What changed in how windows end, and what follows for those that are open."""

    title: str
    consequence: str
    level: Level = Level.WARNING


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        for change in _changes(pair):
            yield check.finding(
                RULE,
                change.title,
                level=change.level,
                consequence=change.consequence,
                reason="Windows keep what their trigger counted and the timers that it set.",
                old=pair.old,
                new=pair.new,
                subject=change.title.partition(" of ")[0],
                fixes=(
                    Fix(
                        text="Nothing, if results of open windows may differ. Otherwise let the windows of OLD end before the "
                        "change, or give the new ones an operator with a uid of its own."
                    ),
                ),
                silent=True,
            )


def _changes(pair: Pair) -> Iterator[_Change]:
    before, after = pair.old.detail, pair.new.detail
    was, now = before.get("trigger"), after.get("trigger")
    clocks = {before.get("window_clock"), after.get("window_clock")} - {None}
    if len(clocks) > 1 or has_other_windows(pair):
        return  # the windows are others altogether
    if was is not None and now is not None and was != now:
        yield _Change(
            f"the trigger of {pair.new.label} was {was} and is {now}",
            "Flink restores this without an error. Windows that are open at the savepoint go on with what OLD's trigger "
            + (
                "counted; they fire by the new rule."
                if _class(was) == _class(now)
                else "left behind: its timers still come, and NEW's trigger may not fire on them, so that a window can end "
                "without a result."
            ),
        )
    elif was is None and now is not None and (others := _states_of_triggers(pair)):
        yield _Change(
            f"the trigger of {pair.new.label} is {now}, and OLD's kept other states of it ({others})",
            "Flink restores this without an error. Windows that are open at the savepoint go on with the timers of OLD's "
            "trigger, on which NEW's may not fire, so that a window can end without a result.",
        )
    was, now = before.get("evictor"), after.get("evictor")
    if was is not None and now is not None and was != now:
        yield _Change(
            f"the evictor of {pair.new.label} was {was} and is {now}",
            "Flink restores this without an error. Windows that are open at the savepoint drop other records.",
        )
    earlier, later = before.get("lateness"), after.get("lateness")
    if earlier is not None and later is not None and earlier < later:
        yield _Change(
            f"the lateness of {pair.new.label} was {earlier} ms and is {later} ms",
            "Windows that are open at the savepoint have OLD's timers only, which NEW does not take for their end: "
            "their contents stay for good unless another record comes.",
            Level.NOTE,
        )


def _states_of_triggers(pair: Pair) -> str:
    """The states that only one of the two triggers keeps; OLD's are those of a savepoint that has windows in it."""
    if pair.new.states is None or not any(
        state.name == WINDOW_CONTENTS and state.bytes for state in pair.old.states or ()
    ):
        return ""
    in_python = triggers.is_in_python(pair.new)
    new = triggers.names_in_python(pair.new) if in_python else triggers.names_in(pair.new, in_python=False)
    if new is None:
        return ""
    return ", ".join(repr(name) for name in sorted(triggers.names_in(pair.old, in_python=in_python) ^ new))


def _class(text: str) -> str:
    """The classes of triggers in a text, without what they were made with."""
    return "".join(character for character in text if not character.isdigit())


RULE = Rule(
    id="CMP424",
    name="trigger-changed",
    level=Level.WARNING,
    other_levels=(Level.NOTE,),
    when="note if only the lateness grew: open windows may stay behind, results are right",
    fate=Fate.RESTORED,
    summary="The trigger, the evictor or the lateness of a window changed.",
    why="Windows that are open at the savepoint come with the counts and timers of the old trigger. They end by a mixture "
    "of both rules; new ones by the new rule.",
    old="keyed.window(assigner).trigger(CountTrigger.of(10)).aggregate(sum)",
    new="keyed.window(assigner).trigger(CountTrigger.of(20)).aggregate(sum)",
    fix="Nothing if results of open windows may differ. Otherwise let them end first.",
    find=_find,
)
