"""Whether NEW's class loads the pickled objects of a class of a Python program OLD."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compat.check.mapping import Pair

READ = ""
"""The result if everything that was pickled is loaded with the same meaning."""


class Exchanged(str):
    """Why everything is loaded, but values as those of another field or constant."""


def put_into(pair: Pair, state: str) -> Sequence[str]:
    """The classes whose objects OLD's code puts into a state."""
    return pair.old.detail.get("classes_put", {}).get(state, [])


def fails(pair: Pair, name: str) -> str | None:
    """Why objects of a class fail in NEW, as the end of a sentence; ``READ`` if they do not; None if unknown."""
    old, new = (side.detail.get("classes_shaped", {}).get(name) for side in (pair.old, pair.new))
    if old is None or new is None or old[0] != new[0]:
        return None
    if old[0] == "enum":
        return _members(old, new)
    return (_positions if old[0] == "named tuple" else _attributes)(old, new)


def _members(old: Sequence[str], new: Sequence[str]) -> str | None:
    """Enums: a pickle has the value of a member, which the class looks up (Python: ``Enum.__reduce_ex__``)."""
    before, after = (dict(_told(side, "value")) for side in (old, new))
    gone = [name for value, name in before.items() if value not in after]
    if gone:
        return f"has no member of the value of {' and '.join(gone)} any more, and looking it up fails"
    moved = [name for value, name in before.items() if after[value] != name and name in after.values()]
    if moved:
        return Exchanged(f"gives the value of {' and '.join(moved)} to another member, and a pickle has the value")
    return READ


def _positions(old: Sequence[str], new: Sequence[str]) -> str | None:
    """Named tuples: a pickle has the values that the class is called with (Python: ``__getnewargs__`` of
    ``collections.namedtuple``).
    """
    before, after = (_names(side, "field") for side in (old, new))
    least = len(after) - len(_names(new, "default"))
    if not least <= len(before) <= len(after):
        return f"is made of {len(after)} values now, and a pickle has {len(before)}"
    if before != after and sorted(before) == sorted(after):
        return Exchanged("has its fields in another order, and a pickle has the values in their order")
    return READ if after[: len(before)] == before else None


def _attributes(old: Sequence[str], new: Sequence[str]) -> str | None:
    """Ordinary objects: a pickle has the attributes, which the object gets unchanged; class attributes stand in for
    missing ones.
    """
    before, after = (_names(side, "field") for side in (old, new))
    missing = [name for name in after if name not in before and name not in _names(new, "default")]
    if missing:
        return f"has {' and '.join(missing)} now, which old objects come without, so that reading it fails"
    return READ if set(before) <= set(after) or set(after) <= set(before) else None


def _told(parts: Iterable[str], what: str) -> list[tuple[str, str]]:
    rests = (part.removeprefix(f"{what} ") for part in parts if part.startswith(f"{what} "))
    return [(value, name) for value, _, name in (rest.rpartition(" ") for rest in rests)]


def _names(parts: Iterable[str], what: str) -> list[str]:
    return [name for _, name in _told(parts, what)]
