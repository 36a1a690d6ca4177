"""State that an operator may ask for only when records come, so that its empty snapshot does not show it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import jpype

from compat.loader.jvm.bridge import Java, bytes_of, class_name, exists, fields_of, flink, is_a, member
from compat.loader.jvm.bytecode import Classes
from compat.loader.jvm.classfile import ABSTRACT, BRIDGE, Call, Dynamic, FieldUse, Instruction, Member, Method
from compat.loader.jvm.dataflow import TooLong
from compat.loader.jvm.descriptors import ASKS, Asked, Askings, Below, hands_over, name_of, overriding
from compat.loader.jvm.fielduses import FieldUses, calls
from compat.loader.jvm.surely import CALLS_OF_ONE, surely_run
from compat.loader.jvm.usercode import classes_around, classes_of
from compat.state.model.states import More

_RAW = frozenset({"getRawKeyedOperatorStateOutput", "getRawOperatorStateOutput"})
_OPENING = frozenset({"<init>", "open", "setup", "setRuntimeContext", "initializeState"})
_OPEN = "(Lorg/apache/flink/api/common/functions/OpenContext;)V"
_RICH = "api.common.functions.RichFunction"
_OLD_OPEN = "(Lorg/apache/flink/configuration/Configuration;)V"
_TIMERS = frozenset({"getInternalTimerService"})
_OPENS = frozenset({"setRuntimeContext", "setFunctionRuntimeContext", "openFunction"})
"""Methods by which code opens a nested function."""
_OPERATOR = "streaming.api.operators.StreamOperator"
_WINDOWS = "streaming.runtime.operators.windowing.WindowOperator"
_DESCRIPTOR_OF_ASYNCHRONOUS = "api.common.state.v2.StateDescriptor"
_STATE = ("api.common.state.State", "api.common.state.v2.State")
_TYPE, _SERIALIZER = "api.common.typeinfo.TypeInformation", "api.common.typeutils.TypeSerializer"
_TRIGGER = "streaming.api.windowing.triggers.Trigger"
_HOLDERS = ("streaming.api.operators.", "streaming.api.functions.", "streaming.runtime.operators.windowing.", "cep.")
"""Packages of Flink's own classes that hold functions of the program."""
_PUTS = frozenset({0xB3, 0xB5})
"""Putting a value into a field, static or of an object."""
_DEPTH, _MOST_METHODS = 5, 3000


class Later(NamedTuple):
    """The state that an operator asks for when records come, as far as known, and why there may be more."""

    asked: tuple[Asked, ...] = ()
    why: str | None = None


def later_of(operator: Java, *, opened: bool = True) -> Later:
    """The state that an operator asks for when records come, and in open() if that was not called."""
    in_windows = is_a(operator, _WINDOWS)
    values = list(_of_the_program(operator, nested=opened))
    function = operator.getUserFunction() if not (opened or values) and hasattr(operator, "getUserFunction") else None
    if function is not None and classes_around(function) is not None:
        values.append(function)
    found = [_later(value, in_windows, opened) for value in values]
    why = next((one.why for one in found if one.why is not None), None)
    if why is None and not opened and len(list(_of_the_program(operator))) > len(values):
        why = "a function that it holds may ask for state"
    return Later(tuple(asked for one in found for asked in one.asked), why)


def declare(operator: Java, config: Java, *, opened: bool = True) -> str | None:
    """Have an operator declare the state that it asks for when records come; gives the reason why there may be more.

    If open() was not called, the states that it asks for are declared too. Raises Flink's exceptions.
    """
    later = later_of(operator, opened=opened)
    by_name: dict[tuple[bool, str], list[Asked]] = {}
    for one in later.asked:
        if hasattr(one.descriptor, "initializeSerializerUnlessSet"):
            one.descriptor.initializeSerializerUnlessSet(config)
        by_name.setdefault((one.of_operator, name_of(one.descriptor)), []).append(one)
    why = later.why
    for (_, name), same in by_name.items():
        if all(_alike(same[0], other) for other in same[1:]):
            _declare(operator, same[0])
        else:
            why = why or f"the state {name!r} is asked for in different ways"
    return why


