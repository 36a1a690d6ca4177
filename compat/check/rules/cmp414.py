"""Windows that kept one value and keep all records now, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import uid_call
from compat.check.rule import Rule

_INCREMENTAL = frozenset({"reduce", "aggregate"})


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("window_function"), pair.new.detail.get("window_function")
        if before is None or after is None or (before in _INCREMENTAL) == (after in _INCREMENTAL):
            continue
        one_left = after in _INCREMENTAL
        yield check.finding(
            RULE,
            f"{pair.new.label} was a window {before} and is a window {after}",
            level=Level.ERROR if one_left else Level.WARNING,
            consequence="Flink restores this without an error; of each open window the first element is kept, the others are "
            "lost."
            if one_left
            else "Flink restores this without an error; what an open window held counts as one element of it.",
            reason="An incremental function keeps one value a window, the others keep all records.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Give the new function an operator with a uid of its own, or let the old windows end first.",
                    code=uid_call(pair.new, check.uids),
                ),
            ),
            silent=True,
        )


RULE = Rule(
    id="CMP414",
    name="window-function-kind",
    level=Level.WARNING,
    other_levels=(Level.ERROR,),
    when="error from process or apply to reduce or aggregate: of each open window only the first element is kept",
    fate=Fate.REFUSED,
    summary="A window's reduce or aggregate became process or apply, or the other way.",
    why="The first keeps one element a window, the second all of them, under the same name. After the restore "
    "each window that was open counts as one element.",
    old='windowed.reduce(add).uid("window")',
    new='windowed.process(CountAll()).uid("window")',
    fix="Give the new window operator another uid, or restore when no window is open that matters.",
    find=_find,
)
