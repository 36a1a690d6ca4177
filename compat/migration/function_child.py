"""The process of a user's function: unpickles, as the recipe asks for, and runs the function on values.

It is like the processes that load programs: the same interpreter, with compat's API in place of PyFlink's. The
function's output goes to standard error.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import pickletools
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from msgspec import msgpack

from compat.loader.imports import prepare_for_programs
from compat.loader.main_module import layout_of
from compat.migration.function_messages import LENGTH, Answer, Begin, framed, read_exactly
from compat.state.flink.errors import SavepointError
from compat.state.flink.forms import Unconvertible, shown
from compat.state.flink.python_functions import Change, Failed, OfKeys, Pickles, change_of
from compat.state.flink.python_states import Item
from compat.state.rows import Row, RowKind, _create_row
from compat.state.serializers import load
from compat.state.time import Instant

_OF_VALUES, _OF_KEYS = 4, 5
"""The protocols of PyFlink's pickles. Keys come through its records, which ``cloudpickle`` writes (`CloudPickleCoder`),
values
through its states (`PickleCoder`). Every byte of a key matters, as it decides where its state is."""
_OURS = "compat."
_NAMED = {"pyflink.common.types": (Row, RowKind, _create_row), "pyflink.common.time": (Instant,)}
"""Classes that PyFlink has under other names, which pickles use."""


def main(_: Sequence[str]) -> None:
    """Start, and answer requests until there are no more."""
    sys.dont_write_bytecode = True  # nothing is left beside the user's files
    asked, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    try:
        change = _begun(msgpack.decode(_message(asked), type=Begin))
    except Unconvertible as error:
        os.write(answers, framed(Answer(error=str(error))))
        return
    _write(answers, Answer())
    while data := _message(asked):
        _write(answers, _answer(change, msgpack.decode(data, type=list[Item])))


def _message(descriptor: int) -> bytes:
    """The next message; nothing at the end."""
    head = read_exactly(descriptor, LENGTH.size)
    return read_exactly(descriptor, LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""


def _write(descriptor: int, answer: Answer) -> None:
    data = memoryview(framed(answer))
    while data:
        data = data[os.write(descriptor, data) :]


def _answer(change: Change, items: list[Item]) -> Answer:
    try:
        return Answer([change(item) for item in items])
    except (Unconvertible, Failed, SavepointError) as error:
        return Answer(error=str(error))
    except Exception as error:  # a class of the user's that a pickle needs, or whose objects are no pickles
        return Answer(error=f"{type(error).__name__}: {error}")


def _begun(begin: Begin) -> Change:
    """What carries out the task. Raises Unconvertible for a function that is not there."""
    prepare_for_programs(begin.flink)
    for name, members in _NAMED.items():
        module = importlib.import_module(name)
        for member in members:
            member.__module__ = name
            setattr(module, member.__name__, member)
    function = _function(begin)
    protocol = _OF_KEYS if isinstance(begin.task, OfKeys) else _OF_VALUES
    return change_of(begin.task, function, Pickles(load, partial(_dump, protocol)))


def _function(begin: Begin) -> Callable[..., Any]:
    stem = os.path.splitext(os.path.basename(begin.file))[0]
    try:
        layout_of(begin.file, begin.pyfiles).enter()
        spec = importlib.util.spec_from_file_location(stem, begin.file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Where a job's own file has classes, pickles say that these are of the main module.
        sys.modules[stem] = sys.modules["__main__"] = module
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's file raises
        raise Unconvertible(f"{begin.file} cannot be run: {type(error).__name__}: {error}") from None
    return _member(module, begin)


def _member(module: ModuleType, begin: Begin) -> Callable[..., Any]:
    function: Callable[..., Any] | None = vars(module).get(begin.name)
    if function is None or not callable(function):
        there = [name for name, one in vars(module).items() if callable(one) and not name.startswith("_")]
        raise Unconvertible(f"{begin.file} has no function {begin.name}; it has {', '.join(there) or 'none'}")
    return function


def _dump(protocol: int, value: Any) -> bytes:
    """A pickle as PyFlink makes it, with its names for what is ours here. Raises Unconvertible for what it does not have."""
    data = pickle.dumps(value, protocol)
    if _OURS.encode() in data:
        texts = (argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str))
        ours = next((text for text in texts if text.startswith(_OURS) and text in sys.modules), None)
        if ours is not None:
            raise Unconvertible(f"{shown(value)} is of a class of {ours}, which PyFlink does not have")
    return data
