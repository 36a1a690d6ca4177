"""Serializers that a program writes itself. Flink: ``pyflink.common.serializer``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from io import BytesIO

T = TypeVar("T")

__all__ = ["TypeSerializer"]


class TypeSerializer(ABC, Generic[T]):
    """Turns values of one type into bytes and back (Flink: ``TypeSerializer``). Equal when class and fields are."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write a value to the stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read a value from the stream."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


void = b""


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """The serializer of the namespace of state outside of windows: no bytes at all."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        return

    def deserialize(self, stream: BytesIO) -> bytes:
        return void
