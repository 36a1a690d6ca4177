"""Operators whose state Flink's own classes of NEW fail to restore, for a reason that no other rule tells."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import code_suggestions, restores, upgrade
from compat.check.class_changes import class_changes
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.states import kept_states

_HINT = "Check with the state files at hand, or give it more time with --timeout SECONDS."


def _find(check: Check) -> Iterator[Finding]:
    if check.answers is not None and check.answers.failure:
        yield check.finding(
            RULE,
            "the restore could not be tried",
            level=Level.UNKNOWN,
            consequence="Ids and names are compared; it is unknown whether NEW's serializers read the old bytes.",
            reason=check.answers.failure,
            fixes=(Fix(text=check.answers.hint or _HINT),),
        )
    yield from _of_values(check)
    for pair, problem in restores.problems(check):
        if problem.changes:
            continue
        kind = problem.failure.type.rpartition(".")[2]
        cause = "" if problem.failure.cause is None else f" ({problem.failure.cause})"
        if problem.for_values:
            yield check.finding(
                RULE,
                f"it is unknown whether {pair.new.label} restores its state",
                level=Level.UNKNOWN,
                consequence="Its code refuses even its own state when that has no values: it needs values, or "
                "never restores any.",
                reason=f"{kind}: {problem.failure.message}{cause}",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text="Restore a savepoint in a test of yours, then accept it with --allow-unknown."),),
            )
            continue
        yield check.finding(
            RULE,
            f"the restore of {pair.new.label} fails in Flink's own classes",
            consequence=restores.consequence(check, problem),
            reason=f"{kind}: {problem.failure.message}{cause}",
            old=pair.old,
            new=pair.new,
            fixes=(Fix(text="Keep the contents of the operator's state as they were, or give it its own uid."),),
        )


def _of_values(check: Check) -> Iterator[Finding]:
    """States of which values fail, real ones or such that OLD's own serializer wrote."""
    for pair, readings in restores.failed_values(check):
        first = readings[0]
        assert first.failure is not None
        if first.name in upgrade.of_other_kryo(check, pair):
            continue
        if all(one.made_up for one in readings) and _class_tells(pair, first.name):
            continue
        what = f"of the state {first.name!r} " if first.name else ""
        places = [] if first.key_group is None else [f"key group {first.key_group}"]
        places += [f"key {first.key}"] if first.key else []
        where = (
            f" The first of them is in {', '.join(places)}."
            if places
            else " A made-up value shows it."
            if first.made_up
            else ""
        )
        kind = first.failure.type.rpartition(".")[2]
        cause = "" if first.failure.cause is None else f" ({first.failure.cause})"
        said = (
            first.failure.message
            if first.at in ("moved", "unfit")
            else f"{kind}: {first.failure.message.rstrip('.')}{cause}."
        )
        yield check.finding(
            RULE,
            f"values {what}of {pair.new.label} that OLD wrote do not survive the restore",
            consequence=restores.consequence_of_values(readings),
            reason=f"{said}{where}",
            old=pair.old,
            new=pair.new,
            state=first.name or None,
            silent=all(one.at == "moved" for one in readings),
            fixes=(
                Fix(
                    text="Keep the class and its serializer as they were, or put the new values into a state of another name."
                ),
                *(code_suggestions.migrate(check) if first.name else ()),
            ),
        )


def _class_tells(pair: Pair, state: str) -> bool:
    """Whether the classes of a state's values differ in a way that says what made-up values show: one edit is one finding."""
    return any(
        change.level is Level.ERROR
        for old, new in kept_states(pair)
        if old.name == state
        for change in class_changes(old.classes, new.classes)
    )


RULE = Rule(
    id="CMP418",
    name="restore-fails",
    level=Level.ERROR,
    other_levels=(Level.UNKNOWN,),
    when="unknown if the restore could not be tried, as when state files are out of reach, or code needs values and "
    "there are none",
    fate=Fate.REFUSED,
    summary="NEW's operator fails when Flink restores OLD's state into it, or reads or writes the restored values.",
    why="Flink's own classes build jobs in Java and SQL, and restore OLD's state into NEW's operators. Their exceptions "
    "are those of the cluster.",
    old="public SinkWriterState deserialize(int version, byte[] bytes) { … }  // version 1",
    new="if (version != 2) throw new IOException(…)",
    fix="Keep reading the old form, or start that operator without state under another uid.",
    find=_find,
)
