"""The Python parts of a job that Flink built, in the form of plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compat.loader.jvm.messages import JavaFrame, PythonFunction, PythonWindow
from compat.state import names
from compat.state.model.code import UserCode
from compat.state.model.operators import Detail
from compat.state.model.source_line import SourceLine
from compat.state.model.states import Known, State, StateKind, StateScope

ADDS_KEYS = "AddKey"
_CALLS = {
    "MapProcessFunctionAdapter": "map",
    "FlatMapProcessFunctionAdapter": "flat_map",
    "FilterProcessFunctionAdapter": "filter",
    ADDS_KEYS: "key_by_map",
    "TimestampAssignerProcessFunctionAdapter": "extract_timestamp",
    "MapKeyedProcessFunctionAdapter": "keyed_map",
    "FlatMapKeyedProcessFunctionAdapter": "keyed_flat_map",
    "FilterKeyedProcessFunctionAdapter": "keyed_filter",
    "ReduceProcessKeyedProcessFunctionAdapter": "keyed_reduce",
    "WindowOperationDescriptor": "window",
}
"""The classes that PyFlink wraps around functions, by the kinds of calls that do so."""

_OPERATORS = {
    "PythonProcessOperator": "process",
    "PythonKeyedProcessOperator": "keyed_process",
    "PythonCoProcessOperator": "co_process",
    "PythonKeyedCoProcessOperator": "keyed_co_process",
}


def kind_of_python(function: PythonFunction, operator: str) -> str:
    """The kind of an operator of PyFlink's DataStream API by its function and the name of its class."""
    return _CALLS.get(function.adapter) or _OPERATORS.get(_plain(operator)) or _plain(operator)


def _plain(operator: str) -> str:
    """The name of an operator's class in every mode of execution."""
    return operator.rpartition(".")[2].removeprefix("External").removeprefix("Embedded")


def python_states(function: PythonFunction, line: Callable[[JavaFrame], SourceLine]) -> tuple[State, ...]:
    """The states of an operator that runs a function in Python: only one over keys has some, and it has timers."""
    return tuple(_states(function, function.key_type, line)) if function.key_type is not None else ()


def _states(function: PythonFunction, key: str, line: Callable[[JavaFrame], SourceLine]) -> Iterator[State]:
    for one in function.states:
        yield State(
            name=one.name,
            kind=StateKind(one.kind),
            scope=StateScope.KEYED,
            type=one.type,
            key_type=key,
            ttl=one.ttl,
            source=None if one.source is None else line(one.source),
            function=one.fold,
            known=Known.OPENED,
        )
    if function.reduces:
        yield _built_in(names.PYTHON_REDUCE, StateKind.VALUE, key, unstable=True)
    if function.window is not None:
        yield from _window_states(function.window, key)
    namespace = None if function.window is None else function.window.namespace
    yield _built_in(names.PYTHON_TIMERS, StateKind.TIMERS, key, namespace=namespace)


def _window_states(window: PythonWindow, key: str) -> Iterator[State]:
    contents = window.contents
    fold = window.fold
    yield _built_in(names.WINDOW_CONTENTS, StateKind.LIST, key, type=contents, namespace=window.namespace, fold=fold)
    if window.counts:
        yield _built_in(window.counts, StateKind.VALUE, key, type="Long")
    if window.merging:
        yield _built_in(names.MERGING_WINDOWS, StateKind.MAP, key)


def _built_in(
    name: str,
    kind: StateKind,
    key: str,
    *,
    type: str | None = None,
    namespace: str | None = None,
    unstable: bool = False,
    fold: UserCode | None = None,
) -> State:
    return State(
        name=name,
        kind=kind,
        scope=StateScope.KEYED,
        type=type,
        key_type=key,
        namespace_type=namespace,
        built_in=True,
        unstable=unstable,
        function=fold,
        known=Known.BUILT_IN,
    )


def python_detail(function: PythonFunction, operator: str, states: tuple[State, ...]) -> Detail:
    """What is to be told of an operator that runs a function in Python; ``operator`` is the name of its class."""
    detail: Detail = {"python": _plain(operator), "function": function.name, "timers": function.timers}
    detail["made_with"], detail["code"] = function.made_with, function.code
    if function.window is not None:
        detail["window"] = function.window.text
        detail["window_class"] = function.window.assigner
        detail["window_clock"] = "event time" if function.window.event_time else "processing time"
        detail["window_merging"] = function.window.merging
        detail["trigger"] = function.window.trigger
    if function.unknown:
        detail["known_states"] = [state.name for state in states]
    return detail
