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

    ``written`` is the ``_metadata`` of a savepoint that holds nothing else; of raw state, and of what a
    ``SimpleVersionedSerializer`` writes, the bytes of the one value there is. ``state`` is the state's name; of raw state the
    field of the operator that holds the serializer or its type. ``serializer`` is the class of a ``SimpleVersionedSerializer``.
    ``classes`` is a digest of how the state is written: where NEW's is the same, nobody has to read it.
    """

    operator: Id
    of: SampleOf
    state: str
    serializer: str = ""
    classes: str = ""
    values: tuple[SampleValue, ...]
    written: bytes
