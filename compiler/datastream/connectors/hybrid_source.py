"""Several sources, one after the other. Flink: ``pyflink.datastream.connectors.hybrid_source``."""

from __future__ import annotations

from compat.compiler.datastream.connectors.base import Source
from compat.compiler.errors import illegal_argument

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(Source):
    """Reads the first source to its end, then the next (Flink: ``HybridSource``). All but the last are bounded."""

    connector = "hybrid"

    def __init__(self, sources: tuple[Source, ...]) -> None:
        super().__init__(
            bounded=sources[-1].bounded,
            produced_type=sources[0].get_produced_type(),
            settings={"sources": sources},
        )
        self.sources = sources

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Start with the source that is read first."""
        return HybridSourceBuilder(first_source)


class HybridSourceBuilder:
    """Collects the sources of a :class:`HybridSource`."""

    def __init__(self, first_source: Source) -> None:
        self._sources = [first_source]

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Read ``source`` after the ones before."""
        if not self._sources[-1].bounded:
            raise illegal_argument(
                f"All sources except the final source need to be bounded: {self._sources[-1]!r} never ends, "
                f"so {source!r} would never be read."
            )
        self._sources.append(source)
        return self

    def build(self) -> HybridSource:
        """The source."""
        return HybridSource(tuple(self._sources))
