"""Shared code of the rules about user classes behind serializers: what a difference does to stored values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from compat.check.findings import Level
from compat.state.model.code import WrittenClass, WrittenField


class ClassChange(Struct, frozen=True, kw_only=True):
    """A difference in how a class is serialized, as a sentence; ``silent`` if values are read with another meaning.

    ``guessed`` if no type shows that there are values of this class.
    """

    says: str
    level: Level
    silent: bool = False
    guessed: bool = False


def class_changes(old: Sequence[WrittenClass], new: Sequence[WrittenClass]) -> Iterator[ClassChange]:
    """The differences between the classes that wrote a state's values and those that read them."""
    now = {(one.name, one.under): one for one in new}
    yield from _other_guesses(old, new)
    for one in old:
        other = now.get((one.name, one.under))
        if other is None and one.guessed:
            continue
        if other is None and one.under is not None:
            says = f"{short(one.name)}, which values of {short(one.under)} may be, is gone or no {short(one.under)} any more."
            yield ClassChange(says=says, level=Level.ERROR if one.made else Level.WARNING)
        elif other is not None and one.serializer is None and other.serializer is None:
            yield from _doubtful(one, _of_one(one, other))
        elif other is not None and "java" in (one.writer, other.writer):
            yield from _doubtful(one, _by_java(one, other))


def _doubtful(one: WrittenClass, found: Iterator[ClassChange]) -> Iterator[ClassChange]:
    """Changes of a class that stands in for another one are certain only if the function creates such values."""
    for change in found:
        if one.guessed:
            yield ClassChange(says=change.says, level=Level.UNKNOWN, silent=change.silent, guessed=True)
            continue
        sure = one.under is None or one.made or change.level is not Level.ERROR
        yield change if sure else ClassChange(says=change.says, level=Level.WARNING, silent=change.silent)


def _other_guesses(old: Sequence[WrittenClass], new: Sequence[WrittenClass]) -> Iterator[ClassChange]:
    """The classes that only one version's code creates, in states whose values may be of any class."""
    before, after = ({one.name for one in version if one.made or not one.guessed} for version in (old, new))
    names = {one.name for one in (*old, *new) if one.guessed}
    gone, come = sorted((before - after) & names), sorted((after - before) & names)
    told = [f"of {', '.join(map(short, gone))} before"] * bool(gone) + [f"of {', '.join(map(short, come))} now"] * bool(
        come
    )
    if told:
        yield ClassChange(says=f"code makes objects {' and '.join(told)} only.", level=Level.UNKNOWN, guessed=True)


def _of_one(old: WrittenClass, new: WrittenClass) -> Iterator[ClassChange]:
    if old.writer != new.writer:
        if not (old.abstract or new.abstract or "unknown" in (old.writer, new.writer)):
            yield ClassChange(
                says=f"{short(old.name)} was written {_HOW[old.writer]} and is read {_HOW[new.writer]}.",
                level=Level.ERROR,
            )
    elif old.writer == "enum":
        yield from _enum(old, new)
    elif old.writer == "pojo":
        yield from _pojo(old, new)
    elif old.writer == "fields" and not (old.abstract and new.abstract and not old.fields):
        yield from _fields(old, new)
    elif old.writer == "declared" and [one.type for one in old.fields] == [one.type for one in new.fields]:
        yield from _moved(old, new, "as they are declared")  # other types are in Flink's snapshot


def _by_java(old: WrittenClass, new: WrittenClass) -> Iterator[ClassChange]:
    if old.writer != new.writer:
        yield ClassChange(
            says=f"{short(old.name)} was written {_HOW[old.writer]} and is read {_HOW[new.writer]}.", level=Level.ERROR
        )
    elif old.version != new.version:
        yield ClassChange(
            says=f"the serialVersionUID of {short(old.name)} was {old.version} and is {new.version}.", level=Level.ERROR
        )


def _enum(old: WrittenClass, new: WrittenClass) -> Iterator[ClassChange]:
    """Enum changes: constants are written as numbers."""
    before, after = old.constants, new.constants
    if after[: len(before)] == before:
        return
    if before[: len(after)] == after:
        gone = ", ".join(before[len(after) :])
        yield ClassChange(
            says=f"the constants {gone} of {short(old.name)} are gone: reading one fails.", level=Level.ERROR
        )
        return
    moved = [(one, other) for one, other in zip(before, after, strict=False) if one != other]
    renamed = all(one not in after and other not in before for one, other in moved) and len(before) <= len(after)
    told = " and ".join(f"{one} is read as {other}" for one, other in moved[:3])
    yield ClassChange(
        says=f"the constants of {short(old.name)} are written as numbers: {told}.",
        level=Level.UNKNOWN if renamed else Level.ERROR,  # another name, or another thing: nothing says which
        silent=True,
    )


