"""State that an operator may ask for once records come: what its empty snapshot does not show."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import jpype

from compat.loader.jvm.bridge import Java, bytes_of, class_name, fields_of, flink, is_a, members
from compat.loader.jvm.bytecode import Classes
from compat.loader.jvm.classfile import ABSTRACT, BRIDGE, Call, Member, Method
from compat.loader.jvm.fielduses import calls
from compat.loader.jvm.usercode import classes_of
from compat.state.model.states import More

_ASKS = frozenset(
    {
        *("getState", "getListState", "getMapState", "getReducingState", "getAggregatingState", "getUnionListState"),
        *("getPartitionedState", "getOrCreateKeyedState"),
    }
)
_RAW = frozenset({"getRawKeyedOperatorStateOutput", "getRawOperatorStateOutput"})
_OPENING = frozenset({"<init>", "open", "setup", "setRuntimeContext", "initializeState"})
_STATE = ("api.common.state.State", "api.common.state.v2.State")
_DESCRIPTOR = ("api.common.state.StateDescriptor", "api.common.state.v2.StateDescriptor")
_TRIGGER = "streaming.api.windowing.triggers.Trigger"
_HOLDERS = ("streaming.api.operators.", "streaming.api.functions.", "streaming.runtime.operators.windowing.", "cep.")
"""Packages of Flink's own classes that carry functions of the program's."""
_DEPTH, _MOST_METHODS = 5, 3000


def more_of(operator: Java, factory: Java, loader: Java) -> More | None:
    """Why an open operator may keep more than it has asked for so far; None where it cannot."""
    for value in _of_the_program(operator):
        why = _why(value)
        if why is not None:
            return More(why=why, code=_fingerprint(factory, loader))
    return None


def _of_the_program(value: Java, depth: int = _DEPTH) -> Iterator[Java]:
    """The objects of the program's own classes that an operator is, or carries in Flink's."""
    if value is None or (loader := value.getClass().getClassLoader()) is None:
        return
    name = class_name(value) or ""
    if classes_of(loader).here(name.replace(".", "/")):
        yield value
    elif depth == 0 or not name.startswith(tuple(f"org.apache.flink.{one}" for one in _HOLDERS)):
        return
    for field in fields_of(value) if depth else ():
        try:
            field.setAccessible(True)
            inner = field.get(value)
        except jpype.JException:
            continue
        if is_a(inner, "api.common.functions.Function", _TRIGGER):
            yield from _of_the_program(inner, depth - 1)


def _why(value: Java) -> str | None:
    """What in the code of an object asks for state behind its opening."""
    name = (class_name(value) or "").replace(".", "/")
    classes = classes_of(value.getClass().getClassLoader()).seen_from(name)
    entries = list(_called_by_flink(classes, name))
    later = _reached(classes, (one for one in entries if one.name not in _OPENING))
    opening = _reached(classes, (one for one in entries if one.name in _OPENING))
    short = name.rpartition("/")[2].replace("$", ".")
    for member, method in {**opening, **later}.items():
        if _asked(classes, method, _RAW):
            return f"{short} writes raw state of its own in {member.name}()"
    if is_a(value, _TRIGGER) and any(is_a(one, *_DESCRIPTOR) for one in members(value)):
        return None
    for member, method in later.items():
        if _asked(classes, method, _ASKS) and (
            member not in opening or not member.descriptor.startswith("()") or _waits(value)
        ):
            return f"{short} asks for state in {member.name}(), when records come"
    return None


def _called_by_flink(classes: Classes, name: str) -> Iterator[Method]:
    """The methods of a class that stand for those of classes above it, and its constructors."""
    for cls in classes.line(name):
        inherited = {one for one, _ in classes.inherited(cls.name)}
        for method in cls.methods:
            if method.name in inherited | _OPENING and not method.access & (BRIDGE | ABSTRACT):
                yield method


def _reached(classes: Classes, entries: Iterable[Method]) -> Mapping[Member, Method]:
    """The program's methods that code comes to, with all methods of the objects that it makes."""
    found: dict[Member, Method] = {}
    todo = list(entries)
    while todo and len(found) < _MOST_METHODS:
        method = todo.pop()
        if method.member in found or method.code is None:
            continue
        found[method.member] = method
        for called in (called for one in method.code.instructions for called in calls(one)):
            cls = classes.own(called.owner)
            if called.name == "<init>" and cls is not None and cls.name != method.owner.name:
                todo += cls.methods
            elif cls is not None and (resolved := classes.resolve(called)) is not None:
                todo.append(resolved)
    return found


def _asked(classes: Classes, method: Method, names: frozenset[str]) -> bool:
    """True if a method calls one of Flink's of these names."""
    code = method.code
    return any(
        isinstance(one, Call)
        and one.method.name in names
        and (one.method.owner.startswith("org/apache/flink/") or classes.resolve(one.method) is None)
        for one in (() if code is None else code.instructions)
    )


def _waits(value: Java) -> bool:
    """True if a field for a state is still empty: it is filled with the first record."""
    state = [flink(name).class_ for name in _STATE if _exists(name)]
    for field in fields_of(value):
        if any(one.isAssignableFrom(field.getType()) for one in state):
            field.setAccessible(True)
            if field.get(value) is None:
                return True
    return False


def _exists(name: str) -> bool:
    try:
        return flink(name) is not None
    except (jpype.JException, TypeError):
        return False


def _fingerprint(factory: Java, loader: Java) -> str | None:
    """A digest of all that could decide what such an operator keeps: the job's classes, and the operator's own fields."""
    try:
        written = bytes_of(flink("util.InstantiationUtil").serializeObject(factory))
    except jpype.JException:
        return None
    return hashlib.sha256(written + classes_of(loader).digest.encode()).hexdigest()[:32]
