"""Helpers of the DataStream API. Flink: ``pyflink.datastream.utils``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compat.state.types import TypeInformation

__all__ = ["ResultTypeQueryable", "create_hadoop_configuration", "create_java_properties"]


class ResultTypeQueryable(ABC):
    """Something that knows the type of the records it makes."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""


def create_hadoop_configuration(config: Any) -> dict[str, str]:
    """The options of a ``Configuration`` as text; there is no Hadoop object behind them."""
    return {} if config is None else dict(config.to_dict())


def create_java_properties(config: Any) -> dict[str, str]:
    """The options of a ``Configuration`` as text; there is no Java object behind them."""
    return {} if config is None else dict(config.to_dict())
