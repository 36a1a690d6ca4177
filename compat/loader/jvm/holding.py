"""The fields in which a function holds its states. The field names are the program's, the state names Flink's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import islice

import jpype

from compat.loader.jvm.bridge import Java, class_name, fields_of, is_a, java, member, members
from compat.loader.jvm.classfile import Method
from compat.loader.jvm.descriptors import DESCRIPTOR, name_of
from compat.loader.jvm.fielduses import FieldUses
from compat.loader.jvm.harness import keyed_backend
from compat.loader.jvm.settings import digest_of
from compat.loader.jvm.usercode import classes_of
from compat.state.model.behaviour import MOST_ROLES, Holding, in_its_role

_STATE = ("api.common.state.State", "api.common.state.v2.State")
_DEPTH = 3
_MOST = 100
_BEFORE = frozenset({"open", "initializeState", "<init>", "<clinit>"})
"""Methods whose states are in fields, once they have run."""
_OF_INPUT = re.compile(r"(?:processElement|map|flatMap)([12])|process(Broadcast)?Element")


def holding_of(operator: Java) -> Holding | None:
    """The states in the fields of an open operator's function and in what is in these, and those that it, or the trigger of
    its windows, asks for elsewhere; None if there are none."""
    if not hasattr(operator, "getUserFunction") or (function := operator.getUserFunction()) is None:
        return None
    names = _names(operator)
    reach = _Reach(operator.getUserCodeClassloader(), names)
    reach.within(function)
    if (trigger := _member(operator, "trigger")) is not None:
        reach.within(trigger, "trigger.")
    uses = list(reach.uses())
    reach.elsewhere(uses)
    asked = frozenset(names.values()) - frozenset(reach.fields.values())
    places = dict(_places(uses, asked))
    if not reach.fields and not places:
        return None
    sides = _inputs(uses)
    return Holding(
        fields={**reach.fields, **places},
        code=_digest(uses, reach.fields, {}, asked),
        code_by_state=_digest(uses, reach.fields, reach.fields, frozenset()),
        inputs=tuple(_states_in((one.used(method) for one, method in side), reach.fields) for side in sides),
        changed=tuple(_states_in((one.changed(method) for one, method in side), reach.fields) for side in sides),
        roles=dict(_roles(uses, reach.fields)),
    )


def _roles(uses: list[FieldUses], fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """By state, a digest of the code in which only this one can be told from the others."""
    for state in sorted(set(fields.values()))[:MOST_ROLES]:
        if roles := in_its_role(state, fields):
            yield state, _digest(uses, fields, roles, frozenset())


def _places(uses: Iterable[FieldUses], asked: Set[str]) -> Iterator[tuple[str, str]]:
    """The states that methods ask for by a text in their code or in that of their lambdas, by the number of this text."""
    for one in uses:
        for method in one.cls.methods:
            here = set(one.texts(method)) if method.name in _BEFORE else set[str]()
            if "$" not in method.name:
                for name, number in _numbered(one, method, asked - here).items():
                    yield f"{method.name}[{number}]", name


def _numbered(one: FieldUses, method: Method, asked: Set[str]) -> dict[str, int]:
    """The names of states in the code of a method and of its lambdas, in their order there."""
    found = dict.fromkeys(text for text in one.texts_reached(method) if text in asked)
    return {name: number for number, name in enumerate(found)}


class _Reach:
    """What a function can come to without a call: ``fields`` are the names of states by where they are."""

    def __init__(self, loader: Java, names: Mapping[int, str]) -> None:
        self.fields: dict[str, str] = {}
        self._loader, self._names = loader, names
        self._user = classes_of(loader)
        self._helping: dict[str, None] = {}

    def uses(self) -> Iterator[FieldUses]:
        """The code that may use the states: the function's, and that of the objects that help it."""
        for name in self._helping:
            yield from map(FieldUses, self._user.seen_from(name).line(name))

    def within(self, holder: Java, path: str = "", depth: int = 0) -> None:
        """Look at the fields of an object of the user's."""
        name = (class_name(holder) or "").replace(".", "/")
        if depth and (name in self._helping or not self._user.here(name)):
            return
        self._helping[name] = None
        for field in fields_of(holder):
            self._look(f"{path}{field.getName()}", field, holder, depth + 1)

    def elsewhere(self, uses: Iterable[FieldUses]) -> None:
        """Look at the static fields of other classes of the user's that the code reads, by their short names."""
        for name, field in (each for one in uses for each in one.elsewhere().items()):
            if self._user.here(field.owner):
                try:
                    held = self._loader.loadClass(field.owner.replace("/", ".")).getDeclaredField(field.name)
                except jpype.JException:
                    continue  # it is of a class above that one
                self._look(name, held, None, _DEPTH - 1)

    def _look(self, path: str, field: Java, holder: Java, depth: int) -> None:
        try:
            field.setAccessible(True)
            self._held(path, field.get(holder), depth)
        except jpype.JException:
            return  # one of Java's own

    def _held(self, path: str, value: Java, depth: int) -> None:
        """Note a state or its descriptor; else look into a collection, an array or an object of the user's."""
        state = _state_in(value, self._names)
        if state is not None:
            self.fields[path] = state
        elif value is not None and depth < _DEPTH:
            for place, one in _entries(value):
                self._held(f"{path}[{place}]", one, depth + 1)
            if isinstance(value, java("java.lang.Object")):
                self.within(value, f"{path}.", depth)


