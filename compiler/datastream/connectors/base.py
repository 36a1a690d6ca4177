"""The base of all connectors. Flink: ``pyflink.datastream.connectors.base``.

A source or sink only holds the settings that the program gave it. It needs no jar: graphs are made from the object itself, and
a runtime that knows the connector reads its settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar

from compat.compiler.datastream.functions import JavaFunctionWrapper
from compat.compiler.errors import illegal_argument
from compat.compiler.transformations.kinds import SinkStep, SinkTopology
from compat.compiler.transformations.operators import SinkCommitter, SinkWriter
from compat.state.types import TypeInformation, Types

__all__ = [
    "Builder",
    "DeliveryGuarantee",
    "Sink",
    "Source",
    "StreamTransformer",
    "SupportsPreprocessing",
    "committer",
    "writer",
]

_SECRETS = ("password", "secret", "token", "auth_params", "jaas")
_NOTHING: Mapping[str, Any] = MappingProxyType({})
B = TypeVar("B", bound="Builder")


class DeliveryGuarantee(Enum):
    """The delivery guarantee of a sink for its records (Flink: ``DeliveryGuarantee``)."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class _Described(JavaFunctionWrapper):
    """A connector's name and its settings. Equal when class and settings are."""

    connector = "java"

    def __init__(self, described: Any = None, settings: Mapping[str, Any] = _NOTHING) -> None:
        super().__init__(described)
        self.settings: Mapping[str, Any] = MappingProxyType(dict(settings))

    def describe(self) -> dict[str, Any]:
        """Class, connector and settings, for people and for plans; secrets are masked."""
        name = self._j_function if isinstance(self._j_function, str) else type(self).__name__
        return {"class": name, "connector": self.connector, "settings": _shown(self.settings)}

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in _shown(self.settings).items())
        return f"{type(self).__name__}({settings})"


def _shown(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with secrets masked, also in options inside."""
    shown: dict[str, Any] = {}
    for key, value in settings.items():
        if any(secret in str(key).lower() for secret in _SECRETS):
            shown[key] = "***"
        elif isinstance(value, Mapping):
            shown[key] = _shown(value)
        else:
            shown[key] = value
    return shown


class Source(_Described):
    """A source of the new kind (Flink: ``Source``). ``bounded`` tells whether it ever ends.

    Made directly, it stands for a Java source of which only the name is known.
    """

    def __init__(
        self,
        source: Any = None,
        *,
        bounded: bool = False,
        produced_type: TypeInformation | None = None,
        settings: Mapping[str, Any] = _NOTHING,
    ) -> None:
        super().__init__(source, settings)
        self.bounded = bounded
        self._produced_type = produced_type

    def get_produced_type(self) -> TypeInformation:
        """The type of the records, where the program gives none."""
        return Types.PICKLED_BYTE_ARRAY() if self._produced_type is None else self._produced_type

    def describe(self) -> dict[str, Any]:
        """The same for a source, with whether it is bounded."""
        return super().describe() | {"bounded": self.bounded}


class Sink(_Described):
    """A sink of the second kind (Flink: ``Sink``).

    Made directly, it stands for a Java sink of which only the name is known; it then has a writer only.
    """

    def __init__(self, sink: Any = None, *, settings: Mapping[str, Any] = _NOTHING) -> None:
        super().__init__(sink, settings)

    def topology(self) -> SinkTopology:
        """The operators that the sink is made of."""
        return SinkTopology(writer=writer(self))


def writer(sink: Sink) -> SinkStep:
    """The operator that writes records."""
    return SinkStep(
        name="Writer",
        operator=SinkWriter(function=sink),
    )


def committer(sink: Sink) -> SinkStep:
    """The operator that publishes the writers' output after a checkpoint."""
    return SinkStep(
        name="Committer",
        operator=SinkCommitter(function=sink),
    )


class StreamTransformer(ABC):
    """Changes the stream before a sink."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """The stream that the sink reads instead of ``ds``."""


class SupportsPreprocessing(ABC):
    """A sink that may change its stream."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """The function that changes the stream before the sink, or None."""


class Builder:
    """Collects settings, call by call, and reports missing ones at the end."""

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {}

    def _set(self: B, **settings: Any) -> B:
        self._settings.update(settings)
        return self

    def _put(self: B, into: str, options: Mapping[Any, Any]) -> B:
        """Add options to a setting that is a mapping."""
        self._settings.setdefault(into, {}).update(options)
        return self

    def _require(self, what: str, **calls: str) -> None:
        """Refuse to build ``what`` unless each named setting was made; the value is the call that makes it."""
        for setting, call in calls.items():
            if self._settings.get(setting) is None:
                raise illegal_argument(f"{what} cannot be built: {setting} is not set. Call {call} on the builder.")
