"""The JSON schema of a plan, made from its model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import fields

from compat.state.model.fields import Record, Written
from compat.state.model.job import Plan, Refused

Json = dict[str, Any]


def schema() -> Json:
    """The schema of the output of ``compat plan --format json``: all fields that are always written are required."""
    definitions = components("#/$defs/{name}")
    for record in _records(Record):
        definition = definitions.get(record.__name__)
        if definition is not None:
            definition["required"] = [
                field.encode_name for field in fields(record) if field.required or _is_written(field)
            ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plan of compat plan",
        "description": "One job in four layers, or why Flink refuses it.",
        "anyOf": [{"$ref": "#/$defs/Plan"}, {"$ref": "#/$defs/Refused"}],
        "$defs": definitions,
    }


def components(reference: str) -> dict[str, Json]:
    """The schema of plans as input, by the names of its records; ``reference`` gives the reference to another one."""
    _, definitions = msgspec.json.schema_components((Plan, Refused), ref_template=reference)
    return definitions


def _is_written(field: msgspec.structs.FieldInfo) -> bool:
    return isinstance(field.default_factory, Written)


def _records(base: type[Record]) -> Iterator[type[Record]]:
    for record in base.__subclasses__():
        yield record
        yield from _records(record)
