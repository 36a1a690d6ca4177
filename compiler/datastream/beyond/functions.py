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
        """The program's registered files: ``get_file(name)`` gives the path of one.

        Flink's Java API has it; PyFlink registers such files, and gives functions no way to them.
        """
