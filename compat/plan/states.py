"""The states of an operator.

The framework's states are known from the kind of operator. The states of a program's function are found by calling its
``open()`` with a recording context; so this runs where the program runs, in the child process.
The rules for PyFlink's operators were seen in real savepoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

import msgspec

from compat.compiler.datastream._location import here
from compat.compiler.datastream.served import in_programs_words
from compat.compiler.errors import Location
from compat.compiler.own_code import is_our_file, is_our_module
from compat.compiler.streamgraph.graph import StreamNode, Task
from compat.compiler.transformations import operators as ops
from compat.compiler.transformations.operators import (
    Call,
    Contents,
    Described,
    Operator,
    PythonFunction,
    PythonOperator,
    Windowing,
)
from compat.plan.asked import PER_WINDOW_CALLS, Asked, asked_while_processing
from compat.plan.built_in import more_of, states_of
from compat.plan.folding import fold_of
from compat.plan.held import holding_of
from compat.plan.made import classes_known, classes_made, classes_present, classes_written, values_of
from compat.plan.methods import closure_of, names_used
from compat.plan.pickled import classes_put, classes_shaped
from compat.plan.put import all_put, objects_in, shapes_folded, shapes_of, shapes_put, with_sources
from compat.plan.read import reads_folded, reads_of, reads_of_reducing, reads_of_windows
from compat.state import names as framework
from compat.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
)
from compat.state.model.behaviour import Holding
from compat.state.model.contents import Reads, Shapes
from compat.state.model.operators import Detail
from compat.state.model.source_line import SourceLine
from compat.state.model.states import FUNCTIONS_OF_CONTENTS, Known, More, State, StateKind, StateScope
from compat.state.time import milliseconds_of
from compat.state.types.composite import ListTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo

_KEYED = frozenset(
    {
        PythonOperator.KEYED_PROCESS,
        PythonOperator.KEYED_CO_PROCESS,
        PythonOperator.WINDOW,
        PythonOperator.KEYED_BROADCAST,
    }
)
_PARTS_OF_SINKS: dict[type[Operator], str] = {
    ops.SinkCommitter: framework.SINK_COMMITTER,
    ops.SinkGlobalCommitter: framework.SINK_COMMITTER,
    ops.FileCompactorCoordinator: framework.FILES_TO_COMPACT,
    ops.FileCompactor: framework.COMPACTION_REQUESTS,
}
"""The one list state that each part of a sink except the writer keeps."""
_KINDS_OF_CONTENTS = {function: kind for kind, function in FUNCTIONS_OF_CONTENTS.items()}
_TIMER_CALLS = frozenset({"register_event_time_timer", "register_processing_time_timer"})
_USER_CODE = (
    ops.KeyedMap
    | ops.KeyedFlatMap
    | ops.KeyedFilter
    | ops.KeyedProcess
    | ops.KeyedCoMap
    | ops.KeyedCoFlatMap
    | ops.KeyedCoProcess
    | ops.KeyedBroadcastProcess
    | ops.Window
)


class Discovery(msgspec.Struct, frozen=True):
    """The states of one operator; None if unknown, with the reason; and the reason why there may be more."""

    states: tuple[State, ...] | None
    unknown: str | None
    has_state: bool
    detail: Detail
    more: More | None = None


Opening = Callable[[Callable[[], object]], object]
"""Calls the opening method of a function."""
Records = Callable[[], tuple[Shapes, ...]]
"""Finds out what an operator gets by each input."""


def call(function: Callable[[], object]) -> object:
    """Call it directly."""
    return function()


def discover(node: StreamNode, *, opening: Opening | None = call, records: Records = tuple) -> Discovery:
    """Find the states of a node. ``opening`` calls the opening methods of the program's functions; None: they are not
    opened. ``records`` are what it gets by each input, as far as that is known.
    """
    operator = node.operator
    if operator is None:
        return Discovery((), None, False, {})
    if isinstance(operator, PythonFunction):
        return _python(node, operator, opening, records)
    return _java(node, operator)


# Operators that run in Java


def _java(node: StreamNode, operator: Operator) -> Discovery:
    states: list[State] = []
    if isinstance(operator, Described):
        states += [_declared(state, node) for state in operator.states or ()]
    states += _built_in_java(node, operator)
    more = more_of(operator)
    return Discovery(tuple(states), None, bool(states) or more is not None, _java_detail(operator), more)


def _built_in_java(node: StreamNode, operator: Operator) -> list[State]:
    states: list[State] = []
    if operator.coordinated:
        states.append(_built_in("coordinator", StateKind.COORDINATOR, StateScope.OPERATOR))
    if node.task is Task.SOURCE:
        states.append(_built_in(framework.SOURCE_READER, StateKind.LIST, StateScope.OPERATOR, type="byte[]"))
    elif isinstance(operator, ops.FileMonitor):
        states.append(_built_in(framework.FILE_MONITOR, StateKind.LIST, StateScope.OPERATOR))
    elif isinstance(operator, ops.FileSplitReader):
        states.append(_built_in(framework.FILE_SPLITS, StateKind.LIST, StateScope.OPERATOR))
    elif (name := _PARTS_OF_SINKS.get(type(operator))) is not None:
        states.append(_built_in(name, StateKind.LIST, StateScope.OPERATOR, type="byte[]"))
    elif isinstance(operator, ops.LegacySource | ops.LegacySink | ops.SinkWriter):
        states += states_of(operator)
    elif isinstance(operator, Described):
        states += _built_in_described(node, operator)
    return states


def _built_in_described(node: StreamNode, operator: Described) -> list[State]:
    """The states that Flink keeps for an operator of which the call is known."""
    key = _text(node.key_type)
    states: list[State] = []
    match operator.call:
        case Call.ASYNC_WAIT:
            states.append(_built_in(framework.ASYNC_WAIT, StateKind.LIST, StateScope.OPERATOR))
        case Call.REDUCE | Call.SUM:
            states.append(_built_in(framework.REDUCE, StateKind.VALUE, StateScope.KEYED, key_type=key))
        case Call.BROADCAST_CONNECT | Call.KEYED_BROADCAST_CONNECT if operator.states is None:
            states.append(_built_in("broadcast state", StateKind.MAP, StateScope.BROADCAST))
    if operator.timers:
        states.append(_built_in("timers", StateKind.TIMERS, StateScope.KEYED, key_type=key))
    if operator.windowing is not None and operator.contents is not None:
        states += _of_windows(operator.windowing, operator.contents, key)
    return states


def _of_windows(windowing: Windowing, contents: Contents, key: str | None) -> list[State]:
    """What Flink keeps for windows (``WindowOperator``): their contents, the timers of both clocks, the set of windows that
    melted, and what a trigger has counted."""
    window = framework.JAVA_GLOBAL_WINDOW if windowing.assigner_class == "GlobalWindows" else "TimeWindow"
    of_windows = partial(_built_in, scope=StateScope.KEYED, key_type=key, namespace_type=window)
    states = [of_windows(framework.WINDOW_CONTENTS, _KINDS_OF_CONTENTS[contents.value])]
    states += [of_windows(timers, StateKind.TIMERS) for timers in framework.WINDOW_TIMERS]
    if windowing.merging:
        states.append(_built_in(framework.MERGING_WINDOWS, StateKind.LIST, StateScope.KEYED, key_type=key))
    if windowing.counted:
        states.append(of_windows(framework.TRIGGER_COUNT, StateKind.REDUCING, type="Long"))
    return states


def _java_detail(operator: Operator) -> Detail:
    if isinstance(operator, Described) and operator.windowing is not None and operator.contents is not None:
        windowing = operator.windowing
        return {
            "window": windowing.assigner,
            "window_class": windowing.assigner_class,
            "window_clock": "event time" if windowing.event_time else "processing time",
            "window_merging": windowing.merging,
            "window_function": operator.contents.value,
            "trigger": windowing.trigger,
            "evictor": windowing.evictor,
        }
    return {} if operator.function is None else {"class": type(operator.function).__name__}


def _declared(state: Mapping[str, Any], node: StreamNode) -> State:
    """A state that a topology file declares.

    Broadcast state is a map whatever is declared, and the type of a map may be given as that of its values.
    """
    scope = StateScope(state.get("scope", "keyed"))
    kind = StateKind.MAP if scope is StateScope.BROADCAST else StateKind(state.get("kind", "value"))
    type = state.get("type")
    if kind is StateKind.MAP and type is not None and not type.startswith("Map<"):
        type = f"Map<String, {type}>"
    return State(
        name=str(state["name"]),
        kind=kind,
        scope=scope,
        type=type,
        key_type=state.get("key_type", _text(node.key_type)) if scope is StateScope.KEYED else None,
        namespace_type=state.get("namespace_type"),
        ttl=state.get("ttl"),
        known=Known.DECLARED,
    )


# Operators that run in Python


def _python(node: StreamNode, operator: PythonFunction, opening: Opening | None, records: Records) -> Discovery:
    keyed = operator.python in _KEYED
    detail = _python_detail(operator)
    states: list[State] = []
    key = _text(node.key_type)
    if isinstance(operator, ops.BroadcastProcess | ops.KeyedBroadcastProcess):
        states += [
            _described(descriptor, None, StateScope.BROADCAST, Known.DECLARED)
            for descriptor in operator.state_descriptors
        ]
    unknown: str | None = None
    context = RuntimeContext()
    if keyed:
        found, unknown = _of_function(operator, key, opening, context)
        states += found
        if isinstance(operator, ops.Window):
            for part in (_own_trigger(operator), operator.assigner):
                found, unknown_part = _of_window(part, operator, key)
                unknown = unknown or unknown_part
                states += [each for each in found if each.name not in {state.name for state in states}]
        states += _built_in_python(operator, key)
    if operator.function is not None:
        detail["made_with"] = values_of(operator.function)
        asked = frozenset(state.name for state in states if state.known is Known.CODE)
        trigger = operator.trigger if isinstance(operator, ops.Window) else None
        if (holding := holding_of(operator.function, context.names, trigger, asked)) is not None:
            detail["holding"] = holding
    has_state = keyed or bool(states)
    detail.update(_pickles(operator, states, context, detail.get("holding"), records))
    if unknown is not None:
        detail["known_states"] = [state.name for state in states]
    return Discovery(None if unknown else tuple(states), unknown, has_state, detail)


def _pickles(
    operator: PythonFunction,
    states: Iterable[State],
    context: RuntimeContext,
    holding: Holding | None,
    records: Records,
) -> Detail:
    """What is known of the values in the states that are pickled, and of their classes."""
    found: Detail = {}
    fields = {} if holding is None else holding.fields
    own = [state for state in states if not state.built_in]
    if any("Pickled" in (state.type or "") for state in own):
        lists = [state.name for state in own if state.kind is StateKind.LIST]
        everything = all_put(operator.function, fields, lists, records())
        classes = {state: set(names) for state, names in classes_put(operator.function, fields).items()}
        for state, shapes in everything.items():
            classes.setdefault(state, set()).update(objects_in(shapes))
        found["classes_put"] = {state: sorted(names) for state, names in classes.items() if names}
        found["classes_made"] = sorted(
            {*classes_made(operator.function), *(one for some in classes.values() for one in some)}
        )
        found["classes_known"] = classes_known(operator.function)
        found["classes_written"] = classes_written(operator.function, found["classes_made"])
        found["classes_present"] = classes_present(operator.function)
        found["classes_shaped"] = classes_shaped(operator.function)
    watched = {state.name: state for state in states if _may_be_pickled(state) or "String" in (state.type or "")}
    if watched:
        put, read = _values(operator, watched, context, fields, records())
        told = {name for name, state in watched.items() if name in put and _matters(state, put[name])}
        found["shapes_put"] = {name: put[name] for name in sorted(told)}
        found["shapes_read"] = {name: read[name] for name in watched if name in read}
    return found


def _may_be_pickled(state: State) -> bool:
    """Whether values are pickled, at least in thread mode."""
    type = state.type or ""
    own = not state.built_in or state.name == framework.WINDOW_CONTENTS
    return "Pickled" in type or (own and ("Row" in type or "Tuple" in type))


def _matters(state: State, shapes: Shapes) -> bool:
    """Whether values come back as code put them in: pickles, and what texts of JSON say."""
    return bool(shapes) and (_may_be_pickled(state) or any(one.says_json for one in shapes))


def _values(
    operator: PythonFunction,
    watched: Mapping[str, State],
    context: RuntimeContext,
    fields: Mapping[str, str],
    records: tuple[Shapes, ...],
) -> tuple[dict[str, Shapes], dict[str, Reads]]:
    """What the code puts into states, and what it reads of their values."""
    kinds = {name: state.kind.value for name, state in watched.items()}
    lists = [name for name, kind in kinds.items() if kind == "list"]
    put = shapes_put(operator.function, fields, lists, records)
    read: dict[str, Reads | None] = {**reads_of(operator.function, fields, kinds)}
    for descriptor, _ in context.descriptors:
        if isinstance(descriptor, AggregatingStateDescriptor):
            put[descriptor.name] = shapes_folded(descriptor.get_agg_function())
            read[descriptor.name] = reads_folded(descriptor.get_agg_function())
        elif isinstance(descriptor, ReducingStateDescriptor) and (reads := read.get(descriptor.name)) is not None:
            read[descriptor.name] = reads_of_reducing(descriptor.get_reduce_function(), reads)
        if declared := _declared_values(descriptor):
            put[descriptor.name] = with_sources(declared, put.get(descriptor.name, ()))
    if isinstance(operator, ops.Window):
        if operator.call is ops.WindowCall.AGGREGATE:
            put[framework.WINDOW_CONTENTS] = shapes_folded(operator.combine)
            read[framework.WINDOW_CONTENTS] = reads_folded(operator.combine)
        else:
            put[framework.WINDOW_CONTENTS] = records[0] if records else ()
            read[framework.WINDOW_CONTENTS] = None if operator.call.combines else reads_of_windows(operator.function)
    return put, {name: reads for name, reads in read.items() if reads is not None}


def _declared_values(descriptor: Any) -> Shapes:
    """The values of a state whose type is one of rows or tuples."""
    type = descriptor.type_info
    if isinstance(type, MapTypeInfo) and isinstance(descriptor, MapStateDescriptor):
        type = type.value_type
    elif isinstance(type, ListTypeInfo) and isinstance(descriptor, ListStateDescriptor):
        type = type.element_type
    return shapes_of(type) if isinstance(type, RowTypeInfo | TupleTypeInfo) else ()


def _python_detail(operator: PythonFunction) -> Detail:
    detail: Detail = {"python": operator.python.value}
    if operator.function is not None:
        detail["function"] = _function_name(operator.function)
        detail["timers"] = bool(names_used(operator.function) & _TIMER_CALLS)
    if isinstance(operator, ops.Window):
        detail.update(_assigner_detail(operator.assigner))
        detail["window_function"] = operator.call.value
        detail["trigger"] = type(operator.trigger).__name__
    if isinstance(operator, ops.KeyedReduce) and operator.aggregation is not None:
        detail["aggregate"] = operator.aggregation.how.value
    return detail


def _assigner_detail(assigner: Any) -> Detail:
    """A window assigner: its text and class, the clock that ends its windows, and whether windows melt into each other."""
    from compat.compiler.datastream.window import MergingWindowAssigner

    text = str(assigner)
    return {
        "window": type(assigner).__name__ if " at 0x" in text else text,  # an address says nothing of it
        "window_class": type(assigner).__name__,
        "window_clock": "event time" if assigner.is_event_time() else "processing time",
        "window_merging": isinstance(assigner, MergingWindowAssigner),
    }


def _built_in_python(operator: PythonFunction, key: str | None) -> list[State]:
    states: list[State] = []
    if isinstance(operator, ops.KeyedReduce):
        states.append(
            _built_in(framework.PYTHON_REDUCE, StateKind.VALUE, StateScope.KEYED, key_type=key, unstable=True)
        )
    namespace = None
    if isinstance(operator, ops.Window):
        namespace = _namespace(operator.window_serializer)
        states += _window_states(operator, key, namespace)
    states.append(
        _built_in(framework.PYTHON_TIMERS, StateKind.TIMERS, StateScope.KEYED, key_type=key, namespace_type=namespace)
    )
    return states


def _window_states(operator: ops.Window, key: str | None, namespace: str | None) -> list[State]:
    from compat.compiler.datastream.window import (
        CountSlidingWindowAssigner,
        CountTumblingWindowAssigner,
        MergingWindowAssigner,
    )

    states = [
        _built_in(
            framework.WINDOW_CONTENTS,
            StateKind.LIST,
            StateScope.KEYED,
            type=_text(operator.state_descriptor.type_info),
            key_type=key,
            namespace_type=namespace,
        )
    ]
    if isinstance(operator.assigner, MergingWindowAssigner):
        states.append(_built_in(framework.MERGING_WINDOWS, StateKind.MAP, StateScope.KEYED, key_type=key))
    if isinstance(operator.assigner, CountTumblingWindowAssigner | CountSlidingWindowAssigner):
        counts = operator.assigner._count_descriptor
        type = _text(counts.type_info)
        states.append(_built_in(counts.name, StateKind.VALUE, StateScope.KEYED, type=type, key_type=key))
    return states


def _of_function(
    operator: PythonFunction, key: str | None, opening: Opening | None, context: RuntimeContext
) -> tuple[list[State], str | None]:
    """The states that the program's function asks for, or why they are not known."""
    function = operator.function
    if not isinstance(operator, _USER_CODE) or function is None or not hasattr(function, "open"):
        return [], None
    if opening is None:
        return [], "open() was not called (--no-open)"
    try:
        opening(lambda: function.open(context))
    except Exception as error:
        said = f"{type(error).__name__}: {in_programs_words(error, str(error))}"
        return [], f"open() of {_function_name(function)} failed: {said}"
    states = [
        _described(descriptor, key, StateScope.KEYED, Known.OPENED, place) for descriptor, place in context.descriptors
    ]
    kept = frozenset(name for name, value in getattr(function, "__dict__", {}).items() if _leads_to(value, context))
    in_windows = isinstance(operator, ops.Window) and bool(names_used(function) & PER_WINDOW_CALLS)
    if kept or in_windows:
        asked = asked_while_processing(function, kept)
        if asked is None:
            name = _function_name(function)
            return states, (
                f"{name} keeps its runtime context, so it may ask for state while it processes"
                if kept
                else f"{name} asks for state while it processes a window"
            )
        known = {state.name for state in states}
        states += [_asked(each, operator, key) for each in asked if each.descriptor.name not in known]
    return states, None


