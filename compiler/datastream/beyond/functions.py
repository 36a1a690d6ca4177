"""Methods of functions that PyFlink lacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from compat.compiler.datastream.beyond.noting import beyond


class ContextBeyond(ABC):
    """The files of the program. Functions ask for them when they run: a check looks for the name in their code."""

    @beyond
    @abstractmethod
    def get_distributed_cache(self) -> Any:
        """Where the files are that the program registered: ``get_file(name)`` gives a path.

        Flink's Java API has it; PyFlink registers such files, and gives functions no way to them.
        """
