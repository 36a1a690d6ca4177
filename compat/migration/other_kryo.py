"""Converts Kryo's values in savepoints of Flink 1 to Flink 2, which has another Kryo."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from compat.plan.recorded_states import has_kryo
from compat.savepoint.operators import RequestError
from compat.state.flink import HeaderReader, Savepoint, read_states
from compat.state.flink.binary import ByteReader
from compat.state.flink.function_conversion import FunctionConversion
from compat.state.flink.header_parts import StateKey
from compat.state.flink.headers import KIND, NAMESPACE, QUEUE, VALUES, StateMeta
from compat.state.flink.metadata import of_other_kryo
from compat.state.flink.rewriting import Draft
from compat.state.flink.snapshots import read_versioned
from compat.state.flink.transcoding import SerializerConversion
from compat.state.flink.transfer import Transfer
from compat.state.flink.ttl import version_of
from compat.state.flink.upgrading import of_flink_2


def told_apart(draft: Draft, transfer: Transfer, flink: str) -> Draft:
    """The draft in a format of Flink 2, where the Kryo of a version of Flink writes some of what that of Flink 1 wrote.

    Only the format shows which Kryo wrote the values. Raises RequestError if some would stay unconverted.
    """
    version = version_of(flink)
    crossing = version is not None and of_other_kryo(draft.savepoint.format_version, version)
    if not crossing or not any(map(_is_kryos, _serializers(transfer))):
        return draft
    for key, place in _written_by_kryo(draft.savepoint, transfer.dropped):
        if not _is_written_anew(key, place, transfer):
            what = f"{place} of the state {key.name!r}" if key.name else place
            raise RequestError(
                f"Kryo of Flink 1 wrote {what} of operator {key.operator}, too: convert all that it wrote, or drop it."
            )
    return of_flink_2(draft)


def _is_written_anew(key: StateKey, place: _Place, transfer: Transfer) -> bool:
    """Whether what Kryo wrote goes, or is converted: keys in maps and namespaces are not, by any step."""
    if key.operator in transfer.dropped or (key.name and transfer.becomes(key) is None):
        return True
    if place is _Place.KEYS:
        change = transfer.keys.get(key.operator)
        return change is not None and change.conversion is not None
    return place is _Place.VALUES and key in transfer.converted


def _serializers(transfer: Transfer) -> Iterator[bytes]:
    """What NEW's serializers are written as."""
    for conversion in transfer.converted.values():
        if isinstance(conversion, SerializerConversion | FunctionConversion):
            yield conversion.serializer
    for change in transfer.keys.values():
        if change.conversion is not None:
            yield change.conversion.serializer


def _is_kryos(snapshot: bytes) -> bool:
    return has_kryo(read_versioned(ByteReader(snapshot, "NEW's serializer"), 0))


class _Place(StrEnum):
    """Where Kryo wrote."""

    KEYS = "the keys"
    VALUES = "values"
    MAP_KEYS = "keys in a map"
    NAMESPACES = "namespaces"


def _written_by_kryo(savepoint: Savepoint, dropped: frozenset[str]) -> Iterator[tuple[StateKey, _Place]]:
    """What Kryo wrote, state by state; without a name the keys of an operator. Raises RequestError if that is not known."""
    headers = HeaderReader(savepoint)
    for operator in savepoint.operators:
        found = read_states(savepoint, operator, headers)
        if found.unreadable and operator.id not in dropped:
            raise RequestError(f"What Kryo wrote of operator {operator.id} is not known: {found.unreadable[0]}.")
        if has_kryo(found.key_serializer):
            yield StateKey(operator.id, "", True), _Place.KEYS
        for meta in (*found.keyed, *found.lists, *found.broadcast):
            if meta.type != QUEUE:  # timers go with the keys
                key = StateKey(operator.id, meta.name, meta in found.keyed)
                yield from ((key, place) for place in _places(meta))


def _places(meta: StateMeta) -> Iterator[_Place]:
    for name, serializer in meta.serializers:
        is_map = name == VALUES and meta.option(KIND) == "MAP"
        if is_map and has_kryo(serializer.nested[0]):
            yield _Place.MAP_KEYS
        if has_kryo(serializer.nested[1] if is_map else serializer):
            yield _Place.VALUES if name == VALUES else _Place.NAMESPACES if name == NAMESPACE else _Place.MAP_KEYS
