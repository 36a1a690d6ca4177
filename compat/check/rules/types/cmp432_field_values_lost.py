"""Fields of POJOs whose old values Flink passes over when it converts a state, without an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from compat.check import code_suggestions
from compat.check.class_changes import short
from compat.check.context import Check
from compat.check.findings import Fate, FieldHeir, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.states import kept_snapshots

if TYPE_CHECKING:
    from compat.loader.jvm.answers import StateChange
    from compat.state.flink.snapshots import SerializerSnapshot

_DEFAULT = "what the class's constructor puts there: 0, null, or a default of its own"


class _Lost(NamedTuple):
    """A field whose values are passed over: of which class, and the new fields that may be the same under another name.

    ``moved`` is whether NEW has it, declared by another class.
    """

    cls: str
    name: str
    twins: tuple[str, ...] = ()
    moved: bool = False


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        answer = check.answer(pair)
        migrations = () if answer is None else answer.migrations
        for name, before, after in _snapshots(pair, migrations):
            # The fields that Flink did not find in the classes that had declared them, where it was asked.
            not_found = frozenset(field for change in migrations if change.name == name for field in change.lost)
            for one in dict.fromkeys(_lost(before, after, not_found)):
                yield _finding(check, pair, name, one)


def _snapshots(
    pair: Pair, migrations: tuple[StateChange, ...]
) -> Iterator[tuple[str, SerializerSnapshot, SerializerSnapshot]]:
    """The states of one name with what the serializers of both versions say, as both tell it, else as Flink was asked."""
    told = set()
    for state, before, after in kept_snapshots(pair):
        told.add(state.name)
        yield state.name, before, after
    for change in migrations:
        if change.name not in told:
            yield from ((change.name, before, after) for before, after in change.snapshots)


def _lost(old: SerializerSnapshot, new: SerializerSnapshot, not_found: frozenset[tuple[str, str]]) -> Iterator[_Lost]:
    """The fields of POJOs at the same place that are gone, or that Flink does not find. Flink: ``PojoSerializerSnapshot``."""
    before, after = dict(old.details), dict(new.details)
    cls = before.get("pojo_class")
    if cls is None or cls != after.get("pojo_class"):
        for one, other in zip(old.nested, new.nested, strict=False):
            yield from _lost(one, other, not_found)
        return
    olds = dict(zip(old.texts("fields"), old.nested, strict=False))
    news = dict(zip(new.texts("fields"), new.nested, strict=False))
    added = {name: snapshot for name, snapshot in news.items() if name not in olds}
    for name, snapshot in olds.items():
        if name not in news:
            yield _Lost(str(cls), name, tuple(twin for twin, other in added.items() if other == snapshot))
        elif (str(cls), name) in not_found:
            yield _Lost(str(cls), name, moved=True)
        else:
            yield from _lost(snapshot, news[name], not_found)


def _finding(check: Check, pair: Pair, state: str, lost: _Lost) -> Finding:
    field = f"{short(lost.cls)}.{lost.name}"
    consequence = f"Flink restores this without an error, and drops the old values of {lost.name}."
    if lost.moved:
        reason = f"Another class declares {lost.name} now, which makes it another field: it has {_DEFAULT}."
        text = f"Let the class declare {lost.name} that declared it before, under the name that this class had."
    elif lost.twins:
        reason = f"{_listed(lost.twins)} of the same type is new, and has {_DEFAULT}."
        text = (
            f"Keep the name {lost.name}; or keep the old field beside the new one until all values are copied. If {lost.name} "
            f"may go, and is not {_listed(lost.twins)}, ignore {RULE.id}."
        )
    else:
        reason = "NEW's class has neither it nor a new field of its type."
        text = "Nothing, if it is not needed; keep the field if it is."
    return check.finding(
        RULE,
        f"the values of the field {field} are lost, in the state {state!r} of {pair.new.label}",
        level=Level.ERROR if lost.moved or lost.twins else Level.WARNING,
        consequence=consequence,
        reason=reason,
        old=pair.old,
        new=pair.new,
        state=state,
        fixes=(Fix(text=text), *(code_suggestions.migrate(check) if lost.twins else ())),
        heirs=tuple(FieldHeir(lost.cls, lost.name, twin) for twin in lost.twins),
        silent=True,
        subject=field,
    )


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(names)


RULE = Rule(
    id="CMP432",
    name="field-values-lost",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if the field is gone and no new one has its type",
    fate=Fate.LOST,
    summary="A field of a POJO or record has another name, is declared by another class, or is gone: its values are lost.",
    why="Flink finds fields by their names and the class that declares them. It skips old values of fields that it does "
    "not find, and a new field gets its value from the constructor. If a field is gone and a new one has its type, "
    "the check assumes a rename until you say otherwise.",
    old="public class Spent { public String user; public long total; }",
    new="public class Spent { public String user; public long amount; }",
    fix="Keep the name, and the class that declares it; or keep the old field until all values are copied into the new one.",
    find=_find,
)
