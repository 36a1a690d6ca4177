"""States of generic Avro records whose schema changed, which Flink converts by the places of fields, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import kept_snapshots

if TYPE_CHECKING:
    from compat.state.flink.snapshots import SerializerSnapshot

_GENERIC = "org.apache.avro.generic.GenericRecord"
_ON_HEAP = "hashmap"
_HEAP = "On the heap, old records keep the old schema: they have no value for a new field, and another one stands in its place."
_ROCKSDB = "RocksDB fails when it converts them, or puts values into wrong fields."


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        for state, before, after in kept_snapshots(pair):
            reasons = tuple(_between(before, after))
            if not reasons:
                continue
            on_heap = check.backend == _ON_HEAP
            yield check.finding(
                RULE,
                f"the state {state.name!r} of {pair.new.label} holds generic Avro records of another schema",
                level=Level.WARNING if on_heap else Level.ERROR,
                consequence=_HEAP if on_heap else f"{_HEAP} {_ROCKSDB}",
                reason=" ".join(reasons),
                old=pair.old,
                new=pair.new,
                state=state.name,
                fixes=(
                    Fix(
                        text="Use a specific record, made from the schema, whose values are converted by name; or keep the "
                        "fields in their places, and leave out only the last ones."
                    ),
                ),
                silent=True,
            )


def _between(old: SerializerSnapshot, new: SerializerSnapshot) -> Iterator[str]:
    before, after = dict(old.details), dict(new.details)
    if before.get("serialized_class") == after.get("serialized_class") == _GENERIC:
        try:
            yield from _schemas(json.loads(str(before["schema"])), json.loads(str(after["schema"])))
        except (KeyError, ValueError):
            return
    for one, other in zip(old.nested, new.nested, strict=False):
        yield from _between(one, other)


def _schemas(old: Any, new: Any) -> Iterator[str]:
    """What stands at another place in a record: a converted value is written by the places that fields have in the new one."""
    if not (isinstance(old, dict) and isinstance(new, dict) and old.get("type") == new.get("type") == "record"):
        return
    before, after = old.get("fields", []), new.get("fields", [])
    for place, field in enumerate(after):
        if place >= len(before):
            yield f"The field {field['name']} of {new.get('name')} is new."
        elif before[place]["name"] != field["name"]:
            yield f"The field {field['name']} of {new.get('name')} is where {before[place]['name']} was."
        else:
            yield from _schemas(before[place]["type"], field["type"])


RULE = Rule(
    id="CMP422",
    name="avro-generic-evolved",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if NEW's settings put state on the heap, which gives old records unchanged",
    fate=Fate.LOST,
    summary="The schema of generic Avro records in a state has fields in other places.",
    why="Flink reads a generic record with the schema that it was written with, and writes it with the new one, which takes "
    "values by the places of fields. Records of a class made from the schema are converted by name.",
    old='{"name": "Order", "type": "record", "fields": [{"name": "id", "type": "long"}]}',
    new='{"name": "Order", "type": "record", "fields": [{"name": "shop", "type": "long"}, {"name": "id", "type": "long"}]}',
    fix="Make a class from the schema (a specific record), or put new records into a state of another name.",
    find=_find,
)
