"""The fields in which a function holds its states. The field names are the program's, the state names Flink's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import jpype

from compat.loader.jvm.bridge import Java, class_name, fields_of, is_a, member, members
from compat.loader.jvm.descriptors import DESCRIPTOR, name_of
from compat.loader.jvm.fielduses import FieldUses
from compat.loader.jvm.harness import keyed_backend
from compat.loader.jvm.settings import digest_of
from compat.loader.jvm.usercode import classes_of
from compat.state.model.behaviour import Holding

_STATE = ("api.common.state.State", "api.common.state.v2.State")
_DEPTH = 3
_OF_INPUT = re.compile(r"(?:processElement|map|flatMap)([12])|process(Broadcast)?Element")


def holding_of(operator: Java) -> Holding | None:
    """The states in the fields of an open operator's function; None if there are none."""
    if not hasattr(operator, "getUserFunction") or (function := operator.getUserFunction()) is None:
        return None
    names = _names(operator)
    fields = {}
    for field in fields_of(function):
        try:
            field.setAccessible(True)
            held = _state_in(field.get(function), names)
        except jpype.JException:
            continue
        if held is not None:
            fields[str(field.getName())] = held
    if not fields:
        return None
    name = (class_name(function) or "").replace(".", "/")
    classes = classes_of(function.getClass().getClassLoader()).seen_from(name)
    uses = [FieldUses(cls) for cls in classes.line(name)]
    return Holding(
        fields=fields,
        code=_digest(uses, fields, {}),
        code_by_state=_digest(uses, fields, fields),
        inputs=tuple(_inputs(uses, fields)),
    )


def _names(operator: Java) -> dict[int, str]:
    """The names of the states that an operator has asked for, by the identity of what it was given."""
    found: dict[int, str] = {}
    backend = keyed_backend(operator)
    if backend is not None:
        for name, state in member(backend, "keyValueStatesByName").items():
            found[_identity(state)] = str(name)
    backend = operator.getOperatorStateBackend()
    for registered in ("registeredOperatorStates", "registeredBroadcastStates"):
        if backend is not None and (states := _member(backend, registered)) is not None:
            found |= {_identity(state): str(name) for name, state in states.items()}
    return found


def _state_in(value: Java, names: Mapping[int, str], depth: int = _DEPTH) -> str | None:
    """The name of the state that a value is, wraps or describes."""
    if value is None:
        return None
    if is_a(value, *DESCRIPTOR):
        return name_of(value)
    name = names.get(_identity(value))
    if name is not None or depth == 0 or not is_a(value, *_STATE):
        return name
    # What Flink gives to functions wraps the state of the backend.
    return next((found for one in members(value) if (found := _state_in(one, names, depth - 1))), None)


def _identity(value: Java) -> int:
    return int(jpype.JClass("java.lang.System").identityHashCode(value))


def _digest(uses: Iterable[FieldUses], fields: Mapping[str, str], renamed: Mapping[str, str]) -> str:
    """A digest of the methods that do not name a state; fields count by what ``renamed`` calls them."""
    names = set(fields.values())
    told = sorted(
        f"{method.name}{method.descriptor} {one.text(method, renamed)}"
        for one in uses
        for method in one.cls.methods
        if "$" not in method.name and names.isdisjoint(one.texts(method))
    )
    return digest_of("\n".join(told))


def _inputs(uses: Iterable[FieldUses], fields: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """For each input of a function of two, the states in the fields that its code for that input's records uses."""
    used: dict[str, set[str]] = {}
    for one in uses:
        for method in one.cls.methods:
            match = _OF_INPUT.fullmatch(method.name)
            if match is not None:
                number = match[1] or ("2" if match[2] else "1")
                used.setdefault(number, set()).update(fields[name] for name in one.used(method) if name in fields)
    if used.keys() == {"1", "2"}:
        yield from (tuple(sorted(used[number])) for number in ("1", "2"))


def _member(target: Java, name: str) -> Java:
    try:
        return member(target, name)
    except (AttributeError, jpype.JException):
        return None
