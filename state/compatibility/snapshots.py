"""The snapshot of a type's schema that is kept beside the state. Flink: ``TypeSerializerSnapshot``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from compat.state.compatibility.answers import Compatibility
from compat.state.compatibility.dialects import STORE
from compat.state.types import TypeInformation, from_json

FORMAT = 1


class SnapshotError(ValueError):
    """A snapshot of a type that cannot be read: of a later format, or damaged."""


class TypeSnapshot(Struct, frozen=True):
    """A type, as it was when state was written with it."""

    type_info: TypeInformation

    def to_json(self) -> dict[str, Any]:
        """The snapshot as plain JSON data; no code is needed to read it back."""
        return {"format": FORMAT, "schema": self.type_info.to_json()}

    @staticmethod
    def from_json(data: Any) -> TypeSnapshot:
        """The snapshot that :meth:`to_json` wrote. Raises SnapshotError."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise SnapshotError(f"The snapshot of a type has the format {FORMAT}; this is not one: {data!r}.")
        try:
            return TypeSnapshot(from_json(data.get("schema")))
        except (ValueError, RecursionError) as error:
            raise SnapshotError(f"The snapshot of a type cannot be read: {error}") from None

    def resolve(self, new: TypeInformation) -> Compatibility:
        """Whether the type can read what was written under this snapshot."""
        return STORE.resolve(self.type_info, new)


def snapshot_of(type_info: TypeInformation) -> TypeSnapshot:
    """The snapshot of a type."""
    return TypeSnapshot(type_info)
