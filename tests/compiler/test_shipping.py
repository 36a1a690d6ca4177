"""Functions that cannot be sent to workers are refused with the name of what stands in the way; all others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.loader.process import load_one
from compat.loader.request import Loaded, Request

HEAD = """
import abc, collections, dataclasses, datetime, decimal, enum, functools, json, logging, re, threading
from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, MapFunction, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1], Types.LONG())
"""
TAIL = """
stream.print()
env.execute()
"""
REFUSED = {
    "a global": (
        "lock = threading.Lock()\ndef f(x):\n    with lock:\n        return x\nstream = stream.map(f)",
        ["'lock' in the function f of 'Map'", "_thread.lock"],
    ),
    "a closure": (
        "def make():\n    lines = open('/dev/null', 'w')\n    return lambda x: lines.write(x)\nstream = stream.map(make())",
        ["'lines' in the function make.<locals>.<lambda>", "TextIOWrapper"],
    ),
    "an attribute": (
        "class F(MapFunction):\n    def __init__(self):\n        self.lock = threading.RLock()\n    def map(self, x):\n"
        "        return x\nstream = stream.map(F())",
        ["'lock' in the function F", "RLock"],
    ),
    "inside a list": (
        "things = [1, (x for x in 'ab')]\nstream = stream.filter(lambda x: things)",
        ["'things' in the function <lambda>", "generator"],
    ),
    "of a called function": (
        "lock = threading.Lock()\ndef g(x):\n    return lock\ndef f(x):\n    return g(x)\nstream = stream.map(f)",
        ["'lock' in 'g' in the function f"],
    ),
    "in a key selector": (
        "lock = threading.Lock()\nstream = stream.key_by(lambda x: lock).map(lambda x: x)",
        ["'lock' in the function"],
    ),
    "the environment": (
        "stream = stream.map(lambda x: env.get_parallelism())",
        ["'env' in", "StreamExecutionEnvironment"],
    ),
    "a stream": ("other = stream\nstream = stream.map(lambda x: other)", ["'other' in", "DataStream"]),
}
SENT = {
    "values": "a, b = 1, {'x': [Row(1), datetime.datetime.now(), decimal.Decimal(1)]}\nstream = stream.map(lambda x: (a, b))",
    "patterns and loggers": "p, log = re.compile('x'), logging.getLogger('x')\nstream = stream.map(lambda x: (p, log))",
    "abstract classes": (
        "class B(abc.ABC):\n    @abc.abstractmethod\n    def go(self): ...\nclass I(B):\n    __slots__ = ('a',)\n"
        "    def __init__(self): self.a = 1\n    def go(self): return 1\none = I()\nstream = stream.map(lambda x: one.go())"
    ),
    "records and enums": (
        "class C(enum.Enum):\n    A = 1\n@dataclasses.dataclass(frozen=True, slots=True)\nclass D:\n    x: int = 3\n"
        "d = D()\nstream = stream.map(lambda x: (C.A, d))"
    ),
    "modules and partials": "stream = stream.map(functools.partial(lambda a, b: json.dumps(b), 1))",
    "what the API gives": (
        "tag, state = OutputTag('late', Types.STRING()), ValueStateDescriptor('s', Types.ROW([Types.LONG()]))\n"
        "stream = stream.map(lambda x: (tag, state))"
    ),
    "what open() makes": (
        "class F(MapFunction):\n    def open(self, context):\n        self.lock = threading.Lock()\n    def map(self, x):\n"
        "        return x\nstream = stream.map(F())"
    ),
    "attributes that are called as a stream is": (
        "class F(MapFunction):\n    def open(self, context):\n        self.stream = 1\n    def map(self, x):\n"
        "        return self.stream\nstream = stream.map(F())"
    ),
    "itself": "def f(x):\n    return f(x - 1) if x else 0\nstream = stream.map(f)",
}


def loaded(tmp_path: Path, body: str) -> Loaded:
    path = tmp_path / "job.py"
    path.write_text(HEAD + body + TAIL, encoding="utf-8")
    outcome = load_one(Request(path=str(path), shown="job.py"))
    assert isinstance(outcome, Loaded)
    return outcome


@pytest.mark.parametrize(("body", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_sent_is_named(tmp_path: Path, body: str, says: list[str]) -> None:
    (plan,) = loaded(tmp_path, body).plans

    assert plan.error is not None
    assert all(text in plan.error.message for text in says), plan.error.message
    assert plan.error.source is not None
    assert plan.error.source.file == "job.py"


@pytest.mark.parametrize("body", SENT.values(), ids=SENT)
def test_what_can_be_sent_is_not_refused(tmp_path: Path, body: str) -> None:
    outcome = loaded(tmp_path, body)

    assert outcome.crash is None
    assert [plan.error for plan in outcome.plans] == [None]