def _leads_to(value: Any, context: RuntimeContext) -> bool:
    """Whether a value is the runtime context, a method of it, or a function that holds it."""
    if isinstance(value, FunctionType):
        return any(one is context for one in closure_of(value).values())
    if isinstance(value, partial):
        return any(_leads_to(one, context) for one in (value.func, *value.args, *value.keywords.values()))
    return value is context or getattr(value, "__self__", None) is context


def _own_trigger(operator: ops.Window) -> Any:
    """The trigger of a window, within those of PyFlink that only pass on."""
    trigger = operator.trigger
    while is_our_module(type(trigger).__module__) and hasattr(trigger, "nested_trigger"):
        trigger = trigger.nested_trigger
    return trigger


def _of_window(part: Any, operator: ops.Window, key: str | None) -> tuple[list[State], str | None]:
    """The states that a trigger or an assigner of the program's own asks for, or why they are not known."""
    if part is operator.assigner and is_our_module(type(part).__module__):
        return [], None  # they are built in
    asked = asked_while_processing(part, frozenset())
    if asked is None:
        return [], f"{_function_name(part)} asks for state while it handles a window"
    return [_asked(each, operator, key) for each in asked], None


def _asked(asked: Asked, operator: PythonFunction, key: str | None) -> State:
    """A state that is asked for while records are processed; one of a window lies under that."""
    state = _described(asked.descriptor, key, StateScope.KEYED, Known.CODE)
    if not (asked.per_window and isinstance(operator, ops.Window)):
        return state
    return msgspec.structs.replace(state, namespace_type=_namespace(operator.window_serializer))


