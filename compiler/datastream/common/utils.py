"""Helpers of the common classes. Flink: ``pyflink.common.utils``."""

from __future__ import annotations

from typing import Any, TypeVar

Self = TypeVar("Self", bound="JavaObject")


class JavaObject:
    """Something that describes, by its own fields, what PyFlink would hold a Java object for."""

    __slots__ = ()

    def get_java_object(self: Self) -> Self:
        """This object: it is the description."""
        return self


class JavaObjectWrapper:
    """Holds what PyFlink would hold a Java object for; here it is any description of that object."""

    def __init__(self, j_object: Any) -> None:
        self._j_object = j_object

    def get_java_object(self) -> Any:
        return self._j_object
