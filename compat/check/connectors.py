"""The groundwork of rules about connectors: whether two of them write their state in one form."""

from __future__ import annotations

from compat.plan.connectors import KafkaSink, KafkaSource, OtherSink, OtherSource
from compat.plan.facts import Operator

_COMMITTER = "sink_committer"


def other_form(old: Operator, new: Operator) -> tuple[str, str] | None:
    """The names of two connectors of which the second does not read the first one's state; None where that is not known.

    Sources in Java are told apart by the serializers that they name, and not by their classes; in Python by their classes.
    """
    before, after = _form(old), _form(new)
    if before is None or after is None or before == after:
        return None
    return _name(old), _name(new)


def other_versions(old: Operator, new: Operator) -> tuple[str, ...]:
    """Sentences on what two connectors of one form wrote and read differently: the version of a serializer, or its code."""
    match old.connector, new.connector:
        case (OtherSource(forms=before), OtherSource(forms=after)) | (OtherSink(forms=before), OtherSink(forms=after)):
            return tuple(
                f"{one.class_name.rpartition('.')[2]} wrote version {one.version} and is of version {other.version}."
                if one.version != other.version
                else f"The code of {other.class_name.rpartition('.')[2]} is another one, of the same version {other.version}."
                for one, other in zip(before, after, strict=False)
                if one.class_name == other.class_name and (one.version, one.digest) != (other.version, other.digest)
            )
    return ()


def _form(operator: Operator) -> object | None:
    """What tells the form of a connector's state, to be compared."""
    match operator.connector:
        case OtherSource(split_serializer=splits, enumerator_serializer=enumerator):
            return splits, enumerator
        case OtherSink(committable_serializer=form) if operator.kind == _COMMITTER:
            return form
        case OtherSink(writer_serializer=form):
            return form
        case KafkaSource() | KafkaSink() as kafka:
            return type(kafka).__name__
    return operator.detail.get("class")


def _name(operator: Operator) -> str:
    match operator.connector:
        case OtherSource(class_name=name) | OtherSink(class_name=name):
            return name.rpartition(".")[2]
        case KafkaSource() | KafkaSink() as kafka:
            return type(kafka).__name__
    return str(operator.detail.get("class"))
