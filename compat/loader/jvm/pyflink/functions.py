"""The states of a function of PyFlink's DataStream API, found by calling its ``open()`` with a recording context.

This file is loaded by :mod:`compat.loader.jvm.pyflink.client`, in an interpreter that need not have compat, under real PyFlink.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import types
import typing

_KINDS = ("Value", "List", "Map", "Reducing", "Aggregating")
_SUFFIX = "StateDescriptor"
_REDUCE = "_reduce_state"
_TIMERS = frozenset({"register_event_time_timer", "register_processing_time_timer"})
_PER_WINDOW = frozenset({"window_state", "global_state"})
_OPENED = ("_open_func", "_close_func")
_ASKED_IN_WINDOWS = frozenset({"get_partitioned_state", "merge_partitioned_state", "get_runtime_context"})
if typing.TYPE_CHECKING:
    Told = dict[str, typing.Any]
    DigestOf = typing.Callable[[typing.Any], str]


class _Anything:
    """Stands for a state or a metric: takes any call and holds nothing."""

    def __getattr__(self, name: str) -> typing.Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: self

    def __iter__(self) -> typing.Iterator[typing.Any]:
        return iter(())


class _Recorder:
    """A runtime context that remembers the states it is asked for, and the lines that ask."""

    _in_batch_execution_mode = False

    def __init__(self, where: typing.Any) -> None:
        self.found: list[tuple[typing.Any, typing.Any]] = []
        self._where = where

    def _record(self, descriptor: typing.Any) -> _Anything:
        self.found.append((descriptor, self._where.frame(sys._getframe(1))))
        return _Anything()

    get_state = get_list_state = get_map_state = get_reducing_state = get_aggregating_state = _record

    def get_task_name(self) -> str:
        return "compat"

    def get_task_name_with_subtasks(self) -> str:
        return "compat (1/1)#0"

    def get_number_of_parallel_subtasks(self) -> int:
        return 1

    def get_max_number_of_parallel_subtasks(self) -> int:
        return 128

    def get_index_of_this_subtask(self) -> int:
        return 0

    def get_attempt_number(self) -> int:
        return 0

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return default_value

    def get_metrics_group(self) -> _Anything:
        return _Anything()


def describe(payload: bytes, where: typing.Any, digest_of: DigestOf, keyed: bool, call_open: bool) -> Told:
    """A function by the bytes that PyFlink ships: its name, its code, its states, whether it sets timers, its window.

    Only a function over keys may ask for state, and so is opened, if ``call_open`` allows it. ``digest_of`` gives a digest of
    code and values.
    """
    import cloudpickle

    held = cloudpickle.loads(payload)
    code = digest_of(held)  # before anything is asked of it, which it may keep
    window = held if type(held).__name__ == "WindowOperationDescriptor" else None
    function = held if window is None else window.internal_window_function
    users = _users(function)
    told: Told = {
        "name": _name(users),
        "adapter": type(held).__name__ if type(held).__module__.startswith("pyflink.") else "",
        "code": code,
        "made_with": _values(users),
        "timers": bool(_names_used(users) & _TIMERS),
        "window": None if window is None else _window(window, digest_of),
    }
    if "Broadcast" in "".join(one.__name__ for one in type(users).__mro__):
        return {**told, "unknown": "open() does not show the states of functions over a broadcast stream"}
    if not keyed or not hasattr(function, "open"):
        return told
    if not call_open:
        return {**told, "unknown": "open() was not called (--no-open)"}
    context = _Recorder(where)
    try:
        with _places_of_descriptors(where):
            function.open(context)
        states = [_state(descriptor, place, digest_of) for descriptor, place in context.found]
    except Exception as error:
        return {**told, "unknown": f"open() of {told['name']} failed: {type(error).__name__}: {error}"}
    told["reduces"] = any(one["name"].startswith(_REDUCE) for one in states)
    told["states"] = [one for one in states if not one["name"].startswith(_REDUCE)]
    told["unknown"] = _later(users, context, window, str(told["name"]))
    return told


def _values(function: typing.Any) -> Told:
    """Digests of the plain values that a function object carries, by attribute."""
    held = getattr(function, "__dict__", {})
    plain = ((name, repr(value).encode()) for name, value in sorted(held.items()) if _is_plain(value))
    return {name: hashlib.sha256(value).hexdigest()[:16] for name, value in plain}


def _is_plain(value: typing.Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return isinstance(value, (str, bytes, int, float, bool))


@contextlib.contextmanager
def _places_of_descriptors(where: typing.Any) -> typing.Iterator[None]:
    """Meanwhile, what makes a descriptor of a state notes the line of the program that does."""
    from pyflink.datastream.state import StateDescriptor

    original = StateDescriptor.__init__

    def noting(self: typing.Any, *given: typing.Any, **named: typing.Any) -> None:
        original(self, *given, **named)
        self.made_at = where.frame(sys._getframe(1))

    StateDescriptor.__init__ = noting
    try:
        yield
    finally:
        StateDescriptor.__init__ = original


def _later(users: typing.Any, context: _Recorder, window: typing.Any, name: str) -> str:
    """Why a function may ask for more states than ``open()`` shows."""
    if any(value is context for value in getattr(users, "__dict__", {}).values()):
        return name + " keeps its runtime context, so it may ask for state while it processes"
    if window is None:
        return ""
    if _names_used(users) & _PER_WINDOW:
        return name + " asks for state while it processes a window"
    for part in (window.trigger, window.assigner):
        if _names_used(part) & _ASKED_IN_WINDOWS:
            return type(part).__qualname__ + " asks for state while it handles a window"
    return ""


def _state(descriptor: typing.Any, place: typing.Any, digest_of: DigestOf) -> Told:
    ttl = getattr(descriptor, "_ttl_config", None)
    kind = type(descriptor).__name__
    return {
        "name": descriptor.name,
        "kind": next(one for one in _KINDS if kind == one + _SUFFIX).lower(),
        "type": _type(descriptor),
        "ttl": None if ttl is None else ttl.get_ttl().to_milliseconds(),
        "source": getattr(descriptor, "made_at", None) or place,
        "fold": _fold(descriptor, digest_of),
    }


def _fold(descriptor: typing.Any, digest_of: DigestOf) -> Told | None:
    """The function of a reducing or an aggregating state; None for others."""
    for name in ("get_reduce_function", "get_agg_function"):
        if hasattr(descriptor, name):
            function = getattr(descriptor, name)()
            return {"name": _name(_users(function)), "digest": digest_of(function) or None}
    return None


def _type(descriptor: typing.Any) -> str:
    """A state's type in Flink's own spelling."""
    return str(descriptor.type_info.get_java_type_info().toString())


def _window(descriptor: typing.Any, digest_of: DigestOf) -> Told:
    from pyflink.datastream.window import MergingWindowAssigner

    assigner, name = descriptor.assigner, type(descriptor.window_serializer).__name__
    own = not type(assigner).__module__.startswith("pyflink.")
    counts = None if own else getattr(assigner, "_count_descriptor", None)  # of windows by the number of records
    return {
        "assigner": type(assigner).__name__,
        "text": str(assigner),
        "merging": isinstance(assigner, MergingWindowAssigner),
        "event_time": bool(assigner.is_event_time()),
        "trigger": type(descriptor.trigger).__name__,
        "namespace": name[: -len("Serializer")] if name.endswith("WindowSerializer") else "byte[]",
        "contents": _type(descriptor.window_state_descriptor),
        "fold": _fold(descriptor.window_state_descriptor, digest_of),
        "counts": counts.name if counts is not None and type(counts).__name__ == "ValueStateDescriptor" else "",
    }


def _users(function: typing.Any) -> typing.Any:
    """The user's function within what PyFlink wraps around it."""
    module = type(function).__module__
    if not module.startswith("pyflink."):
        return function
    inner = getattr(function, "_wrapped_function", None) or getattr(function, "wrapped_func", None)
    if inner is None:
        named = ((name, value) for name, value in getattr(function, "__dict__", {}).items() if name not in _OPENED)
        inner = next(
            (value for name, value in named if name.endswith(("_func", "_function")) and callable(value)), None
        )
    if inner is None or inner is function:
        return function
    return _users(getattr(inner, "__self__", inner))


def _name(function: typing.Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def _names_used(function: typing.Any) -> set[str]:
    """All names that the methods of a function object mention."""
    plain = isinstance(function, types.FunctionType)
    codes = [function.__code__] if plain else []
    for owner in () if plain else type(function).__mro__:
        if not owner.__module__.startswith("pyflink."):
            codes += [one.__code__ for one in vars(owner).values() if isinstance(one, types.FunctionType)]
    names: set[str] = set()
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return names
