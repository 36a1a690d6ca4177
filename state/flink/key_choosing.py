"""Chooses the keys to drop: by their values, by their fields, or by a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Form, Layout, Unconvertible, form_of
from compat.state.flink.python_states import Apply, Array, Item
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.transcoding import Constant

Choose = Callable[[Sequence[bytes]], list[bool]]
"""Tells for each key whether it is chosen."""


def items_of(keys: Sequence[bytes]) -> list[Item]:
    """Keys in the form that functions get."""
    return [Item(None, (Array(key, b""),)) for key in keys]


class KeysEqual(Struct, frozen=True):
    """The keys that are one of some ``values``, or whose ``fields`` are all as said. The only field of a row counts
    as the key: keys of PyFlink are such rows."""

    values: tuple[Constant, ...] = ()
    fields: Mapping[str, Constant] = {}

    def chooser(self, old: SerializerSnapshot) -> Choose:
        """The function that chooses keys. Raises Unconvertible for values that no such key has."""
        form = form_of(old)
        alone = form.layout in (Layout.ROW, Layout.ROW_OF_CHANGES) and len(form.parts) == 1
        inner = form.parts[0] if alone else form
        values = [_read_back(inner, value) for value in self.values]
        fields = {name: _read_back(_field(inner, name), value) for name, value in self.fields.items()}

        def chosen(key: bytes) -> bool:
            read = form.read(ByteReader(key, "a key"))
            value = read[0] if alone else read
            found = dict(zip(inner.names, value, strict=True)) if fields else {}
            return value in values or (bool(fields) and all(found[name] == one for name, one in fields.items()))

        return lambda keys: list(map(chosen, keys))


class KeysChosen(Struct, frozen=True):
    """The keys that a function chooses."""

    apply: Apply

    def chooser(self, old: SerializerSnapshot) -> Choose:
        """The function that chooses keys."""
        return lambda keys: [bool(found) for found in self.apply(items_of(keys))]


def _field(form: Form, name: str) -> Form:
    if name not in form.names:
        raise Unconvertible(f"{form.called} has no field {name}; it has {', '.join(form.names) or 'none'}")
    return form.parts[form.names.index(name)]


def _read_back(form: Form, value: Constant) -> object:
    """A value as it is read from keys: it has to be one of theirs."""
    if value is None:
        return None
    if form.write is None:
        raise Unconvertible(f"{form.called} has no values that a recipe can name: name fields, or a function")
    return form.read(ByteReader(form.write(value), "a value"))
