"""Whether NEW's class loads the pickled objects of a class of a Python program OLD."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from compat.check.mapping import Pair


class Failure(Struct, frozen=True):
    """``why`` pickled objects fail, as the end of a sentence, and the ``code`` with which they would not.

    ``exchanged``: they are loaded, but values as those of another field or constant.
    """

    why: str
    code: str
    exchanged: bool = False


READ = Failure("", "")
"""The result if everything that was pickled is loaded with the same meaning."""


def put_into(pair: Pair, state: str) -> Sequence[str]:
    """The classes whose objects OLD's code puts into a state."""
    return pair.old.detail.get("classes_put", {}).get(state, [])


def fails(pair: Pair, name: str) -> Failure | None:
    """Why objects of a class fail in NEW; ``READ`` if they do not; None if unknown."""
    old, new = (side.detail.get("classes_shaped", {}).get(name) for side in (pair.old, pair.new))
    if old is None or new is None or old[0] != new[0]:
        return None
    if old[0] == "enum":
        return _members(old, new)
    return _positions(old, new, name.partition(":")[2]) if old[0] == "named tuple" else _attributes(old, new)


def _members(old: Sequence[str], new: Sequence[str]) -> Failure:
    """Enums: a pickle has the value of a member, which the class looks up (Python: ``Enum.__reduce_ex__``)."""
    before, after = (dict(_told(side, "value")) for side in (old, new))
    gone = {name: value for value, name in before.items() if value not in after}
    if gone:
        why = f"has no member of the value of {' and '.join(gone)} any more, and looking it up fails"
        return Failure(why, _assigned(gone))
    moved = {name: value for value, name in before.items() if after[value] != name and name in after.values()}
    if moved:
        why = f"gives the value of {' and '.join(moved)} to another member, and a pickle has the value"
        return Failure(why, _assigned(moved), exchanged=True)
    return READ


def _positions(old: Sequence[str], new: Sequence[str], name: str) -> Failure | None:
    """Named tuples: a pickle has the values that the class is called with (Python: ``__getnewargs__`` of
    ``collections.namedtuple``).
    """
    before, after = (_names(side, "field") for side in (old, new))
    as_before = f'{name} = namedtuple("{name}", "{" ".join(before)}")'
    least = len(after) - len(_names(new, "default"))
    if not least <= len(before) <= len(after):
        return Failure(f"is made of {len(after)} values now, and a pickle has {len(before)}", as_before)
    if before != after and sorted(before) == sorted(after):
        why = "has its fields in another order, and a pickle has the values in their order"
        return Failure(why, as_before, exchanged=True)
    return READ if after[: len(before)] == before else None


def _attributes(old: Sequence[str], new: Sequence[str]) -> Failure | None:
    """Ordinary objects: a pickle has the attributes, which the object gets unchanged; class attributes stand in for
    missing ones.
    """
    before, after = (_names(side, "field") for side in (old, new))
    missing = [name for name in after if name not in before and name not in _names(new, "default")]
    if missing:
        why = f"has {' and '.join(missing)} now, which old objects come without, so that reading it fails"
        return Failure(why, _assigned(dict.fromkeys(missing, "DEFAULT")))
    return READ if set(before) <= set(after) or set(after) <= set(before) else None


def _assigned(values: Mapping[str, str]) -> str:
    """Lines of a class that give names these values."""
    return "; ".join(f"{name} = {value}" for name, value in values.items())


def _told(parts: Iterable[str], what: str) -> list[tuple[str, str]]:
    rests = (part.removeprefix(f"{what} ") for part in parts if part.startswith(f"{what} "))
    return [(value, name) for value, _, name in (rest.rpartition(" ") for rest in rests)]


def _names(parts: Iterable[str], what: str) -> list[str]:
    return [name for _, name in _told(parts, what)]
