"""The structure of pickled values: what code puts into a state, and which parts of it other code reads."""

from __future__ import annotations

import collections
import datetime
import decimal
import itertools
from collections.abc import Iterable, Mapping

from compat.state.model.fields import Record


class Shape(Record, frozen=True, kw_only=True):
    """The structure of a value: ``number``, ``text``, ``bytes``, ``tuple``, ``row``, ``list``, ``set``, ``dict``, ``object``.

    ``parts`` are the elements of a tuple or row in order, what is in a list or set as one part, what a text of JSON says as
    one part, and the values of a dict by its ``keys``, which are the texts among them; a row's are the names of its fields.
    A value that is not ``whole`` may have more. ``name`` is the class, as ``module:name``, of what is not plain. ``sources``
    are digests of what code computes the parts of, or what a class is called with by the ``keys``, as far as that is known.
    """

    kind: str
    parts: tuple[Shapes, ...] = ()
    keys: tuple[str, ...] = ()
    whole: bool = True
    name: str = ""
    sources: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.kind in ("tuple", "row") and self.whole:
            return f"a {self.kind} of {len(self.parts)}"
        if self.says_json:
            return f"JSON of {' or '.join(map(str, self.parts[0]))}"
        if self.kind == "object" or self.name:
            return f"an object of {self.name.partition(':')[2]}"
        if self.keys:
            return f"a dict with {', '.join(map(repr, self.keys))}"
        return _with_article(self.kind)

    def is_read_as(self, new: Shape) -> bool:
        """Whether code that puts in ``new`` reads this. New keys of a dict are not in old ones."""
        if self.kind != new.kind or (new.name and self.name != new.name):
            return False
        if self.kind in ("tuple", "row"):
            if not (self.whole and new.whole):
                return True
            named = self.keys == new.keys or not new.keys
            return named and len(self.parts) == len(new.parts) and all(map(are_read_as, self.parts, new.parts))
        if self.kind == "dict":
            there = not (self.whole and new.whole) or set(new.keys) <= set(self.keys)
            before, after = self.by_key, new.by_key
            return there and all(are_read_as(before[key], after[key]) for key in before.keys() & after.keys())
        return all(map(are_read_as, self.parts, new.parts))

    @property
    def says_json(self) -> bool:
        """Whether it is a text of JSON of which it is known what it says."""
        return self.kind == "text" and bool(self.parts)

    @property
    def by_key(self) -> Mapping[str, Shapes]:
        """The values of a dict, or the fields of a row, as far as these are known."""
        return dict(zip(self.keys, self.parts or ((),) * len(self.keys), strict=True))

    @property
    def at_places(self) -> Mapping[str, str]:
        """The ``sources`` by the places of the parts."""
        places = map(repr, self.keys or range(len(self.sources)))
        return dict(zip(places, self.sources, strict=False))

    def at(self, step: Step) -> Shapes | None:
        """What is found there, ``()`` if that is not known; None if nothing is: the code that looks there fails."""
        if self.kind == "object":
            known = _LIBRARY.get(self.name)
            return None if step.kind == "attribute" and known and not hasattr(known, step.name) else ()
        match step.kind:
            case "item":
                return self._at_place(step.place)
            case "key" | "maybe":
                found = self.by_key.get(step.name) if self.kind in ("dict", "row") else None
                missing = () if self.kind == "dict" and (step.kind == "maybe" or not self.whole) else None
                return missing if found is None else found
            case "attribute":
                return self._attribute(step.name)
            case "parts":
                fixed = self.kind in ("tuple", "row") and self.whole
                return None if self.kind == "number" or (fixed and len(self.parts) != step.place) else (self,)
            case "element":
                return self._element()
            case "any":
                return self._any() if self.kind == "dict" else self._element()
            case "json":
                return self.parts[0] if self.says_json else () if self.kind in ("text", "bytes") else None
        return self._of_dict(step.kind)

    def _at_place(self, place: int) -> Shapes | None:
        if self.kind in ("tuple", "row"):
            size = len(self.parts)
            return self.parts[place] if -size <= place < size else () if not self.whole else None
        if self.kind == "dict":
            return None if self.whole and self.keys else ()
        return None if self.kind in ("number", "set") else self._element()

    def _attribute(self, name: str) -> Shapes | None:
        if self.kind == "row":
            return self.by_key.get(name, () if name in _OF_ROWS else None)
        classes = (_LIBRARY[self.name],) if self.name in _LIBRARY else _CLASSES[self.kind]
        return () if any(hasattr(one, name) for one in classes) else None

    def _element(self) -> Shapes | None:
        if self.kind == "number":
            return None
        if self.kind in ("tuple", "row"):
            return _all_of(self.parts) if self.whole else ()
        if self.kind == "text":
            return (self,)
        return self.parts[0] if self.parts and self.kind in ("list", "set") else ()

    def _any(self) -> Shapes:
        """What any value of a dict may be."""
        return _all_of(self.parts) if self.whole and self.parts else ()

    def _of_dict(self, what: str) -> Shapes | None:
        """The values or the entries of a dict, as a list."""
        if self.kind != "dict":
            return None
        entry: Shapes = (Shape(kind="tuple", parts=((), self._any())),)
        return (Shape(kind="list", parts=(entry if what == "items" else self._any(),)),)

    def is_one_of(self, names: Iterable[str]) -> bool | None:
        """Whether ``isinstance`` says so of it; None if that is not known."""
        kind = self.name.partition(":")[2] if self.kind == "object" else self.kind
        if kind in names or (kind == "number" and {"int", "float"}.issubset(names)):
            return True
        plain = not self.name and self.kind != "object" and _PLAIN.issuperset(names)
        return False if plain else None

    def has(self, key: str) -> bool | None:
        """Whether a text is a key of a dict; None if that is not known."""
        return key in self.keys if self.kind == "dict" and self.whole else None