def raw_serializers(operator: Java, config: Java) -> Iterator[tuple[str, Java]]:
    """The serializers in the fields of a program's operator that its code uses to write raw state, by field.

    A field may hold the type in place of the serializer.
    """
    for value in _of_the_program(operator):
        name = (class_name(value) or "").replace(".", "/")
        classes = classes_of(value.getClass().getClassLoader()).seen_from(name)
        line = tuple(classes.line(name))
        used: set[str] = set()
        for cls in line:
            uses = FieldUses(cls)
            used.update(*(uses.used(method) for method in cls.methods if _calls_one_of(classes, method, _RAW)))
        for field in fields_of(value) if used else ():
            if str(field.getName()) in used:
                field.setAccessible(True)
                held = field.get(value)
                if is_a(held, _TYPE):
                    held = held.createSerializer(_of_types(config))
                if is_a(held, _SERIALIZER):
                    yield str(field.getName()), held


def _of_types(config: Java) -> Java:
    """The configuration that types make serializers of: a part of its own since Flink 1.19."""
    return config.getSerializerConfig() if hasattr(config, "getSerializerConfig") else config


def more_of(why: str | None, factory: Java, loader: Java) -> More | None:
    """The reason why an operator may keep more state than it has asked for, if there is one."""
    return None if why is None else More(why=why, code=_fingerprint(factory, loader))


def _declare(operator: Java, asked: Asked) -> None:
    """Ask for a state as Flink's own classes do behind the method that the program calls."""
    if asked.of_operator:
        getattr(operator.getOperatorStateBackend(), asked.method.name)(asked.descriptor)
    elif is_a(asked.descriptor, _DESCRIPTOR_OF_ASYNCHRONOUS):
        getattr(operator.getRuntimeContext(), asked.method.name)(asked.descriptor)
    else:
        serializer = asked.namespace or flink("runtime.state.VoidNamespaceSerializer").INSTANCE
        serializer = member(operator, "windowSerializer") if asked.of_window else serializer
        operator.getKeyedStateBackend().getOrCreateKeyedState(serializer, asked.descriptor)


def _alike(one: Asked, other: Asked) -> bool:
    """Whether two askings of one name mean the same state."""
    first, second = one.descriptor, other.descriptor
    return (
        (one.of_window, one.method.name) == (other.of_window, other.method.name)
        and first.getType() == second.getType()
        and bool(first.getSerializer().equals(second.getSerializer()))
        and str(first.getTtlConfig()) == str(second.getTtlConfig())
    )


def _of_the_program(value: Java, depth: int = _DEPTH, *, nested: bool = True) -> Iterator[Java]:
    """The objects of the program that an operator is, or carries in Flink's, and, ``nested``, those that they hold in turn."""
    if value is None or (loader := value.getClass().getClassLoader()) is None:
        return
    name = class_name(value) or ""
    if classes_of(loader).here(name.replace(".", "/")):
        yield value
        if not nested:
            return
    elif depth == 0 or not name.startswith(tuple(f"org.apache.flink.{one}" for one in _HOLDERS)):
        return
    for field in fields_of(value) if depth else ():
        try:
            field.setAccessible(True)
            inner = field.get(value)
        except jpype.JException:
            continue
        if is_a(inner, "api.common.functions.Function", _TRIGGER):
            yield from _of_the_program(inner, depth - 1, nested=nested)


def _later(value: Java, in_windows: bool, opened: bool = True) -> Later:
    """The state that an object's code asks for after its opening; unknown if that leads to more code than can be followed."""
    try:
        return _followed(value, in_windows, opened)
    except TooLong:
        return Later(why=f"{class_name(value)} leads to more code than can be followed")


