"""Runs programs, given as JSON on stdin, and writes what each gave, or failed with, into the file that is the argument.

Neither PyFlink nor compat is imported by its name: whoever starts this says which one ``pyflink`` is.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment


def results(program: str, options: dict[str, str]) -> list[str]:
    """What a program gives, sorted."""
    names: dict[str, Any] = {}
    exec(program, names)
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    with names["build"](env).execute_and_collect() as records:
        return sorted(repr(tuple(record)) for record in records)


given = json.load(sys.stdin)
found: list[Any] = []
for each in given["programs"]:
    try:
        found.append(results(each, given["options"]))
    except Exception as error:
        found.append(f"{type(error).__name__}: {str(error)[-2000:]}")
with open(sys.argv[1], "w", encoding="utf-8") as out:
    json.dump(found, out)
