"""What a program read of the world in which it was built and nobody told: its arguments, and variables of the environment."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import SupportsIndex, overload

from compat.compiler.own_code import is_library, is_our_file
from compat.state.model.job import Assumed

_BETWEEN = ("os.py", "_collections_abc.py")
"""The modules through which ``os.environ.get`` and ``os.getenv`` go."""


class World:
    """Notes what the program's own code reads; what its libraries read by themselves is no matter of its own.

    ``arguments`` and ``environment`` are what the caller gave: what is told needs no assumption.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._read: dict[Assumed, None] = {}
        self._arguments_told = bool(arguments)
        self._environment = environment
        self._missed: dict[str, None] = {}

    @property
    def read(self) -> tuple[Assumed, ...]:
        """What was read so far, in that order, each once."""
        return tuple(self._read)

    def watch_environment(self) -> None:
        """Note each variable from now on."""
        noted, given, missed = self._read, self._environment, self._missed

        class Watched(os._Environ):  # type: ignore[type-arg]
            def __getitem__(self, key: str) -> str:
                if key not in given and _is_the_programs():
                    noted[Assumed(what="variable", name=str(key))] = None
                return str(super().__getitem__(key))

            def get(self, key: str, default: object = None) -> object:
                if default is None and key not in self and _is_the_programs():
                    missed[str(key)] = None
                return super().get(key, default)

        os.environ.__class__ = Watched

    def missed(self, message: str) -> str | None:
        """The missing variable that the program asked for and that caused a failure, by its message; None if there is none.

        The program tells of it, or has None in its place, where it is the only one.
        """
        told = [name for name in self._missed if re.search(rf"\b{re.escape(name)}\b", message)]
        if not told and len(self._missed) == 1 and "None" in message:
            told = list(self._missed)
        return told[0] if told else None

    def argv(self, values: list[str]) -> list[str]:
        """What is to stand in ``sys.argv``."""
        return values if self._arguments_told else _Arguments(values, self._read)


class _Arguments(list[str]):
    """The arguments of a program that was given none; the first value is its own path."""

    def __init__(self, values: list[str], noted: dict[Assumed, None]) -> None:
        super().__init__(values)
        self._noted = noted

    def _note(self) -> None:
        self._noted[Assumed(what="arguments")] = None

    @overload
    def __getitem__(self, place: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> str | list[str]:
        if place != 0:
            self._note()
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[str]:
        self._note()
        return super().__iter__()

    def __len__(self) -> int:
        self._note()
        return super().__len__()


def _is_the_programs() -> bool:
    """Whether the program's own code asked, by itself or through the functions of ``os``."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    path = frame.f_code.co_filename
    return not (path.startswith("<frozen") or is_our_file(path) or is_library(path))


def _is_between(path: str) -> bool:
    return path in (__file__, "<frozen os>", "<frozen _collections_abc>") or (
        is_library(path) and path.endswith(_BETWEEN)
    )
