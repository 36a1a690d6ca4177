"""Helpers of the common classes. Flink: ``pyflink.common.utils``."""

from __future__ import annotations

from typing import Any, TypeVar

Self = TypeVar("Self", bound="JavaObject")


class JavaObject:
    """A description, by its own fields, of something for which PyFlink would hold a Java object."""

    __slots__ = ()

    def get_java_object(self: Self) -> Self:
        """This object: it is the description."""
        return self


class JavaObjectWrapper:
    """A holder of any description of an object, where PyFlink would hold a Java object."""

    def __init__(self, j_object: Any) -> None:
        self._j_object = j_object

    def get_java_object(self) -> Any:
        return self._j_object
