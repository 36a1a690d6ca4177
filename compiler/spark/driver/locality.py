"""The placement of tasks from epoch to epoch: on their former machine, which has their state and open functions.

Spark places tasks by the data that they read, and Python has no call for a preferred place. So each stage also reads an RDD
with one element for each partition, which stays in the memory of the executor that first computed it. Spark runs a task on that
machine if a slot there is free. When an executor is lost, its partitions are computed, and kept, by the next tasks that
read them. Flink: ``preferred locations`` and ``AllocationID`` of local recovery.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Places:
    """The kept RDDs of a job, by their number of partitions; ``partition_function`` is used by all of its shuffles."""

    def __init__(self, context: Any, partition_function: Callable[[int], int]) -> None:
        self._context, self._function = context, partition_function
        self._anchors: dict[int, Any] = {}

    def kept(self, shuffled: Any) -> Any:
        """The RDD of pairs that was just shuffled, with a pair without a value in each partition, and with a place for each.

        The union of RDDs with the same partitioner has the same partitions, where those are (``PartitionerAwareUnionRDD``).
        """
        from pyspark import RDD

        count = shuffled.getNumPartitions()
        if count not in self._anchors:
            marks = self._context.parallelize([(number, None) for number in range(count)], count)
            anchor = _of_pairs(marks.partitionBy(count, self._function))
            self._anchors[count] = anchor.persist(
                self._context._jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
            )
        union = _of_pairs(shuffled).union(self._anchors[count])
        pairs = self._context._jvm.org.apache.spark.api.java.JavaPairRDD.fromJavaRDD(union.toJavaRDD())
        values = self._context._jvm.PythonRDD.valueOfPair(pairs)
        return RDD(values, self._context, shuffled._jrdd_deserializer)

    def close(self) -> None:
        """Release all kept RDDs."""
        for anchor in self._anchors.values():
            with suppress(Exception):  # Spark may be gone
                anchor.unpersist(False)
        self._anchors.clear()


def _of_pairs(shuffled: Any) -> Any:
    """Scala's RDD of (partition, bytes) below PySpark's: the one that has the partitioner."""
    return shuffled._jrdd.rdd().dependencies().head().rdd()