Shapes = tuple[Shape, ...]
"""What a value may be, in order; empty if that is not known."""


class Step(Record, frozen=True, kw_only=True):
    """A step of code into a value, or what it does with what is there.

    Into it lead ``item`` (``place``), ``key`` and ``attribute`` (``name``), ``maybe`` (a key that may be missing), ``element``
    (of an iteration), ``any`` (at a place that is not known), ``values`` and ``items`` of a dict, ``json`` (what a text
    says), and ``parts``, which stays where it is and asks for so many of them. ``listed`` and ``entries`` stand for what a
    state gives that holds several values. ``is`` and ``is not`` are passed by values of these ``names`` alone, ``with`` and
    ``without`` by those that have the key ``name`` or lack it. At the end, ``kind``, ``digits`` and ``many`` ask for a
    ``name``, for what is a number or may be read as one, and for what has elements; ``there`` for anything, and ``asked``
    looks at the value in another way.
    """

    kind: str
    name: str = ""
    place: int = 0
    names: tuple[str, ...] = ()

    def said_of(self, given: str) -> str:
        """Where it leads from there, as code would say it."""
        match self.kind:
            case "item":
                return f"{given}[{self.place}]"
            case "key":
                return f"{given}[{self.name!r}]"
            case "maybe":
                return f"{given}.get({self.name!r})"
            case "attribute":
                return f"{given}.{self.name}"
            case "json":
                return f"json.loads({given})"
            case "any":
                return f"{given}[…]"
            case "values" | "items":
                return f"{given}.{self.kind}()"
            case "element" | "many":
                return f"elements of {given}"
            case "parts":
                return f"the {self.place} parts of {given}"
            case "kind" | "digits":
                return f"{given} as {_with_article(self.name or 'number')}"
        return given


class Reading(Record, frozen=True, kw_only=True):
    """The steps by which code reads a value; at their end, it takes what is there as it is."""

    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        said = "value"
        for step in self.steps:
            said = step.said_of(said)
        return said

    @property
    def is_whole(self) -> bool:
        """Whether it takes all values as they are."""
        return {step.kind for step in self.steps} <= {"listed", "entries", "is", "is not", "asked"}

    @property
    def is_unguarded(self) -> bool:
        """Whether it takes what is at a place as it is, in all values that have this place."""
        return {step.kind for step in self.steps} <= _PLACES


Reads = tuple[Reading, ...]
"""All that code reads of the values of a state."""


def are_read_as(old: Shapes, new: Shapes) -> bool:
    """Whether code that puts one of ``new`` into a state reads what was put there before; True if either is not known."""
    return not (old and new) or all(any(one.is_read_as(other) for other in new) for one in old)


def unread(old: Shapes, reads: Reads | None, new: Shapes, before: Reads = ()) -> Reading | None:
    """The reading of code that puts in ``new``, and ``reads`` what is known of it, that does not find what it looks for in
    values of before; None if each one does. Code of ``before`` found what it looked for in its own values.
    """
    known = (Reading(),) if reads is None else reads
    asked = tuple(one for one in known if one.is_whole or one not in before)
    failing = (one for one in asked for shape in old if not _is_read(shape, one.steps, new))
    taken = (one for one in known if one in before and one.is_unguarded and not _is_taken(one.steps, old, new))
    passed = (one for one in asked if _passes_over(one, old, asked, new))
    return next(itertools.chain(failing, taken, passed), None)


def _is_taken(steps: tuple[Step, ...], old: Shapes, new: Shapes) -> bool:
    """Whether what is at a place, where it was before, may be taken for what is put there now."""
    return are_read_as(_there(old, steps), _there(new, steps))


