"""Made-up values of states, written by the program's own serializers: another version has to read them."""

from __future__ import annotations

from enum import Enum

from compat.state.model.fields import Id, Record


class SampleOf(Enum):
    """The source of made-up values: a keyed state, operator state, a ``SimpleVersionedSerializer``, raw state."""

    KEYED = "keyed"
    OPERATOR = "operator"
    VERSIONED = "versioned"
    RAW = "raw"


class SampleValue(Record, frozen=True, kw_only=True):
    """A made-up value: what each of its fields holds as text, by path, once its own serializer has read it again.

    ``key`` are the fields of the key that it is kept for, as one text. ``whole`` is whether all of its fields were filled.
    """

    fields: dict[str, str]
    key: str = ""
    whole: bool = True


class Sample(Record, frozen=True, kw_only=True):
    """Made-up values of one state of an operator, in their written form.

    ``written`` is the ``_metadata`` of a savepoint with only this value. For raw state, and for a
    ``SimpleVersionedSerializer``, it is the bytes of the value. ``state`` is the state's name; for raw state the operator's
    field with the serializer or its type. ``serializer`` is the class of a ``SimpleVersionedSerializer``. ``classes`` is a
    digest of the code that writes the state: if NEW's digest is the same, the value need not be read.
    """

    operator: Id
    of: SampleOf
    state: str
    serializer: str = ""
    classes: str = ""
    values: tuple[SampleValue, ...]
    written: bytes
