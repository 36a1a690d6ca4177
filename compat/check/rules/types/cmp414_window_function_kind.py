"""Windows that kept one value and keep all records now, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.check.state_storage import dialect_of
from compat.check.states import has_other_windows
from compat.state.compatibility import JAVA, THREAD

_SILENT = "Flink restores this without an error"
_INCREMENTAL = frozenset({"reduce", "aggregate"})


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("window_function"), pair.new.detail.get("window_function")
        if before is None or after is None or has_other_windows(pair):
            continue
        dialect = dialect_of(check, pair)
        became = (
            _in_java(before, after)
            if dialect is JAVA
            else _in_thread_mode(before, after)
            if dialect is THREAD
            else _in_python(before, after)
        )
        if became is None:
            continue
        level, consequence = became
        yield check.finding(
            RULE,
            f"{pair.new.label} was a window {before} and is a window {after}",
            level=level,
            consequence=consequence,
            reason="An incremental function keeps one value a window, the others keep all records.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Give the new function an operator with a uid of its own, or let the old windows end first.",
                    code=uid_call(pair.new, check),
                ),
            ),
            silent=consequence.startswith(_SILENT),
        )


def _in_python(before: str, after: str) -> tuple[Level, str] | None:
    """What PyFlink makes of it in process mode, where it keeps both under one name as lists."""
    if (before in _INCREMENTAL) == (after in _INCREMENTAL):
        return None
    if after in _INCREMENTAL:
        return Level.ERROR, f"{_SILENT}; of each open window the first element is kept, the others are lost."
    return Level.WARNING, f"{_SILENT}; what an open window held counts as one element of it."


def _in_thread_mode(before: str, after: str) -> tuple[Level, str] | None:
    """What PyFlink makes of it in thread mode, where Flink keeps one as a value and the other as a list."""
    if (before in _INCREMENTAL) == (after in _INCREMENTAL):
        return None
    return Level.ERROR, "The task fails at the first record: the windows in the state hold another kind of state."


def _in_java(before: str, after: str) -> tuple[Level, str] | None:
    """What Flink makes of it, where the contents of windows are reducing, aggregating and list state."""
    if before == after:
        return None
    return Level.ERROR, "The task fails when it starts: the windows in the state hold another kind of state."


RULE = Rule(
    id="CMP414",
    name="window-function-kind",
    level=Level.WARNING,
    other_levels=(Level.ERROR,),
    when="error from process or apply to reduce or aggregate, as only the first element of each open window stays; "
    "error if the task fails: in thread mode both ways, in Java for any change between reduce, aggregate and "
    "process",
    fate=Fate.REFUSED,
    summary="A window's reduce or aggregate became process or apply, or the other way.",
    why="A reduce or aggregate keeps one element for each window, a process or apply all of them, under the same name. "
    "After the restore each open window counts as one element.",
    old='windowed.reduce(add).uid("window")',
    new='windowed.process(CountAll()).uid("window")',
    fix="Give the new window operator another uid, or restore when no important window is open.",
    find=_find,
)
