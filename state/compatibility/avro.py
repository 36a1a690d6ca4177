"""Avro's own rules for reading with one schema what another one wrote. By the library ``avro``."""

from __future__ import annotations

from compat.state.compatibility.answers import SAME, Answer, Compatibility, incompatible


def resolve(old: str, new: str) -> Compatibility:
    """The compatibility of the schema ``new`` with records of ``old``: Flink's ``AvroSerializerSnapshot``."""
    if old == new:
        return SAME
    from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

    from compat.state.serializers.avro import parsed

    writer, reader = parsed(old), parsed(new)
    if writer == reader:
        return SAME
    checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
    found = checker.get_compatibility(reader, writer)
    if found.compatibility is SchemaCompatibilityType.compatible:
        return Compatibility(Answer.AFTER_MIGRATION, ("the Avro schema changed in a way that its rules resolve",))
    return incompatible(*(f"Avro: {message}" for message in sorted(found.messages)))


def same_form(old: str, new: str) -> bool:
    """True if two schemas write the same bytes: equal except for documentation, aliases, defaults and the like."""
    from compat.state.serializers.avro import parsed

    return old == new or parsed(old).canonical_form == parsed(new).canonical_form