def _described(
    descriptor: Any, key: str | None, scope: StateScope, known: Known, asked: Location | None = None
) -> State:
    """A state by its descriptor. Its place is where the program makes that, else where it asks for the state."""
    ttl = descriptor.ttl_config
    made_at = getattr(descriptor, "made_at", None)
    place = asked if made_at is None or is_our_file(made_at[0]) else Location(*made_at)
    return State(
        name=descriptor.name,
        kind=StateKind(descriptor.kind.lower()),
        scope=scope,
        type=_text(descriptor.type_info),
        key_type=key,
        ttl=None if ttl is None else milliseconds_of(ttl.get_ttl()),
        source=None if place is None else SourceLine(place.file, place.line, place.end),
        function=fold_of(descriptor),
        known=known,
    )


class _State:
    """Stands for a state while ``open()`` runs: takes any call and holds nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_args, **_kwargs: None

    def __iter__(self) -> Any:
        return iter(())


class _Metrics:
    """Takes any metric."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_args, **_kwargs: self


class RuntimeContext:
    """A runtime context that remembers the states it is asked for (PyFlink: ``RuntimeContext``)."""

    def __init__(self) -> None:
        self.descriptors: list[tuple[Any, Location | None]] = []
        self._given: list[tuple[_State, str]] = []

    @property
    def names(self) -> dict[int, str]:
        """The names of the states that were given out, by the identity of their stand-ins."""
        return {id(state): name for state, name in self._given}

    def _record(self, descriptor: Any) -> _State:
        self.descriptors.append((descriptor, here()))
        state = _State()
        self._given.append((state, descriptor.name))
        return state

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

    def get_metrics_group(self) -> _Metrics:
        return _Metrics()


def _built_in(name: str, kind: StateKind, scope: StateScope, **fields: Any) -> State:
    return State(name=name, kind=kind, scope=scope, built_in=True, known=Known.BUILT_IN, **fields)


def _namespace(serializer: Any) -> str:
    """The type of the windows that a serializer is for."""
    name = type(serializer).__name__
    return name.removesuffix("Serializer") if name.endswith("WindowSerializer") else "byte[]"


def _text(type_info: Any) -> str | None:
    return None if type_info is None else str(type_info)


def _function_name(function: Any) -> str:
    if isinstance(function, FunctionType):
        return function.__qualname__
    return type(function).__qualname__
