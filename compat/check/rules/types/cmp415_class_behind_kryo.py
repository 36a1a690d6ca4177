"""States whose values are of classes that are written in another way than before, of which Flink knows nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compat.check import upgrade
from compat.check.class_changes import ClassChange, class_changes, short
from compat.check.code_suggestions import OLD_PROGRAM, migrate
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.states import kept_states
from compat.state.model.code import WrittenClass
from compat.state.model.states import State


def _find(check: Check) -> Iterator[Finding]:
    of_savepoint = check.old.kind == "savepoint"
    for pair in check.right_pairs:
        # What another Kryo wrote is not read at all, whatever its classes are.
        refused = upgrade.of_other_kryo(check, pair) if of_savepoint else ()
        if of_savepoint and pair.old.states is None:
            for state in pair.new.states or ():
                yield from _not_told(check, pair, state, refused)
        for old, new in kept_states(pair):
            yield from _findings(check, pair, old, tuple(class_changes(old.classes, new.classes)))
            if of_savepoint and not old.classes:
                yield from _not_told(check, pair, new, refused)
            else:
                yield from _open(check, pair, old, new.classes)
        if pair.old.key is not None and pair.new.key is not None:
            yield from _findings(check, pair, None, tuple(class_changes(pair.old.key.classes, pair.new.key.classes)))


def _findings(check: Check, pair: Pair, state: State | None, changes: Sequence[ClassChange]) -> Iterator[Finding]:
    what = "the key" if state is None else f"the state {state.name!r}"
    yield from _guessed(check, pair, state, [change for change in changes if change.guessed])
    for level in (Level.ERROR, Level.UNKNOWN, Level.WARNING):
        told = [change for change in changes if change.level is level and not change.guessed]
        if not told:
            continue
        silent = all(change.silent for change in told)
        yield check.finding(
            RULE,
            f"{what} of {pair.new.label} holds values of a class that is written differently now",
            level=level,
            consequence=_consequence(level, silent),
            reason=" ".join(_sentence(change.says) for change in told) + " Snapshots of serializers do not show that.",
            old=pair.old,
            new=pair.new,
            state=None if state is None else state.name,
            fixes=(
                Fix(
                    text="Keep the class as it was; or put new values, of a class that is a POJO or has an Avro schema, into a "
                    "state of another name."
                ),
                *(() if state is None else migrate(check)),
            ),
            silent=silent,
            subject=None if state is not None else "key",
        )


_SEEN = Fix(text="Restore a savepoint of OLD to see it: compat check SAVEPOINT NEW --rehearse.")


def _guessed(check: Check, pair: Pair, state: State | None, changes: Sequence[ClassChange]) -> Iterator[Finding]:
    """What changed in classes of which values may be that stand in an ``Optional``, a raw list or a field of ``Object``."""
    if not changes:
        return
    what = "the key" if state is None else f"the state {state.name!r}"
    yield check.finding(
        RULE,
        f"{what} of {pair.new.label} may hold values of a class that changed",
        level=Level.UNKNOWN,
        consequence="If there are such values, reading them fails or gives wrong values.",
        reason="No type gives the classes of all values. About the classes whose values code puts there: "
        + " ".join(dict.fromkeys(_sentence(change.says) for change in changes)),
        old=pair.old,
        new=pair.new,
        state=None if state is None else state.name,
        fixes=(
            Fix(text="Give the values a type that tells their classes, such as a POJO with fields of these classes."),
            _SEEN if check.snapshot_to_come else Fix(text="Restore the savepoint to see it.", code="--rehearse"),
        ),
        silent=True,
        subject="guessed" if state is not None else "key guessed",
    )


_BY_PLACE = ("fields", "declared", "enum", "code")


def _consequence(level: Level, silent: bool) -> str:
    if silent and level is Level.ERROR:
        return "Flink restores this without an error, and the values mean something else from then on."
    if level is Level.UNKNOWN:
        return "Flink restores this without an error. The values are right if only names changed, and wrong otherwise."
    if silent:
        return (
            "Flink restores this without an error: each old value is taken for the field or constant that "
            "is in its place now."
        )
    if level is Level.ERROR:
        return (
            "The task fails when it starts, with state on the heap; with RocksDB, or for a key that is seen later, it fails "
            "when it reads a value, or reads a wrong one."
        )
    return "If there are such values in the state, the task fails when it reads them."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _not_told(check: Check, pair: Pair, state: State, refused: Sequence[str]) -> Iterator[Finding]:
    """States of a savepoint whose former classes are unknown; another rule reports those in ``refused``."""
    names = [short(one.name) for one in state.classes if one.writer in _BY_PLACE and state.name not in refused]
    if names:
        yield check.finding(
            RULE,
            f"the state {state.name!r} of {pair.new.label} holds values of classes that cannot be compared",
            level=Level.UNKNOWN,
            consequence="If fields or constants of these classes changed, values are read as something else, without an error.",
            reason=f"Savepoints do not record which fields or constants {', '.join(names)} had when the values were written.",
            old=pair.old,
            new=pair.new,
            state=state.name,
            fixes=(
                Fix(text="Name the program that wrote the savepoint: then the classes are compared.", code=OLD_PROGRAM),
            ),
            silent=True,
            subject="not told",
        )


def _open(check: Check, pair: Pair, state: State, classes: Sequence[WrittenClass]) -> Iterator[Finding]:
    """States of an abstract type of which no class is known that its values could be of."""
    known = {one.under for one in classes}
    for one in classes:
        if one.name not in known and one.under is None and (one.abstract or one.writer == "unknown"):
            yield check.finding(
                RULE,
                f"the state {state.name!r} of {pair.new.label} holds values whose class is known at run time only",
                level=Level.NOTE,
                consequence="It is unknown whether the classes of these values changed.",
                reason=f"{short(one.name)} is declared, and no class in the job's jar is known to be written for it.",
                old=pair.old,
                new=pair.new,
                state=state.name,
                fixes=(Fix(text="Declare a class that is a POJO, or a type with a serializer of its own."),),
                subject=one.name,
            )


RULE = Rule(
    id="CMP415",
    name="class-behind-kryo",
    level=Level.ERROR,
    other_levels=(Level.UNKNOWN, Level.WARNING, Level.NOTE),
    when="unknown if OLD is a savepoint, which does not record its classes, if no type gives the classes of values, or "
    "if a constant of an enum got another name in its place; warning if a field was renamed in its place, or if "
    "values may be of a changed class; note if the class of values is known only at run time",
    fate=Fate.LOST,
    summary="A class changed whose values Kryo or Java writes, or which replaces a POJO.",
    why="Kryo writes the values of fields in the order of the fields' names, and the constants of enums as numbers. The "
    "snapshot of its serializer has only the class's name, so any class of that name counts as the same one.",
    old="class Spent { Spent(int x) {} long total; long last; }",
    new="class Spent { Spent(int x) {} long amount; long last; }",
    fix="Make the class a POJO, or give it a serializer; until then keep its fields and constants as they are.",
    find=_find,
)
