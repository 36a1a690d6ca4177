"""The user-defined functions that an operator of a query calls, found in the planner's generated code."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import jpype

from compat.loader.jvm.bridge import FLINK, Java, class_name, is_a, java
from compat.loader.jvm.bytecode import Walk
from compat.loader.jvm.usercode import classes_of, code_of, fields_of
from compat.state.model.code import UserCode

_TABLE = f"{FLINK}table."
_GENERATED = "table.runtime.generated.GeneratedClass"
_FUNCTION = "table.functions.UserDefinedFunction"
_METHODS = (
    *("eval", "accumulate", "retract", "merge", "getValue", "createAccumulator", "resetAccumulator"),
    *("emitValue", "emitUpdateWithRetract", "emitUpdateWithoutRetract", "finish", "onTimer"),
)
"""The methods that Flink finds in a function by their names, beside those that the classes above it declare."""
_DEPTH, _MOST = 6, 500


def functions_of(factory: Java, operator: Java) -> tuple[UserCode, ...]:
    """The functions of the user's own that an operator of a query calls, by name; none for other operators."""
    found: dict[str, UserCode] = {}
    seen: set[int] = set()
    inner = operator.getUserFunction() if operator is not None and hasattr(operator, "getUserFunction") else None
    for start in (factory, operator, inner):
        if start is not None and (class_name(start) or "").startswith(_TABLE):
            for function in _functions(start, seen, 0):
                code = _code(function)
                if code is not None:
                    found.setdefault(f"{code.name} {code.digest}", code)
    return tuple(found[key] for key in sorted(found))


def _functions(value: Java, seen: set[int], depth: int) -> Iterator[Java]:
    """The functions that an object holds, or what the planner generated for it refers to."""
    identity = int(java("java.lang.System").identityHashCode(value))
    if depth > _DEPTH or len(seen) > _MOST or identity in seen:
        return
    seen.add(identity)
    if is_a(value, _FUNCTION):
        yield value
        return
    if is_a(value, _GENERATED):
        for one in value.getReferences():
            if one is not None and is_a(one, _FUNCTION):
                yield one
        return
    if value.getClass().isArray():
        inner = [] if value.getClass().getComponentType().isPrimitive() else list(value)
    elif (class_name(value) or "").startswith(_TABLE):
        inner = [one for _, one in fields_of(value)]
    else:
        return
    for one in inner:
        if one is not None:
            yield from _functions(one, seen, depth + 1)


def _code(function: Java) -> UserCode | None:
    """The code of a function of the user's own; None for one of Flink's or a library's."""
    loader, name = function.getClass().getClassLoader(), (class_name(function) or "").replace(".", "/")
    if loader is None:
        return None
    classes = classes_of(loader)
    try:
        # A function of a script comes on the class path that Flink has, where a job's jar does not.
        own = classes.seen_from(name) if classes.here(name) else classes.on_class_path(name)
        if own is None:
            return None
        told = code_of(function)
    except jpype.JException:
        return None
    walked = Walk(own, name).methods(name, _METHODS).digest()
    digest = sha256(f"{told.digest} {walked}".encode()).hexdigest()[:32]
    return UserCode(name=name.replace("/", "."), digest=digest, captured=told.captured)
