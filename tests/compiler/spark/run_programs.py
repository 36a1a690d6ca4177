"""Runs programs, given as JSON on stdin, and writes what each gave, or failed with, into the file that is the argument.

What a program gives is sorted, or only by the first field where the program says that it is ``ORDERED``.

Neither PyFlink nor compat is imported by its name: whoever starts this says which one ``pyflink`` is.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyflink.common import Configuration, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment


def each_record(delay: int, every: int = 1) -> Any:
    """A watermark behind each record whose timestamp is a multiple, so that it is certain what is late.

    PyFlink has no such generators: there it is one in Java, ``EachRecord.java``.
    """
    if not hasattr(WatermarkStrategy, "for_generator"):
        from pyflink.java_gateway import get_gateway

        return WatermarkStrategy(get_gateway().jvm.EachRecord(delay, every))

    class EachRecord:
        def on_event(self, event: Any, timestamp: int) -> int | None:
            return None if timestamp % every else timestamp - delay

        def on_periodic_emit(self) -> None:
            return None

    return WatermarkStrategy.for_generator(EachRecord)


def results(program: str, options: dict[str, str]) -> list[str]:
    """What a program gives, in an order that can be compared."""
    names: dict[str, Any] = {"each_record": each_record}
    exec(program, names)
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    if jar := given.get("jar"):
        env.add_jars(jar)
    with names["build"](env).execute_and_collect() as found:
        records = [tuple(record) for record in found]
    if names.get("ORDERED"):
        return [repr(record) for record in sorted(records, key=lambda record: repr(record[0]))]
    return sorted(map(repr, records))


given = json.load(sys.stdin)
found: list[Any] = []
for each in given["programs"]:
    try:
        found.append(results(each, given["options"]))
    except Exception as error:
        found.append(f"{type(error).__name__}: {str(error)[-2000:]}")
with open(sys.argv[1], "w", encoding="utf-8") as out:
    json.dump(found, out)
