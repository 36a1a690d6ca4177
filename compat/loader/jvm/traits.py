"""What an operator does, told by the objects that it was made of: its function, windows, pattern, key, timers."""

from __future__ import annotations

from collections.abc import Iterable

import jpype

from compat.loader.jvm.bridge import Java, class_name, is_a, member
from compat.loader.jvm.classfile import ClassCode, Member, Method
from compat.loader.jvm.model import Traits, Window, WindowFunction
from compat.loader.jvm.objects import body_of, class_code, digest_of, given, is_framework, settings_text
from compat.plan.behaviour import Code, Pattern, Stage

_ASYNCHRONOUS = (
    "runtime.asyncprocessing.operators.AbstractAsyncStateStreamOperator",
    "runtime.asyncprocessing.operators.AbstractAsyncStateStreamOperatorV2",
)
_GIVEN_FIELDS = ("source", "sink", "asyncFunction", "committerFactory")
_TIMER_CALLS = frozenset({"registerEventTimeTimer", "registerProcessingTimeTimer"})
_LEADS_TO_TIMERS = ("TimerService;", "Context;")
_MOST_CALLS = 2000
_FUNCTIONS: dict[str, WindowFunction] = {
    "ReducingStateDescriptor": "reduce",
    "AggregatingStateDescriptor": "aggregate",
    "ListStateDescriptor": "process",
}
_PATTERN_OPTIONS = ("windowTime", "windowTimes", "timeoutHandling")


def traits_of(factory: Java, operator: Java, keys: Java) -> Traits:
    """What the operator of a factory does; ``operator`` is None for one that is made later. ``keys`` are its key selectors."""
    made = factory if operator is None else operator
    if made is None:
        return Traits()
    what = None if is_table(made) else _given(factory, operator)
    return Traits(
        given=None if what is None else given(what),
        key=_key(keys),
        window=_window(made),
        pattern=_pattern(made),
        timers=None if what is None else _registers_timers(what),
        asynchronous=is_a(made, *_ASYNCHRONOUS),
        bounds=_bounds(made),
    )


def _given(factory: Java, operator: Java) -> Java:
    """The object of the program's that an operator works with: its function, source or sink, else the operator itself."""
    if operator is not None and hasattr(operator, "getUserFunction"):
        function = operator.getUserFunction()
        while function is not None and hasattr(function, "getWrappedFunction"):
            function = function.getWrappedFunction()
        found = _folds(operator) or function
        return None if found is None or is_table(found) else found
    for name in _GIVEN_FIELDS:
        value = _member(factory, name)
        if value is not None:
            return None if is_table(value) else value
    made = factory if operator is None else operator
    return None if is_framework(class_name(made) or "") else made


def _folds(operator: Java) -> Java:
    """The function that folds records into what a window holds; None if it holds them all."""
    descriptor = _member(operator, "windowStateDescriptor")
    for name in ("reduceFunction", "aggFunction", "aggregateFunction"):
        if descriptor is not None and (found := _member(descriptor, name)) is not None:
            return found
    return None


def _key(keys: Java) -> Code | None:
    first = next(iter(keys or ()), None)
    return None if first is None or is_framework(class_name(first) or "") else given(first)


def _window(made: Java) -> Window | None:
    assigner, trigger = _member(made, "windowAssigner"), _member(made, "trigger")
    if assigner is None or trigger is None or is_table(made):
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


def is_table(made: Java) -> bool:
    """True for what the planner of SQL made."""
    return (class_name(made) or "").startswith("org.apache.flink.table.")


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
    if condition is None:
        return ""
    made = given(condition)
    return f" if {made.name.rpartition('.')[2]}#{digest_of(repr(made))[:6]}"


def _bounds(made: Java) -> tuple[int, int] | None:
    lower, upper = _member(made, "lowerBound"), _member(made, "upperBound")
    joins = is_a(made, "streaming.api.operators.co.IntervalJoinOperator") and None not in (lower, upper)
    return (int(lower), int(upper)) if joins else None


class _Callees:
    """The methods of the program's that some of its code calls, found as far as calls say which they are."""

    def __init__(self, loader: Java, codes: Iterable[ClassCode]) -> None:
        self._loader = loader
        self._known: dict[str, ClassCode | None] = {code.file.name: code for code in codes}

    def find(self, called: Member) -> Method | None:
        """A method that has code, in the class that the call names or in one that it inherits from."""
        owner: str | None = called.owner
        while owner is not None and not is_framework(owner):
            if owner not in self._known:
                self._known[owner] = class_code(self._loader, owner)
            code = self._known[owner]
            found = None if code is None else code.method(called.name, called.descriptor)
            if code is not None and found is not None and found.instructions:
                return found
            owner = None if code is None else code.file.super_name
        return None


def _registers_timers(what: Java) -> bool | None:
    """Whether the code of an object, or what it calls, registers timers; None where a call may end anywhere."""
    body = body_of(what)
    if not body.codes:
        return None
    callees = _Callees(what.getClass().getClassLoader(), body.codes)
    todo = [method for code in body.codes for method in code.file.methods] if body.method is None else [body.method]
    seen = set()
    unsure = False
    while todo:
        for instruction in todo.pop().instructions:
            for called in instruction.calls:
                if called.name in _TIMER_CALLS:
                    return True
                if called in seen or is_framework(called.owner):
                    continue
                seen.add(called)
                found = callees.find(called)
                if found is not None:
                    todo.append(found)
                elif any(one in called.descriptor.partition(")")[0] for one in _LEADS_TO_TIMERS):
                    unsure = True
        if len(seen) > _MOST_CALLS:
            return None
    return None if unsure else False


def _member(target: Java, name: str) -> Java:
    """The value of a field; None where there is no such field, as in another version of Flink."""
    try:
        return member(target, name)
    except (AttributeError, jpype.JException):
        return None
