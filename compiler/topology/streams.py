"""The streams that entries of a topology make, and the effects of attributes on the transformation of a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from compat.compiler.errors import illegal_argument, malformed_uid_hash, unsupported
from compat.compiler.topology.parse import Entry
from compat.compiler.transformations.kinds import LegacySource, PhysicalTransformation, Sink, Transformation
from compat.compiler.transformations.operators import ChainingStrategy
from compat.compiler.transformations.pipeline import Pipeline
from compat.state.key_groups import HIGHEST_MAX_PARALLELISM

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
STRATEGIES = {
    "disable": ChainingStrategy.NEVER,
    "new_chain": ChainingStrategy.HEAD,
    "always": ChainingStrategy.ALWAYS,
    "never": ChainingStrategy.NEVER,
    "head": ChainingStrategy.HEAD,
    "head_with_sources": ChainingStrategy.HEAD_WITH_SOURCES,
}


class Stream(Struct, frozen=True):
    """A stream that an entry made: its transformation, the type of its records, whether it is keyed, and its key's type
    where the topology tells it."""

    id: int
    type: str = "Long"
    keyed: bool = False
    key_type: str | None = None
    parallel: bool = True


def apply_attributes(entry: Entry, stream: Stream, pipeline: Pipeline) -> None:
    """Apply an entry's attributes in the order in which a program would call them."""
    parallel = stream.parallel
    for field, change in _ATTRIBUTES.items():
        value = entry.get(field)
        if value is None or (field == "forceNonParallel" and not value):
            continue
        transformation = pipeline[stream.id]
        if field == "forceNonParallel":
            parallel = False
        changes = change(transformation, value, parallel)
        if changes:
            pipeline.update(stream.id, **changes)


def check_user_hash(value: str) -> str:
    """The hash. Raises Flink's refusal unless it has 32 hex digits."""
    if len(value) != 32 or not _HEX_DIGITS.issuperset(value):
        raise malformed_uid_hash(value)
    return value


def check_parallelism(value: int, parallel: bool) -> int:
    """The parallelism, or Flink's refusal (``OperatorValidationUtils``)."""
    if value < 1 and value != -1:
        raise illegal_argument(
            "The parallelism of an operator must be at least 1, or ExecutionConfig.PARALLELISM_DEFAULT "
            "(use system default)."
        )
    if not parallel and value not in (1, -1):
        raise illegal_argument("The parallelism of non parallel operator must be 1.")
    return value


def check_max_parallelism(value: int, parallel: bool) -> int:
    """The max parallelism, or Flink's refusal (``OperatorValidationUtils``)."""
    if value <= 0:
        raise illegal_argument("The maximum parallelism must be greater than 0.")
    if not parallel and value != 1:
        raise illegal_argument("The maximum parallelism of non parallel operator must be 1.")
    if value > HIGHEST_MAX_PARALLELISM:
        raise illegal_argument(f"Maximum parallelism must be between 1 and {HIGHEST_MAX_PARALLELISM}. Found: {value}")
    return value


def _user_hash(transformation: Transformation, value: str, parallel: bool) -> dict[str, Any]:
    if isinstance(transformation, Sink):
        raise unsupported("Cannot set a custom UID hash on a non-legacy sink")
    return {"user_hash": check_user_hash(value)}


def _parallelism(transformation: Transformation, value: int, parallel: bool) -> dict[str, Any]:
    if isinstance(transformation, LegacySource):
        parallel = transformation.parallel
    value = check_parallelism(value, parallel)
    return {"parallelism": value, "parallelism_configured": value != -1}


def _buffer_timeout(transformation: Transformation, value: int, parallel: bool) -> dict[str, Any]:
    if value < -1:
        raise illegal_argument("timeout must be >= -1")
    return {"buffer_timeout": value}


def _chaining(transformation: Transformation, value: str, parallel: bool) -> dict[str, Any]:
    if value not in STRATEGIES:
        raise illegal_argument(
            f"Unknown chaining {value!r}. Known: {', '.join(sorted(STRATEGIES))}.",
        )
    if isinstance(transformation, PhysicalTransformation | Sink):
        return {"chaining": STRATEGIES[value]}
    return {}


_ATTRIBUTES: dict[str, Callable[[Transformation, Any, bool], dict[str, Any]]] = {
    "name": lambda _, value, __: {"name": value},
    "description": lambda _, value, __: {"description": value},
    "uid": lambda _, value, __: {"uid": value},
    "uidHash": _user_hash,
    "parallelism": _parallelism,
    "maxParallelism": lambda _, value, parallel: {"max_parallelism": check_max_parallelism(value, parallel)},
    "forceNonParallel": lambda *_: {
        "parallelism": 1,
        "parallelism_configured": True,
        "max_parallelism": 1,
    },
    "slotSharingGroup": lambda _, value, __: {"slot_sharing_group": value},
    "coLocationGroup": lambda _, value, __: {"co_location_group": value},
    "bufferTimeout": _buffer_timeout,
    "chaining": _chaining,
}