def _followed(value: Java, in_windows: bool, opened: bool) -> Later:
    name = (class_name(value) or "").replace(".", "/")
    all_classes = classes_around(value)
    assert all_classes is not None
    classes, below = all_classes.seen_from(name), all_classes.below
    entries = list(_called_by_flink(classes, name))
    coming = [one for one in entries if one.name not in _OPENING]
    done = [one for one in entries if one.name in _OPENING]
    opening = None if opened else _open_of(value, classes, name)
    if not opened:
        done = [one for one in done if one.name != "open"]
        coming += () if opening is None else (opening,)
    before = _reached(classes, done, made=False)
    kept, perhaps = _lambdas_of(classes, before.values())
    coming += kept
    later = _reached(classes, coming)
    short = name.rpartition("/")[2].replace("$", ".")
    for method in {**before, **later}.values():
        if _calls_one_of(classes, method, _RAW):
            return Later(why=f"{short} writes raw state of its own in {method.name}()")
    anywhere = _reached(classes, coming, below)
    if not opened and (why := _beyond_reading(value, classes, opening, below)) is not None:
        return Later(why=f"{short} {why}")
    askings = Askings(classes, below, value, in_windows)
    left = [one for one in perhaps if any(_asks(classes, each) for each in _reached(classes, [one]).values())]
    # What is told only when such a lambda is called may have been so in opening.
    handed = askings.of(left, _reached(classes, left).values())[0] if left else ()
    if not any(
        _asks(classes, method) and (member not in before or not member.descriptor.startswith("()") or _waits(value))
        for member, method in anywhere.items()
    ):
        return Later(tuple(handed))
    asked, lost = askings.of(coming, later.values())
    when = ", when records come" if opened else ""
    return Later((*asked, *handed), None if lost is None else f"{short} asks for state in {lost}(){when}")


def _lambdas_of(classes: Classes, methods: Iterable[Method]) -> tuple[list[Method], list[Method]]:
    """The lambdas of methods, which run when something calls them: those that are put into fields, and the others."""
    kept: list[Method] = []
    others: list[Method] = []
    for method in methods:
        for one, after in itertools.pairwise(_instructions(method)):
            into = kept if isinstance(after, FieldUse) and after.opcode in _PUTS else others
            for called in calls(one) if isinstance(one, Dynamic) else ():
                if classes.own(called.owner) is not None and (found := classes.resolve(called)) is not None:
                    into.append(found)
    return kept, others


def _open_of(value: Java, classes: Classes, name: str) -> Method | None:
    """The method of the program that Flink calls to open an object, as this version of Flink and the kind of object have it."""
    descriptors = ["()V"] if is_a(value, _OPERATOR) else [_OPEN]
    opens = [one for one in flink(_RICH).class_.getMethods() if str(one.getName()) == "open"]
    if any("Configuration" in str(kind.getName()) for one in opens for kind in one.getParameterTypes()):
        descriptors.append(_OLD_OPEN)
    found = (classes.resolve(Member(name, "open", one)) for one in descriptors)
    return next((one for one in found if one is not None and one.code is not None), None)


def _beyond_reading(value: Java, classes: Classes, opening: Method | None, below: Below) -> str | None:
    """Why the states that open() asks for cannot be read from its code; None if they can."""
    name, above = (class_name(value) or "").replace(".", "/"), value.getClass().getSuperclass()
    all_classes = classes_around(value)
    while (
        above is not None
        and all_classes is not None
        and all_classes.here(parent := str(above.getName()).replace(".", "/"))
    ):
        if classes.own(parent) is None:
            return f"extends {above.getSimpleName()} of a library"
        above = above.getSuperclass()
    if opening is None:
        return None
    sure = surely_run(classes, name, opening)
    for method in _reached(classes, [opening], below).values():
        if is_a(value, _OPERATOR) and _calls_one_of(classes, method, _TIMERS):
            return "asks for timers"
        if any(
            one.name in _OPENS and classes.own(one.owner) is None
            for each in _instructions(method)
            for one in calls(each)
        ):
            return f"opens another function in {method.name}()"
        for place, one in enumerate(_instructions(method)):
            asks = any(called.name in ASKS and classes.resolve(called) is None for called in calls(one))
            if asks and (method.member, place) not in sure:
                return f"asks for state conditionally in {method.name}()"
    return None


