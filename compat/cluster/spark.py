"""The process that keeps a cluster's Spark: it outlives dispatchers, and ends with the JVM."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from compat.compiler.spark.driver.shared import SharedSpark, SparkPlace

_SECONDS = 0.2


def main(folder: str, master: str) -> None:
    """Start Spark for the cluster in a folder, unless it has one, and keep it until it ends or this process is asked to.

    Its options are read from standard input.
    """
    options: dict[str, str] = json.load(sys.stdin)
    place = SparkPlace(folder)
    held = place.keep()
    if held is None:
        return
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    spark = SharedSpark(master, options, str(Path(folder) / "logs" / "spark.log"))
    try:
        gateway, process = spark.gateway(), spark.process
        _warm(spark)
        place.beat(held)
        place.publish(gateway)
        while not stopping.wait(_SECONDS) and process.poll() is None and spark.alive:
            place.beat(held)  # the JVM has just answered, too
        if process.poll() is None:
            spark.stop()
    finally:
        spark.forget()
        os._exit(0)  # its pipe to the JVM breaks, which ends that


def _warm(spark: SharedSpark) -> None:
    """Have the JVM load what an epoch needs, and the Python daemon fork its first workers."""
    context = spark.context
    count = max(2, context.defaultParallelism)
    numbers = context.parallelize(range(count), count).map(lambda n: (n, bytes(8)))
    numbers.partitionBy(count, _same).mapPartitionsWithIndex(lambda _, rows: rows).values().collect()


def _same(number: int) -> int:
    return number


if __name__ == "__main__":
    main(*sys.argv[1:])
