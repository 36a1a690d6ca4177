"""The behaviour of an operator, from the objects that it was created with: its windows, its pattern, its timers."""

from __future__ import annotations

import jpype

from compat.loader.jvm.bridge import FLINK, Java, class_name, is_a, member
from compat.loader.jvm.classfile import Member
from compat.loader.jvm.fielduses import calls
from compat.loader.jvm.messages import Traits, Window, WindowFunction
from compat.loader.jvm.settings import digest_of, settings_text
from compat.loader.jvm.usercode import classes_of, code_of, lambda_of
from compat.state.model.behaviour import Pattern, Stage

_ASYNCHRONOUS = (
    "runtime.asyncprocessing.operators.AbstractAsyncStateStreamOperator",
    "runtime.asyncprocessing.operators.AbstractAsyncStateStreamOperatorV2",
)
_TIMER_CALLS = frozenset({"registerEventTimeTimer", "registerProcessingTimeTimer"})
_LEADS_TO_TIMERS = ("TimerService;", "Context;")
_TRIGGERABLE = "streaming.api.operators.Triggerable"
_FOR_FUNCTIONS = ("Process", "Broadcast")
"""Stands in the names of the operators whose functions set timers."""
_MOST_CALLS = 2000
_FUNCTIONS: dict[str, WindowFunction] = {
    "ReducingStateDescriptor": "reduce",
    "AggregatingStateDescriptor": "aggregate",
    "ListStateDescriptor": "process",
}
_ENDING_FUNCTIONS = frozenset({"FromElementsFunction", "FromIteratorFunction", "FromSplittableIteratorFunction"})
_PATTERN_OPTIONS = ("windowTime", "windowTimes", "timeoutHandling")
_TABLE = f"{FLINK}table."


def traits_of(factory: Java, operator: Java) -> Traits:
    """The traits of a factory's operator; ``operator`` is None if it is created later."""
    made = factory if operator is None else operator
    if made is None or (class_name(made) or "").startswith(_TABLE):
        return Traits()
    what = given_of(factory, operator)
    return Traits(
        window=_window(made),
        pattern=_pattern(made),
        timers=None if what is None or _has_its_own_timers(made) else _registers_timers(what),
        asynchronous=is_a(made, *_ASYNCHRONOUS),
        bounds=_bounds(made),
        ends=_ends(factory, what),
    )


def _ends(factory: Java, function: Java) -> bool:
    """Whether it is a source that comes to an end, as it says itself or as the functions do that Flink has for collections."""
    if is_a(factory, "streaming.api.operators.SourceOperatorFactory"):
        return str(member(factory, "source").getBoundedness()) == "BOUNDED"
    return (class_name(function) or "").rpartition(".")[2] in _ENDING_FUNCTIONS


def given_of(factory: Java, operator: Java) -> Java:
    """The program's object that an operator uses: its function, else the operator or factory itself."""
    if operator is not None and hasattr(operator, "getUserFunction"):
        return operator.getUserFunction()
    if factory is not None and (function := _member(factory, "asyncFunction")) is not None:
        return function
    made = factory if operator is None else operator
    return None if made is None or (class_name(made) or "").startswith(FLINK) else made


def _window(made: Java) -> Window | None:
    assigner, trigger = _member(made, "windowAssigner"), _member(made, "trigger")
    if assigner is None or trigger is None:
        return None
    evictor = _member(made, "evictor")
    descriptor = _member(made, "evictingWindowStateDescriptor") or _member(made, "windowStateDescriptor")
    kind = (class_name(descriptor) or "").rpartition(".")[2]
    return Window(
        assigner=settings_text(assigner),
        assigner_class=(class_name(assigner) or "").rpartition(".")[2],
        event_time=bool(assigner.isEventTime()),
        merging=is_a(assigner, "streaming.api.windowing.assigners.MergingWindowAssigner"),
        trigger=settings_text(trigger),
        evictor=None if evictor is None else settings_text(evictor),
        lateness=int(_member(made, "allowedLateness") or 0),
        function=_FUNCTIONS.get(kind),
    )


def _pattern(made: Java) -> Pattern | None:
    factory = _member(made, "nfaFactory")
    states = None if factory is None else _member(factory, "states")
    if states is None:
        return None
    options = {name: str(value) for name in _PATTERN_OPTIONS if (value := _member(factory, name)) is not None}
    options["processing time"] = str(bool(_member(made, "isProcessingTime")))
    if (skip := _member(made, "afterMatchSkipStrategy")) is not None:
        options["after match"] = str(skip)
    return Pattern(stages=tuple(_stage(one) for one in states), options=options)


def _stage(state: Java) -> Stage:
    ways = sorted(
        f"{way.getAction()} to {way.getTargetState().getName()}{_condition(way.getCondition())}"
        for way in state.getStateTransitions()
    )
    return Stage(name=str(state.getName()), kind=str(member(state, "stateType")), ways=tuple(ways))


def _condition(condition: Java) -> str:
    return "" if condition is None else f" if {digest_of(repr(code_of(condition)))}"


def _bounds(made: Java) -> tuple[int, int] | None:
    lower, upper = _member(made, "lowerBound"), _member(made, "upperBound")
    joins = (class_name(made) or "").endswith("IntervalJoinOperator") and None not in (lower, upper)
    return (int(lower), int(upper)) if joins else None


def _has_its_own_timers(made: Java) -> bool:
    """True for an operator of Flink's that sets timers whatever its function does: windows, patterns, joins."""
    name = class_name(made) or ""
    if not name.startswith(FLINK) or not is_a(made, _TRIGGERABLE):
        return False
    return not any(one in name.rpartition(".")[2] for one in _FOR_FUNCTIONS)


def _registers_timers(what: Java) -> bool | None:
    """Whether the code of an object, or what it calls, registers timers; None if a call may end anywhere."""
    loader = what.getClass().getClassLoader()
    name = (class_name(what) or "").replace(".", "/")
    if loader is None or lambda_of(what) is not None or not classes_of(loader).here(name):
        return None
    classes = classes_of(loader).seen_from(name)
    todo = [method for cls in classes.line(name) for method in cls.methods]
    seen: set[Member] = set()
    unsure = False
    while todo:
        code = todo.pop().code
        for called in (called for one in (() if code is None else code.instructions) for called in calls(one)):
            if called.name in _TIMER_CALLS:
                return True
            if called in seen or classes.own(called.owner) is None:
                continue
            seen.add(called)
            found = classes.resolve(called)
            if found is not None and found.code is not None:
                todo.append(found)
            elif any(one in called.descriptor.partition(")")[0] for one in _LEADS_TO_TIMERS):
                unsure = True
        if len(seen) > _MOST_CALLS:
            return None
    return None if unsure else False


def _member(target: Java, name: str) -> Java:
    """The value of a field; None if there is no such field, as in another version of Flink."""
    try:
        return member(target, name)
    except (AttributeError, jpype.JException):
        return None