def _called_by_flink(classes: Classes, name: str) -> Iterator[Method]:
    """The constructors of a class, and its methods that stand for those of classes above it, but those that it overrides."""
    seen = set[tuple[str, str]]()
    for cls in classes.line(name):
        inherited = {one for one, _ in classes.inherited(cls.name)}
        for method in cls.methods:
            if method.name not in inherited | _OPENING or method.access & (BRIDGE | ABSTRACT):
                continue
            signature = method.name, method.descriptor
            if method.name in _OPENING or signature not in seen:
                yield method
            seen.add(signature)


def _reached(
    classes: Classes, entries: Iterable[Method], below: Below | None = None, *, made: bool = True
) -> Mapping[Member, Method]:
    """The program's methods that code comes to, with all methods of the objects and the lambdas that it makes, if ``made``.

    With ``below``, methods that others override are those, too, where the object decides which is called. Raises TooLong.
    """
    found: dict[Member, Method] = {}
    todo = list(entries)
    while todo:
        if len(found) == _MOST_METHODS:
            raise TooLong
        method = todo.pop()
        if method.member in found or method.code is None:
            continue
        found[method.member] = method
        for one in method.code.instructions:
            if isinstance(one, Dynamic) and not made:
                continue
            by_object = below is not None and not (isinstance(one, Call) and one.opcode in CALLS_OF_ONE)
            for called in calls(one):
                cls = classes.own(called.owner)
                if made and called.name == "<init>" and cls is not None and cls.name != method.owner.name:
                    todo += cls.methods
                elif cls is not None and (resolved := classes.resolve(called)) is not None:
                    todo.append(resolved)
                    todo += overriding(classes, below, resolved) if by_object and below is not None else ()
    return found


def _calls_one_of(classes: Classes, method: Method, names: frozenset[str]) -> bool:
    """True if a method calls one of Flink's of these names, or makes a reference to one."""
    return any(
        called.name in names and (called.owner.startswith("org/apache/flink/") or classes.resolve(called) is None)
        for one in _instructions(method)
        for called in calls(one)
    )


def _asks(classes: Classes, method: Method) -> bool:
    """True if a method asks for state, or may have code do so that nobody looks at."""
    return _calls_one_of(classes, method, ASKS) or any(
        isinstance(one, Call) and hands_over(one) and not _is_followed(classes, one.method)
        for one in _instructions(method)
    )


def _instructions(method: Method) -> tuple[Instruction, ...]:
    return () if method.code is None else method.code.instructions


def _is_followed(classes: Classes, called: Member) -> bool:
    method = classes.resolve(called)
    return method is not None and method.code is not None


def _waits(value: Java) -> bool:
    """True if a field for a state is still empty: it is filled with the first record."""
    state = [flink(name).class_ for name in _STATE if exists(name)]
    for field in fields_of(value):
        if any(one.isAssignableFrom(field.getType()) for one in state):
            field.setAccessible(True)
            if field.get(value) is None:
                return True
    return False


def _fingerprint(factory: Java, loader: Java) -> str | None:
    """A digest of all that could decide what such an operator keeps: its fields, and the classes that it can come to."""
    try:
        written = bytes_of(flink("util.InstantiationUtil").serializeObject(factory))
    except jpype.JException:
        return None
    return hashlib.sha256(written + classes_of(loader).digest_of(written).encode()).hexdigest()[:32]
