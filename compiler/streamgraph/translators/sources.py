"""Sources. Flink: ``SourceTransformationTranslator``, ``LegacySourceTransformationTranslator``."""

from __future__ import annotations

from compat.compiler.streamgraph.graph import Task
from compat.compiler.streamgraph.translators.context import Context
from compat.compiler.transformations.kinds import LegacySource, Source


def translate_source(source: Source, context: Context) -> tuple[int, ...]:
    """Translate a source with an enumerator on the coordinator."""
    context.builder.sources.append(source.id)
    return context.add_operator(source, Task.SOURCE, name=f"Source: {source.name}")


def translate_legacy_source(source: LegacySource, context: Context) -> tuple[int, ...]:
    """Translate a ``SourceFunction``."""
    context.builder.sources.append(source.id)
    return context.add_operator(source, Task.LEGACY_SOURCE, name=f"Source: {source.name}")
