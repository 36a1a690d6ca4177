"""Names of side outputs. Flink: ``OutputTag``."""

from __future__ import annotations

from typing import Any

from compat.compiler.datastream.common.typeinfo import RowTypeInfo, TypeInformation, Types

__all__ = ["OutputTag"]


class OutputTag:
    """The name of a side output and the type of its records; ``yield tag, value`` emits to it."""

    def __init__(self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | None = None) -> None:
        if not tag_id:
            raise ValueError("An OutputTag needs a tag_id that is not empty.")
        self.tag_id = tag_id
        if type_info is None:
            self.type_info: Any = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            self.type_info = RowTypeInfo(type_info)
        elif isinstance(type_info, TypeInformation):
            self.type_info = type_info
        else:
            raise TypeError(
                f"The type_info of an OutputTag is None, a list of types or a TypeInformation, "
                f"not {type(type_info).__name__}."
            )

    def get_java_output_tag(self) -> OutputTag:
        """The tag itself: there is no Java object behind it."""
        return self

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"