def _entries(value: Java) -> Iterator[tuple[str, Java]]:
    """What is in a map, by its keys, or in a list or an array of objects, by its places."""
    if isinstance(value, java("java.util.Map")):
        yield from ((repr(str(one.getKey())), one.getValue()) for one in islice(value.entrySet(), _MOST))
    elif isinstance(value, (java("java.util.List"), java("java.lang.Object[]"))):
        yield from ((str(place), one) for place, one in enumerate(islice(value, _MOST)))


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


def _digest(uses: Iterable[FieldUses], fields: Mapping[str, str], renamed: Mapping[str, str], masked: Set[str]) -> str:
    """A digest of the methods that do not name a state of the ``fields`` nor fill them; fields count by what ``renamed`` calls
    them, and places in collections and helping objects, which the code reaches step by step, with it. Names that are
    ``masked`` count by their order.
    """
    names = set(fields.values())
    told = sorted(
        f"{method.name}{method.descriptor} {one.text(method, renamed, _numbered(one, method, masked))}"
        for one in uses
        for method in one.cls.methods
        if "$" not in method.name and names.isdisjoint(one.texts(method)) and not _only_fills(one, method)
    )
    told += sorted(f"{place} {state}" for place, state in renamed.items() if not place.isidentifier())
    return digest_of("\n".join(told))


def _only_fills(one: FieldUses, method: Method) -> bool:
    """Whether a method has run before the first record, and makes no lambda: the fields show what it did."""
    return method.name in _BEFORE and len(list(one.reached(method))) == len(one.instructions(method))


def _inputs(uses: Iterable[FieldUses]) -> list[list[tuple[FieldUses, Method]]]:
    """For each input of a function of two, its code for that input's records; empty for other functions."""
    found: dict[str, list[tuple[FieldUses, Method]]] = {}
    for one in uses:
        for method in one.cls.methods:
            match = _OF_INPUT.fullmatch(method.name)
            if match is not None:
                found.setdefault(match[1] or ("2" if match[2] else "1"), []).append((one, method))
    return [found["1"], found["2"]] if found.keys() == {"1", "2"} else []


def _states_in(found: Iterable[set[str]], fields: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({fields[name] for names in found for name in names if name in fields}))


def _member(target: Java, name: str) -> Java:
    try:
        return member(target, name)
    except (AttributeError, jpype.JException):
        return None
