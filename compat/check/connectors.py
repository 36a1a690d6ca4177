"""Shared code of the rules about connectors: whether two of them write their state in the same format."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

from compat.check.context import Check
from compat.check.mapping import Pair
from compat.state.model.connectors import (
    NUMBERS_SPLITS,
    Connector,
    FileSource,
    KafkaSink,
    KafkaSource,
    OtherSink,
    OtherSource,
)
from compat.state.model.operators import Operator

C = TypeVar("C", bound=Connector)

_COMMITTER = "sink_committer"
_FILE_SOURCE = "org.apache.flink.connector.file.src.FileSource"
_PENDING = "org.apache.flink.connector.file.src.PendingSplitsCheckpointSerializer"
_FILES, _NUMBERS = "FileSource", "NumberSequenceSource"
_OF_NUMBERS = (_NUMBERS, "DataGeneratorSource")
_UNTOLD = "another"
"""The format of a source's state in a savepoint if it is none of the known ones."""
_READ_BY_US = (_FILES, _NUMBERS)


def other_form(old: Operator, new: Operator) -> tuple[str, str] | None:
    """The names of two connectors, the second of which cannot read the first one's state; None if that is unknown.

    Java sources are distinguished by their serializers, not their classes; Python sources by their classes.
    """
    before, after = _form(old), _form(new)
    if before is None or after is None or before == after:
        return None
    told = _are_told(before, after) and _are_told(after, before)
    return (_name(old), _name(new)) if told else None


def other_versions(old: Operator, new: Operator, read: Collection[str] | None = ()) -> tuple[str, ...]:
    """Sentences on how two connectors of one format write and read differently: the version of a serializer, or its code.

    Serializers that are known to have ``read`` the written values are left out; None means all of them.
    """
    if read is None:
        return ()
    match old.connector, new.connector:
        case (OtherSource(forms=before), OtherSource(forms=after)) | (OtherSink(forms=before), OtherSink(forms=after)):
            return tuple(
                f"{one.class_name.rpartition('.')[2]} wrote version {one.version} and is of version {other.version}."
                if one.version != other.version
                else f"The code of {other.class_name.rpartition('.')[2]} is another one, of the same version {other.version}."
                for one, other in zip(before, after, strict=False)
                if one.class_name == other.class_name
                and one.class_name not in read
                and (one.version, one.digest) != (other.version, other.digest)
            )
    return ()


def _form(operator: Operator) -> object | None:
    """The facts that identify the format of a connector's state."""
    match operator.connector:
        case FileSource():
            return _FILES
        case OtherSource(class_name=name) if name == _FILE_SOURCE:  # as older plans have it
            return _FILES
        case OtherSource(class_name=name, split_serializer=splits) if not name or splits == NUMBERS_SPLITS:
            return _NUMBERS if name else _UNTOLD
        case OtherSource(split_serializer=splits, enumerator_serializer=enumerator):
            return splits, enumerator
        case OtherSink(committable_serializer=form) if operator.kind == _COMMITTER:
            return form
        case OtherSink(writer_serializer=form):
            return form
        case KafkaSource() | KafkaSink() as kafka:
            return type(kafka).__name__
    known = operator.detail.get("class")
    return _NUMBERS if known in _OF_NUMBERS else known


def _are_told(one: object, other: object) -> bool:
    """False if one format may be the other: it is unknown, or that of files with the program's own splits."""
    if one == _UNTOLD:
        return other in _READ_BY_US
    return not (one == _FILES and isinstance(other, tuple) and other[1] == _PENDING)


def _name(operator: Operator) -> str:
    match operator.connector:
        case FileSource():
            return _FILES
        case OtherSource(class_name=name) if not name:
            return "source of another kind"
        case OtherSource(class_name=name) | OtherSink(class_name=name):
            return name.rpartition(".")[2]
        case KafkaSource() | KafkaSink() as kafka:
            return type(kafka).__name__
    return str(operator.detail.get("class"))


def restored(check: Check, kind: type[C]) -> Iterator[tuple[Pair, C, C]]:
    """The operators that get the state of their connector of this kind, with the connector before and after."""
    for pair in check.right_pairs:
        old, new = pair.old.connector, pair.new.connector
        if isinstance(old, kind) and isinstance(new, kind):
            yield pair, old, new