def _fields(old: WrittenClass, new: WrittenClass) -> Iterator[ClassChange]:
    """Field changes: fields are written one after the other in the order of their names, without the names."""
    before, after = old.fields, new.fields
    name = short(old.name)
    if [one.name for one in before] == [one.name for one in after]:
        for one, other in zip(before, after, strict=True):
            if not _alike(one, other):
                yield ClassChange(
                    says=f"the field {one.name} of {name} was of the type {_spelled(one)} and is of {_spelled(other)}.",
                    level=Level.ERROR,
                )
        return
    if len(before) != len(after) or not all(_alike(one, other) for one, other in zip(before, after, strict=True)):
        yield ClassChange(says=f"{name} {_gone_and_new(before, after)}.", level=Level.ERROR)
        return
    yield from _moved(old, new, "in the order of their names")


def _moved(old: WrittenClass, new: WrittenClass, order: str) -> Iterator[ClassChange]:
    """Differently named fields in the same places."""
    before, after = [one.name for one in old.fields], [one.name for one in new.fields]
    moved = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    if not moved:
        return
    renamed = all(one not in after and other not in before for one, other in moved)
    told = " and ".join(f"that of {one} is read as {other}" for one, other in moved[:3])
    yield ClassChange(
        says=f"the values of the fields of {short(old.name)} are written {order}: {told}.",
        level=Level.WARNING if renamed else Level.ERROR,
        silent=True,
    )


def _pojo(old: WrittenClass, new: WrittenClass) -> Iterator[ClassChange]:
    before = {one.name: one for one in old.fields}
    after = {one.name: one for one in new.fields}
    if before.keys() != after.keys():
        yield ClassChange(says=f"{short(old.name)} {_gone_and_new(old.fields, new.fields)}.", level=Level.ERROR)
        return
    for name, one in before.items():
        if one.type != after[name].type:
            yield ClassChange(
                says=f"the field {name} of {short(old.name)} was of the type {short(one.type)} and is of "
                f"{short(after[name].type)}.",
                level=Level.ERROR,
            )


def _alike(one: WrittenField, other: WrittenField) -> bool:
    """True if the values of two fields are written alike, as far as their declared types show.

    A value is written with its class, unless that is fixed; no object belongs to two unrelated classes.
    """
    return _of_one_type(one, other) and _given_alike(one.given, other.given)


def _given_alike(before: Sequence[WrittenField] | None, after: Sequence[WrittenField] | None) -> bool:
    """The same for the type arguments: Kryo reads parts of a final class without their class."""
    if before is None or after is None:
        return True
    if len(before) != len(after):
        return not any(one.fixed for one in (*before, *after))
    return all(_alike(one, other) for one, other in zip(before, after, strict=True))


def _of_one_type(one: WrittenField, other: WrittenField) -> bool:
    if (one.type, other.type) in _WIDER:
        return True
    if one.type == other.type or one.fixed or other.fixed:
        return one.type == other.type
    if one.above is None or other.above is None:
        return True
    return one.type in other.above or other.type in one.above


_WIDER = {("int", "long"), ("java.lang.Integer", "java.lang.Long")}
"""Types that Kryo writes as variable-length numbers, so that it reads one as the other."""


def _spelled(field: WrittenField) -> str:
    """The type of a field as a program spells it, without packages."""
    given = ", ".join(_spelled(one) for one in field.given or ())
    return short(field.type) + (f"<{given}>" if given else "")


def _gone_and_new(before: Sequence[WrittenField], after: Sequence[WrittenField]) -> str:
    old, new = [one.name for one in before], [one.name for one in after]
    gone = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    parts = [f"has lost {_listed(gone)}"] * bool(gone) + [f"has got {_listed(added)}"] * bool(added)
    return " and ".join(parts) or "has fields of other types"


def _listed(names: Sequence[str]) -> str:
    return f"the field{'s' if len(names) > 1 else ''} {', '.join(names)}"


_HOW = {
    "fields": "field by field",
    "declared": "field by field",
    "enum": "as the number of a constant",
    "code": "by code of its own",
    "java": "by Java",
    "pojo": "as a POJO",
    "unknown": "in an unknown way",
}


def short(name: str) -> str:
    """A class's name without its package, and without the mark of the class of an object of Scala."""
    return name.rpartition(".")[2].removesuffix("$")