def _passes_over(reading: Reading, old: Shapes, reads: Reads, new: Shapes) -> bool:
    """Whether code asks for a key that old dicts lack, and knows nothing of one that they have: it may be the same under
    another name, and the default takes the place of the old value.
    """
    for place, step in enumerate(reading.steps):
        if step.kind in ("maybe", "with"):
            before, now = (_there(shapes, reading.steps[:place]) for shapes in (old, new))
            named = {one.name for each in reads for one in each.steps} | {key for one in now for key in one.keys}
            dicts = [one for one in before if one.kind == "dict" and one.whole and step.name not in one.keys]
            if any(not named.issuperset(one.keys) for one in dicts):
                return True
    return False


def _there(shapes: Shapes, steps: Iterable[Step]) -> Shapes:
    """What steps lead to, as far as it is known."""
    for step in steps:
        if step.kind in ("listed", "entries"):
            shapes = (_several(step, shapes),)
        elif step.kind not in ("is", "is not", "with", "without"):
            shapes = any_of(one.at(step) or () for one in shapes)
    return shapes


def exchanged(old: Shapes, new: Shapes) -> tuple[str, str] | None:
    """Two places of a value, where what code puts at the first now is what it put at the second, and is not missing there by
    chance: something else that was put in before stands there now. None if nothing changed places.
    """
    for before in old:
        others = [
            one for one in new if (one.kind, one.name, len(one.parts)) == (before.kind, before.name, len(before.parts))
        ]
        if not any(one.at_places == before.at_places for one in others):
            for now in others:
                if (found := _moved(before.at_places, now.at_places)) is not None:
                    return found
        for now in others:
            for one, other in zip(before.parts, now.parts, strict=True):
                if (found := exchanged(one, other)) is not None:
                    return found
    return None


def _moved(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, str] | None:
    before = {source: place for place, source in old.items() if source}
    known = {source for source in new.values() if source}
    for place in old.keys() & new.keys():
        if old[place] != new[place] and new[place] in before and old[place] in known:
            return place, before[new[place]]
    return None


def _with_article(kind: str) -> str:
    return {"text": "text", "bytes": "bytes", "object": "an object"}.get(kind, f"a {kind}")


def _is_read(shape: Shape, steps: tuple[Step, ...], new: Shapes) -> bool:
    if not steps or steps[0].kind == "asked":
        return are_read_as((shape,), new)
    step, rest = steps[0], steps[1:]
    match step.kind:
        case "listed" | "entries":
            return _is_read(_several(step, (shape,)), rest, (_several(step, new),))
        case "is" | "is not":
            told = shape.is_one_of(step.names)
            return told is (step.kind == "is not") or _is_read(shape, rest, new)
        case "with" | "without":
            told = shape.has(step.name)
            return told is (step.kind == "without") or _is_read(shape, rest, new)
        case "kind":
            return shape.kind == step.name or shape in new
        case "digits":
            return shape.kind == "number" or shape.name == "decimal:Decimal" or shape in new
        case "many":
            return shape.kind != "number"
        case "there":
            return True
    found = shape.at(step)
    if found is None:
        return False
    later = _all_of([part for one in new if (part := one.at(step)) is not None])
    return all(_is_read(one, rest, later) for one in found)


def _several(step: Step, given: Shapes) -> Shape:
    entry: Shapes = (Shape(kind="tuple", parts=((), given)),)
    return Shape(kind="list", parts=(entry if step.kind == "entries" else given,))


def _all_of(parts: Iterable[Shapes]) -> Shapes:
    """What any of the parts may be; not known if one of them is not."""
    given = list(parts)
    return () if () in given else any_of(given)


def any_of(given: Iterable[Shapes]) -> Shapes:
    """What is known of several."""
    return tuple(sorted({shape for shapes in given for shape in shapes}, key=repr))


_CLASSES: Mapping[str, tuple[type, ...]] = {
    "number": (int, float),
    "text": (str,),
    "bytes": (bytes,),
    **{one.__name__: (one,) for one in (tuple, list, set, dict)},
}
_LIBRARY: Mapping[str, type] = {
    f"{one.__module__}:{one.__name__}": one
    for one in (
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal),
        *(collections.deque, collections.Counter, collections.defaultdict, collections.OrderedDict),
    )
}
"""Classes of Python's own whose attributes are known."""
_PLACES = frozenset(
    {"item", "key", "maybe", "attribute", "element", "any", "values", "items", "json", "listed", "entries"}
)
_PLAIN = frozenset({*_CLASSES, "row"})
"""The kinds that are no superclass of one another."""
_OF_ROWS = frozenset(
    {"as_dict", "get_row_kind", "set_row_kind", "set_field_names", "get_fields_by_names", "_fields", "_values"}
)
