"""Converts values of Flink's serializers by a function of the user's: reads its arguments here, and writes its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.entry_conversion import Layouts, Rewrite, one_by_one
from compat.state.flink.forms import Convert, Form, Layout, Transcode, Unconvertible, bytes_of
from compat.state.flink.header_parts import StateForm
from compat.state.flink.headers import KIND, VALUES, StateMeta
from compat.state.flink.python_functions import OfSerialized
from compat.state.flink.python_states import Apply, Array, Item
from compat.state.flink.snapshots import out_of_header
from compat.state.flink.transcoding import Fields, SerializerConversion


class FunctionConversion(Struct, frozen=True):
    """The values of a state as a function makes them, of lists and maps one by one, in the form of another conversion.

    ``through`` starts the function for serializers.
    """

    inner: SerializerConversion
    through: Callable[[OfSerialized], Apply]

    @property
    def form(self) -> StateForm:
        """The parts of the state's header that change."""
        return self.inner.form

    @property
    def serializer(self) -> bytes:
        """The snapshot of NEW's serializer."""
        return self.inner.serializer

    def rewriter(self, meta: StateMeta, serializer: bytes, layout: Layouts) -> Rewrite:
        """The function that rewrites the entries of a keyed state. Raises Unconvertible."""
        return one_by_one(self.converter(meta, serializer), self.inner.map_keys(meta), layout)

    def converter(self, meta: StateMeta, serializer: bytes) -> Convert:
        """The function that rewrites values. Raises Unconvertible."""
        old, kind = meta.serializer(VALUES), meta.option(KIND)
        if old is None:
            raise Unconvertible("a state without a serializer")
        apply = self.through(
            OfSerialized(out_of_header(serializer), self.inner.serializer, kind, self.inner.options.get(KIND, kind))
        )
        met: dict[bytes, bytes] = {}
        look, write = (self.inner.joined(meta, old, join) for join in (_noted(met), _found(met)))

        def convert(values: Sequence[bytes]) -> list[bytes]:
            met.clear()
            for value in values:
                look(value)
            made = apply([Item(None, (Array(value, b""),)) for value in met])
            met.update(zip(met, (item.arrays[0].data for (item,) in made), strict=True))
            return list(map(write, values))

        return convert


def _noted(met: dict[bytes, bytes]) -> Callable[[Form, Form, Fields], Transcode]:
    """What passes over values and keeps each that it meets."""

    def join(old: Form, new: Form, fields: Fields) -> Transcode:
        if Layout.ROW_DATA in (old.layout, new.layout):
            raise Unconvertible("rows of SQL do not go through a function: say what happens to their fields")

        def transcode(reader: ByteReader) -> bytes:
            data = bytes_of(old, reader)
            return met.setdefault(data, b"")

        return transcode

    return join


def _found(met: dict[bytes, bytes]) -> Callable[[Form, Form, Fields], Transcode]:
    """What gives for each value what has become of it."""
    return lambda old, new, fields: lambda reader: met[bytes_of(old, reader)]
