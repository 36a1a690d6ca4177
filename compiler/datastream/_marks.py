"""Members that call a function when a program names them, called or not."""

from __future__ import annotations

from typing import Any


class Marked:
    """Stands for a method or value of a class, and gives it to whoever names it."""

    def __init__(self, member: Any) -> None:
        self.__wrapped__ = member
        self.__doc__ = getattr(member, "__doc__", None)
        self._name = ""

    @property
    def __isabstractmethod__(self) -> bool:
        return getattr(self.__wrapped__, "__isabstractmethod__", False)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        bind = getattr(self.__wrapped__, "__get__", None)
        return self.__wrapped__ if bind is None else bind(instance, owner)
