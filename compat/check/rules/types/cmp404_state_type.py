"""States whose new type does not read what the old one wrote, or reads it as something a little different."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts, code_suggestions, restores
from compat.check.connectors import other_form
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.check.states import StateChange, changes, retyped
from compat.state.compatibility import PROCESS, STORE, THREAD, Compatibility, Dialect
from compat.state.model.states import State, StateKind
from compat.state.types.spelling import parse_type

_CONNECTED = frozenset({"source", "sink_writer", "sink_committer"})


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        for old, new, compatibility in retyped(change):
            if not compatibility.readable:
                yield _unreadable(check, change, old, new, compatibility)
            elif compatibility.answer.rank == 0 and compatibility.changes:
                yield _in_other_words(check, change, old, new, compatibility)
    yield from _other_connectors(check)
    yield from _told_by_flink(check)


def _told_by_flink(check: Check) -> Iterator[Finding]:
    """States that Flink's own serializers of NEW do not read."""
    for pair, change, problem in restores.unreadable(check):
        if not change.name or change.other_kind or change.other_kryo or _only_time_to_live(pair, change.name):
            continue
        yield check.finding(
            RULE,
            f"the state {change.name!r} of {pair.new.label} has a new type, which does not read the old one's bytes",
            consequence=restores.consequence(check, problem),
            reason=" ".join(change.reasons) or f"Flink says: {problem.failure.message}",
            old=pair.old,
            new=pair.new,
            state=change.name,
            fixes=(
                Fix(
                    text="Keep the type as it was, or put the new values into a state of another name.",
                ),
                *code_suggestions.migrate(check),
            ),
        )


def _only_time_to_live(pair: Pair, name: str) -> bool:
    """True for a state whose time to live was switched and whose type is the same: what CMP408 tells."""
    old, new = (next((state for state in one.states or () if state.name == name), None) for one in (pair.old, pair.new))
    return old is not None and new is not None and (old.ttl is None) != (new.ttl is None) and old.type == new.type


def _other_connectors(check: Check) -> Iterator[Finding]:
    """Sources and sinks that became another connector's, whose splits or files are in bytes of its own form."""
    for pair in check.right_pairs:
        names = other_form(pair.old, pair.new) if pair.old.kind in _CONNECTED else None
        if names is None:
            continue
        before, after = names
        state = next((state for state in pair.old.states or () if state.kind is StateKind.LIST), None)
        if state is None or not any(other.name == state.name for other in pair.new.states or ()):
            continue
        yield check.finding(
            RULE,
            f"{pair.new.label} was a {before} and is a {after}",
            consequence=f"The task fails when it starts: a {after} does not read what a {before} keeps.",
            reason=f"The connector itself writes {state.name!r}.",
            old=pair.old,
            new=pair.new,
            state=state.name,
            fixes=(
                Fix(
                    text=f"Give the {after} a uid of its own, and restore with -n if the old positions may go.",
                    code=uid_call(pair.new, check),
                ),
            ),
        )


def _unreadable(check: Check, change: StateChange, old: State, new: State, compatibility: Compatibility) -> Finding:
    silent = change.dialect is PROCESS or _are_one_to_java(change.dialect, old, new)
    if change.dialect is PROCESS:
        consequence = (
            "Flink restores this without an error, as PyFlink shows it bytes only; the task fails at the first record, or "
            "reads wrong values."
        )
    elif change.dialect is STORE:
        consequence = "The restore is refused before the job starts."
    elif silent:
        consequence = (
            f"Flink restores this without an error, as both are pickles to Java; but PyFlink does not pickle {new.type}: the "
            "program gets bytes, and no checkpoint with new values can be made."
        )
    else:
        consequence = "The task fails at the first access: the new serializer must be compatible with the previous one."
    return check.finding(
        RULE,
        f"the state {old.name!r}{amounts.of(old)} of {change.pair.new.label} had the type {old.type} and has {new.type}",
        consequence=consequence,
        reason=f"{new.type} does not read what {old.type} wrote: {'; '.join(compatibility.changes)}.",
        old=change.pair.old,
        new=change.pair.new,
        state=old.name,
        fixes=(
            Fix(
                text=f"Keep the type {old.type}, or put the new values into a state of another name.",
                code=code_suggestions.descriptor(old) or code_suggestions.under_another_name(new),
            ),
            *code_suggestions.migrate(check),
        ),
        silent=silent,
    )


def _are_one_to_java(dialect: Dialect, old: State, new: State) -> bool:
    """Whether Flink has the same serializer for both types: what PyFlink's thread mode declares as pickles."""
    types = [parse_type(state.type or "") for state in (old, new)]
    return dialect is THREAD and None not in types and len({str(dialect.kept(one)) for one in types if one}) == 1


def _in_other_words(check: Check, change: StateChange, old: State, new: State, compatibility: Compatibility) -> Finding:
    return check.finding(
        RULE,
        f"the state {old.name!r}{amounts.of(old)} of {change.pair.new.label} had the type {old.type} and has {new.type}",
        level=Level.WARNING,
        consequence=f"Flink restores this without an error and compares nothing: {'; '.join(compatibility.changes)}.",
        reason="The bytes are read as they are; whether they mean the same is up to the program.",
        old=change.pair.old,
        new=change.pair.new,
        state=old.name,
        fixes=(
            Fix(
                text="Nothing, if the values mean the same; else put the new ones into a state of another name.",
                code=code_suggestions.under_another_name(new),
            ),
        ),
        silent=True,
    )


RULE = Rule(
    id="CMP404",
    name="state-type",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if the bytes are readable but may mean something else: a field was renamed, or old values come back "
    "pickled in their old form",
    fate=Fate.REFUSED,
    summary="The type of a state cannot read the bytes that OLD wrote.",
    why="In PyFlink's process mode Flink sees only bytes and does not notice this. The job fails in Python at the first "
    "record of an old key, or decodes garbage.",
    old='ValueStateDescriptor("count", Types.LONG())',
    new='ValueStateDescriptor("count", Types.STRING())',
    fix="Keep the type, or declare the new type under a new name and convert while processing.",
    find=_find,
)
