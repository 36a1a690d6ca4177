"""One translator per kind of transformation, found through a map. Flink: ``TransformationTranslator``."""

from __future__ import annotations

from typing import Any

from compat.compiler.streamgraph.translators import cache, iterations, operators, sinks, sources, virtual
from compat.compiler.transformations import kinds

TRANSLATORS: dict[type[kinds.Transformation], Any] = {
    kinds.Source: sources.translate_source,
    kinds.LegacySource: sources.translate_legacy_source,
    kinds.OneInputTransformation: operators.translate_one_input,
    kinds.ReduceTransformation: operators.translate_reduce,
    kinds.TimestampsAndWatermarks: operators.translate_timestamps,
    kinds.TwoInputTransformation: operators.translate_two_input,
    kinds.MultipleInputTransformation: operators.translate_multiple_input,
    kinds.KeyedMultipleInputTransformation: operators.translate_multiple_input,
    kinds.BroadcastStateTransformation: operators.translate_broadcast_state,
    kinds.KeyedBroadcastStateTransformation: operators.translate_broadcast_state,
    kinds.LegacySink: sinks.translate_legacy_sink,
    kinds.Sink: sinks.translate_sink,
    sinks.GlobalCommitter: sinks.translate_global_committer,
    kinds.CacheTransformation: cache.translate_cache,
    kinds.Union: virtual.translate_union,
    kinds.Partition: virtual.translate_partition,
    kinds.SideOutput: virtual.translate_side_output,
    kinds.Feedback: iterations.translate_feedback,
    kinds.CoFeedback: iterations.translate_co_feedback,
}
