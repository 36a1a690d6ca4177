"""Operators that keep their state, whose states could not be found out on one of the sides."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compat.check.connectors import other_versions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.states import changes, undecided
from compat.loader.failure import CLASSPATH, CONNECTOR, FETCHED
from compat.plan.queries import of_query
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        asked = check.answer(pair) is not None
        for operator, program in ((pair.old, check.old), (pair.new, check.new)):
            if operator.states is None and not (asked and operator is pair.old):
                yield check.finding(
                    RULE,
                    f"the states of {operator.label} in {program.name} are not known",
                    consequence="The operator gets its state; it is unknown whether it can read it.",
                    reason=f"{(operator.states_unknown or 'They were not recorded').rstrip('.')}.",
                    old=pair.old,
                    new=pair.new,
                    fixes=(_advice(operator, in_python=program.language == "python"),),
                )
                break
    yield from _only_flink_can_tell(check)
    yield from _only_connectors_can_tell(check)


def _only_connectors_can_tell(check: Check) -> Iterator[Finding]:
    """Sources and sinks whose own serializers are of another version or have other code, and did not read what OLD writes."""
    for pair in check.right_pairs:
        told = other_versions(pair.old, pair.new, _read(check, pair))
        if told:
            yield check.finding(
                RULE,
                f"the state of {pair.new.label} is read by another serializer than the one that wrote it",
                consequence="Classes of the connector decide whether it reads the old bytes.",
                reason=" ".join(told),
                old=pair.old,
                new=pair.new,
                fixes=(
                    Fix(
                        text="Check with the new job itself in place of its plan, and a savepoint of the old one: then its "
                        "serializer reads what is there."
                    ),
                ),
                subject="connector",
            )


def _read(check: Check, pair: Pair) -> frozenset[str] | None:
    """The serializers of a source or sink that read what OLD's wrote; None if they read all, or fail for a told reason."""
    answer = check.answer(pair)
    if answer is None:
        return frozenset()
    if answer.problems or any(one.scope == "operator" and (one.read or one.failure) for one in answer.rehearsal.states):
        return None
    sampled = {one.name for one in answer.sampled if one.whole}
    return frozenset(sampled.difference(one.name for one in answer.sampled if one.unlike))


def _advice(operator: Operator, *, in_python: bool) -> Fix:
    """What the author can do: nobody writes the ``open()`` of an operator of a query, but that of a function in it."""
    for pattern, text, code in _BY_CAUSE:
        if found := re.search(pattern, operator.states_unknown or ""):
            groups = [one.replace("/", ".") for one in found.groups()]
            return Fix(text=text.format(*groups), code=code and code.format(*groups))
    if not of_query(operator):
        return Fix(text="Ask for all states in open(), and let open() work without its surroundings.")
    if in_python:
        return Fix(
            text="Keep get_accumulator_type() and get_result_type() of its aggregate functions, and what they put into the "
            "accumulator, as they were; then accept it with --allow-unknown."
        )
    return Fix(text="Let open() of the functions that it calls work without their surroundings.")


_MISSING = r"(?:ClassNotFoundException|NoClassDefFoundError):? "
_BY_CAUSE: tuple[tuple[str, str, str | None], ...] = (
    (
        r"supported by Flink through the following plugin\(s\): ([\w-]+)",
        FETCHED,
        CONNECTOR,
    ),
    (
        r"org[./]apache[./](hadoop)[./]",
        FETCHED,
        CONNECTOR,
    ),
    (
        r"Hadoop is not in the classpath",
        FETCHED.format("hadoop"),
        CONNECTOR.format("hadoop"),
    ),
    (
        rf"No suitable driver|{_MISSING}[\w./$]*Driver\b",
        "Put the jar of the database's driver on the class path.",
        CLASSPATH,
    ),
    (rf"{_MISSING}([\w./$]+)", "Put the jar that has {0} on the class path.", CLASSPATH),
    (r"No module named '([^']+)'", "Install what provides the module {0} into the environment that runs compat.", None),
    (r"--no-open", "Check without --no-open.", None),
    (
        r"(?i)connection refused|timed out|did not end within|unknown ?host|bootstrap|name or service not known",
        "open() waits for another machine: let it ask for its states before it connects.",
        None,
    ),
    (
        r"FileNotFound|NoSuchFile|No such file",
        "open() reads a file that is not here: put it there, or ask for the states before it is read.",
        None,
    ),
)
"""What to do by what open() failed with, the more special cause first."""


def _only_flink_can_tell(check: Check) -> Iterator[Finding]:
    """States of jobs that Flink built, compared by their plans alone, whose serializers are not the same."""
    for change in changes(check):
        for old, differences in undecided(change):
            yield check.finding(
                RULE,
                f"the serializer of the state {old.name!r} of {change.pair.new.label} is another one",
                consequence="Classes of Flink and of the program decide whether it reads the old bytes.",
                reason=" ".join(differences) or "The snapshots of the two differ.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(
                    Fix(text="Check with the new job itself in place of its plan: Flink's own classes decide then."),
                ),
            )


RULE = Rule(
    id="CMP410",
    name="state-not-known",
    level=Level.UNKNOWN,
    fate=Fate.UNKNOWN,
    summary="The states of an operator are unknown.",
    why="States are found by calling the function's open(). If open() fails, or the states are made while records are "
    "processed, the check cannot see them. An open question is not called compatible.",
    old='def open(self, ctx):\n    self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))',
    new='def open(self, ctx):\n    self.model = load("/models/current")   # not there on this machine',
    fix="Declare the states first in open(), before anything that can fail; or accept it with --allow-unknown.",
    find=_find,
)
