"""Operators that are replaced by others under one uid, as programs, and what PyFlink does with them.

``python -m tests.compat.restores.replacing PYTHON``, where PYTHON is an interpreter that has PyFlink, writes down what came of
all ``PAIRS`` in that version. A line that a program prints is as in :mod:`.jobs`.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.compat.restores.judging import Record
from tests.compat.restores.record import ANSWERS, SCRIPT, version_of

GOLDEN = Path(__file__).parents[2] / "golden" / "replaced_operators"

_HEAD = """
import time

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import (
    FlatMapFunction, KeyedProcessFunction, MapFunction, ProcessFunction, StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

def out(n):
    return f"z.seen.{n % 3}|None|None|{n}"

class Keep(KeyedProcessFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("s", Types.LONG()))
    def process_element(self, n, ctx):
        before = self.s.value()
        self.s.update(n)
        yield f"k.s.{n % 3}|{before}|{n}|{n}"

class Other(KeyedProcessFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("t", Types.LONG()))
    def process_element(self, n, ctx):
        before = self.s.value()
        self.s.update(n)
        yield f"k.t.{n % 3}|{before}|{n}|{n}"

class Bare(KeyedProcessFunction):
    def process_element(self, n, ctx):
        yield out(n)

class Timed(KeyedProcessFunction):
    def process_element(self, n, ctx):
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 3600000)
        yield out(n)
    def on_timer(self, timestamp, ctx):
        return []

class RichMap(MapFunction):
    def open(self, ctx):
        self.s = ctx.get_state(ValueStateDescriptor("s", Types.LONG()))
    def map(self, n):
        before = self.s.value()
        self.s.update(n)
        return f"k.s.{n % 3}|{before}|{n}|{n}"

class Emit(ProcessFunction):
    def process_element(self, n, ctx):
        yield out(n)

class Two(FlatMapFunction):
    def flat_map(self, n):
        yield out(n)

def slow(n):
    time.sleep(0.02)
    return n

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_source(NumberSequenceSource(1, 10000000), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")\
.map(slow, Types.LONG()).uid("slow")
keyed = numbers.key_by(lambda n: n % 3, Types.LONG())
"""
_SHOWN = '.map(out, Types.STRING()).uid("shown")'
_TEXT = "Types.STRING()"

STATE, OTHER, BARE, TIMERS = "keyed process", "another state", "keyed process without state", "timers"
KEEPING_MAP, KEYED_MAP, KEYED_FILTER = "keyed map with state", "keyed map", "keyed filter"
MAP, FILTER, FLAT_MAP, PROCESS, SINK = "map", "filter", "flat map", "process", "sink"
KINDS = {
    STATE: f'keyed.process(Keep(), {_TEXT}).uid("keep").print().uid("out")',
    OTHER: f'keyed.process(Other(), {_TEXT}).uid("keep").print().uid("out")',
    BARE: f'keyed.process(Bare(), {_TEXT}).uid("keep").print().uid("out")',
    TIMERS: f'keyed.process(Timed(), {_TEXT}).uid("keep").print().uid("out")',
    KEEPING_MAP: f'keyed.map(RichMap(), {_TEXT}).uid("keep").print().uid("out")',
    KEYED_MAP: f'keyed.map(out, {_TEXT}).uid("keep").print().uid("out")',
    KEYED_FILTER: f'keyed.filter(lambda n: True).uid("keep"){_SHOWN}.print().uid("out")',
    MAP: f'numbers.map(out, {_TEXT}).uid("keep").print().uid("out")',
    FILTER: f'numbers.filter(lambda n: True).uid("keep"){_SHOWN}.print().uid("out")',
    FLAT_MAP: f'numbers.flat_map(Two(), {_TEXT}).uid("keep").print().uid("out")',
    PROCESS: f'numbers.process(Emit(), {_TEXT}).uid("keep").print().uid("out")',
    SINK: f'numbers{_SHOWN}.print().uid("keep")',
}
"""The operator with the uid ``keep``, by what it is."""

PAIRS = [
    *((STATE, new) for new in KINDS if new != STATE),
    *((BARE, new) for new in (MAP, FILTER, SINK, STATE)),
    *((TIMERS, new) for new in (MAP, FILTER, BARE, SINK)),
    *((KEEPING_MAP, new) for new in (KEYED_MAP, MAP, FILTER, STATE)),
    (MAP, STATE),
]


def program(kind: str) -> str:
    """The job whose operator is of this kind."""
    return f"{_HEAD}{KINDS[kind]}\nenv.execute()\n"


def records(flink: str) -> tuple[Record, ...]:
    """The recorded restores of a version of Flink; ``edits`` are the kinds of the two operators."""
    lines = gzip.decompress((GOLDEN / f"{flink}.jsonl.gz").read_bytes()).splitlines()
    return tuple(msgspec.json.decode(line, type=Record) for line in lines)


def main(python: str) -> None:
    """Record all pairs; the lines of what keeps no state are left out."""
    flink, found = version_of(python), []
    with subprocess.Popen([python, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, (old, new) in enumerate(PAIRS):
            pair: dict[str, Any] = {"old": program(old), "new": program(new), "told": ()}
            process.stdin.write(f"{json.dumps(pair)}\n")
            process.stdin.flush()
            did = json.loads(process.stdout.readline())
            print(old, new, did["outcome"], did.get("errors"), file=sys.stderr, flush=True)
            assert did["outcome"] in ANSWERS
            for when in {"before", "after"} & did.keys():
                did[when] = {label: text for label, text in did[when].items() if not label.startswith("z.")}
            found.append(msgspec.convert({"seed": number, "flink": flink, "edits": (old, new), **pair, **did}, Record))
        process.stdin.close()
    lines = b"".join(msgspec.json.encode(record) + b"\n" for record in found)
    (GOLDEN / f"{flink}.jsonl.gz").write_bytes(gzip.compress(lines, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
