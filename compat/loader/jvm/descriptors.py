"""The state that a function asks for after opening, from the descriptors in its code.

The code is followed with the function's own fields as they are in the JVM. Descriptors are built from constants, final
fields and Flink's types. Values that code changes later, or gets from elsewhere, are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import jpype
from msgspec import Struct

from compat.loader.jvm.bridge import Java, array_of, fields_of, is_a, java
from compat.loader.jvm.bytecode import Classes
from compat.loader.jvm.classfile import (
    PRIVATE,
    STATIC,
    Call,
    Constant,
    Dynamic,
    FieldUse,
    Handle,
    Member,
    Method,
    Type,
    arguments,
)
from compat.loader.jvm.dataflow import (
    UNKNOWN,
    Flow,
    Fresh,
    Result,
    Term,
    TooLong,
    Value,
    anything,
    known,
)
from compat.loader.jvm.fielduses import STATES
from compat.loader.jvm.usercode import lambda_of, member_of

ASKS = frozenset(
    {
        *("getState", "getValueState", "getListState", "getMapState", "getReducingState", "getAggregatingState"),
        *("getUnionListState", "getPartitionedState", "getOrCreateKeyedState", "mergePartitionedState"),
    }
)
DESCRIPTOR = ("api.common.state.StateDescriptor", "api.common.state.v2.StateDescriptor")
_TRIGGER = "org/apache/flink/streaming/api/windowing/triggers/Trigger$"
_CONTEXT = re.compile(r"org/apache/flink/streaming/api/functions/windowing/Process(?:All)?WindowFunction\$Context")
_OPERATOR_STATE = re.compile(
    r"org/apache/flink/(?:api/common/state/OperatorStateStore|runtime/state/\w*OperatorStateBackend)"
)
_OF_TYPES = ("api.common.typeinfo.TypeInformation", "api.common.typeinfo.TypeHint", *DESCRIPTOR)
_FUNCTION = "api.common.functions.Function"
_PURE = re.compile(
    r"org/apache/flink/api/common/(?:state/(?:v2/)?\w*StateDescriptor|state/StateTtlConfig(?:\$\w+)?|time/Time|typeinfo/\w+"
    r"|typeutils/base/.*)"
    r"|org/apache/flink/api/(?:common|java)/typeutils/\w+(?:TypeInfo|TypeExtractor)"
    r"|org/apache/flink/runtime/state/VoidNamespace\w*|org/apache/flink/streaming/api/windowing/time/Time"
    r"|java/lang/(?:String|Integer|Long|Boolean|Double|Float|Short|Byte|Character|Enum)|java/time/Duration"
    r"|java/util/Objects|java/util/concurrent/TimeUnit"
)
"""Library classes whose methods depend only on their arguments."""
_READS = frozenset(
    "get getOrDefault getKey getValue iterator listIterator next hasNext values keySet entrySet size isEmpty contains "
    "containsKey containsValue orElse orElseThrow isPresent getFirst getLast".split()
)
_CALLS_OF_STATIC, _CALLS_OF_SPECIAL = 0xB8, 0xB7
_GETSTATIC, _PUTFIELD = 0xB2, 0xB5
_FINAL, _STATIC, _ABSTRACT = 0x0010, 0x0008, 0x0400
_NEW_BY_HANDLE = 8
_LAMBDAS, _CONCAT = "java/lang/invoke/LambdaMetafactory", "java/lang/invoke/StringConcatFactory"
_DEPTH, _ROUNDS, _ITEMS, _MOST_CALLS = 12, 4, 200, 32
_NULL = Constant("null", None)
_PRIMITIVES = dict(
    zip("ZBCSIJFD", ("Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double"), strict=True)
)


_HANDED = re.compile(
    r"Lorg/apache/flink/[\w/]*(?:RuntimeContext|StateStore|KeyedStateBackend|WindowFunction\$Context|TriggerContext);"
)
"""The types of objects that are asked for state."""


def name_of(descriptor: Java) -> str:
    """The name of the state that a descriptor describes."""
    return str(descriptor.getName() if hasattr(descriptor, "getName") else descriptor.getStateId())


def hands_over(one: Call) -> bool:
    """Whether a call of code other than Flink's passes an object that can be asked for state."""
    owner, name, descriptor = one.method
    if owner.startswith("org/apache/flink/") or name == "setRuntimeContext":
        return False
    return any(_HANDED.fullmatch(kind) for kind in arguments(descriptor))


Below = Callable[[str], Iterable[str]]
"""The names of the user's classes below one."""


def overriding(classes: Classes, below: Below, method: Method) -> Iterator[Method]:
    """The user's methods that a call may dispatch to."""
    if method.access & (STATIC | PRIVATE) or method.name.startswith("<"):
        return
    for name in below(method.owner.name):
        cls = classes.own(name)
        found = None if cls is None else cls.by_signature.get((method.name, method.descriptor))
        if found is not None and found.code is not None:
            yield found


class Held:
    """An object of the JVM as a term: the same only if it is the same object."""

    __slots__ = ("_identity", "value")

    def __init__(self, value: Java) -> None:
        self.value = value
        self._identity = int(java("java.lang.System").identityHashCode(value))

    def __hash__(self) -> int:
        return self._identity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self._identity == other._identity and self.value is not None


class Made(NamedTuple):
    """The result of a constructor or method called with these arguments."""

    call: Call
    given: tuple[Term, ...]


class Changed(NamedTuple):
    """An object after a method of it was called."""

    target: Term
    call: Call
    given: tuple[Term, ...]


class Inside(NamedTuple):
    """A view between a collection and its elements: an iterator or an entry."""

    collection: Held


class Lambda(NamedTuple):
    """A lambda in the code: its interface, its body, its captured values."""

    interface: str
    body: Handle
    captured: tuple[Value, ...]


class Store(NamedTuple):
    """The store that a window function asks for state of one window, or of all."""

    of_window: bool


class Asked(Struct, frozen=True):
    """A request for state: by which method of Flink, with which descriptor, in the namespace of windows or in none.

    ``namespace`` is the serializer of the program's own namespace.
    """

    method: Member
    descriptor: Java
    of_window: bool = False
    namespace: Java = None

    @property
    def of_operator(self) -> bool:
        """Whether it is operator state."""
        return _OPERATOR_STATE.fullmatch(self.method.owner) is not None


@dataclass(slots=True)
class _Site:
    """One call that asks for state, with all that is known to be asked for there; ``lost`` where there may be more."""

    asked: dict[Term, Asked] = field(default_factory=dict)
    lost: bool = False


class Askings:
    """The requests for state in the code of one object. ``in_windows`` is whether its operator keeps state by windows."""

    def __init__(self, classes: Classes, below: Below, value: Java, in_windows: bool) -> None:
        self._classes, self._below, self._value, self._in_windows = classes, below, value, in_windows
        self._loader = value.getClass().getClassLoader()
        self._fields: dict[tuple[Term, str], Value] = {}
        self._changing: set[Term] = set()
        self._changed: set[Term] = set()
        self._sites: dict[tuple[Member, Call], _Site] = {}
        self._running: list[Member] = []
        self._seen: set[Member] = set()
        self._bodies: list[tuple[Method, tuple[Value, ...]]] = []
        self._flow = Flow(self)

    def of(self, entries: Iterable[Method], reached: Iterable[Method]) -> tuple[tuple[Asked, ...], str | None]:
        """The state requests when ``entries`` are called, and in all code that is ``reached`` in other ways.

        Also gives the method whose requests are unknown, if there is one.
        """
        entries, reached = list(entries), list(reached)
        try:
            for _ in range(_ROUNDS):
                before = dict(self._fields), len(self._changing), len(self._changed)
                self._round(entries, reached)
                if before == (self._fields, len(self._changing), len(self._changed)):
                    return self._found()
        except (TooLong, ValueError, jpype.JException):
            pass  # code that no compiler writes, or classes that are not at hand
        return self._found()[0], entries[0].name if entries else ""

    def _round(self, entries: list[Method], reached: list[Method]) -> None:
        self._sites.clear()
        self._seen.clear()
        for method in entries:
            self._run(method, (known(Held(self._value)), *anything(method)[1:]))
        waiting = [(method, anything(method)) for method in reached if method.member not in self._seen]
        while waiting or self._bodies:
            method, given = self._bodies.pop() if self._bodies else waiting.pop()
            self._run(method, given)

    def _found(self) -> tuple[tuple[Asked, ...], str | None]:
        lost = next((member.name for (member, _), site in self._sites.items() if site.lost), None)
        return tuple(one for site in self._sites.values() for one in site.asked.values()), lost

    def _run(self, method: Method, given: tuple[Value, ...]) -> Value:
        """Follow a method; one that calls itself gives anything."""
        self._seen.add(method.member)
        if method.member in self._running:
            return UNKNOWN
        if len(self._running) > _DEPTH:
            raise TooLong
        self._running.append(method.member)
        try:
            return self._flow.run(method, given)
        finally:
            self._running.pop()

    # The effects of the code in the flow.

    def read(self, one: FieldUse, of: Value) -> Value:
        """The possible values of a field: its value in the JVM if nothing changes it, and all values seen to be stored."""
        if one.opcode == _GETSTATIC:
            return self._static(one.field)
        result: Value | None = None
        for term in of.terms or ():
            if not isinstance(term, Held):
                return UNKNOWN
            found = self._field(term, one.field)
            result = found if result is None else result.joined(found)
        return UNKNOWN if result is None else result

    def write(self, one: FieldUse, of: Value, value: Value) -> None:
        """Record the values stored in a field of known objects."""
        if one.opcode != _PUTFIELD or (of.terms is None and self._running[-1].name == "<init>"):
            return  # a constructor only writes into its own object
        for term in (None,) if of.terms is None else of.terms:
            key = term, one.field.name
            self._fields[key] = value if key not in self._fields else self._fields[key].joined(value)

    def cast(self, name: str, value: Value) -> Value:
        """The values that belong to a class; those of unknown class are included."""
        if value.terms is None:
            return value
        return Value(frozenset(term for term in value.terms if self._may_be(term, name)))

    def dynamic(self, one: Dynamic, captured: tuple[Value, ...]) -> Value:
        """A lambda, whose body is followed too, or a concatenated text."""
        owner = one.bootstrap.member.owner
        if owner == _CONCAT and one.arguments:
            return self._text(one, captured)
        body = next((given for given in one.arguments if isinstance(given, Handle)), None)
        if owner != _LAMBDAS or body is None:
            return UNKNOWN
        if body.member.name in ASKS and self._classes.resolve(body.member) is None:
            self._sites.setdefault((self._running[-1], Call(0, body.member)), _Site()).lost = True
        method = self._classes.resolve(body.member)
        if method is not None and method.member not in self._seen:
            self._bodies.append((method, (*captured, *anything(method)[len(captured) :])))
            self._seen.add(method.member)
        return known(Lambda(one.descriptor.rpartition(")L")[2].rstrip(";"), body, captured))

    def call(self, one: Call, given: tuple[Value, ...], where: Method) -> Result:
        """The result of a call: Flink's answer to a request for state, the user's code, or a computed value."""
        name, owner = one.method.name, one.method.owner
        if name in ASKS and (owner.startswith("org/apache/flink/") or self._classes.resolve(one.method) is None):
            self._ask(one, given, where)
            return Result(UNKNOWN)
        if _CONTEXT.fullmatch(owner) and name in ("windowState", "globalState"):
            return Result(known(Store(name == "windowState")))
        if name == "<init>":
            return self._constructed(one, given)
        if one.opcode not in (_CALLS_OF_STATIC, _CALLS_OF_SPECIAL):
            given = (self.cast(owner, given[0]), *given[1:])
        targets = list(self._targets(one, given))
        targets = [(method, arguments_) for method, arguments_ in targets if method.code is not None]
        if targets:
            value: Value | None = None
            for method, arguments_ in targets:
                result = self._run(method, arguments_)
                value = result if value is None else value.joined(result)
            return Result(UNKNOWN if value is None else value)
        if hands_over(one):
            self._sites.setdefault((where.member, one), _Site()).lost = True
        if _PURE.fullmatch(owner) or self._is_of(owner, *_OF_TYPES):
            return self._worked_out(one, given)
        return self._of_library(one, given)

    # Askings.

    def _ask(self, one: Call, given: tuple[Value, ...], where: Method) -> None:
        site = self._sites.setdefault((where.member, one), _Site())
        kinds = arguments(one.method.descriptor)
        place = next((place for place, kind in enumerate(kinds) if kind.endswith("StateDescriptor;")), None)
        values = given[len(given) - len(kinds) :]
        terms = None if place is None else values[place].terms
        windows = self._of_window(one, given)
        if terms is None or windows is None or terms == {_NULL}:
            site.lost = True
            return
        namespaces = [value for value, kind in zip(values, kinds, strict=True) if kind.endswith("/TypeSerializer;")]
        for term in terms - {_NULL}:
            try:
                namespace = self._only(namespaces[0]) if namespaces else None
                site.asked[term] = Asked(one.method, self._descriptor(term), windows, namespace)
            except _NotKnown:
                site.lost = True

    def _descriptor(self, term: Term) -> Java:
        made = self._object(term)
        if term in self._changed or not is_a(made, *DESCRIPTOR):
            raise _NotKnown
        return made

    def _only(self, value: Value) -> Java:
        if value.terms is None or len(value.terms) != 1:
            raise _NotKnown
        return self._object(next(iter(value.terms)))

    def _of_window(self, one: Call, given: tuple[Value, ...]) -> bool | None:
        """Whether state is asked for in the namespace of a window; None if that cannot be told."""
        if one.method.owner.startswith(_TRIGGER):
            return True
        if one.method.owner != f"{STATES}KeyedStateStore" or not self._in_windows:
            return False
        stores = given[0].terms
        if stores is None or len(stores) != 1 or not isinstance(store := next(iter(stores)), Store):
            return None
        return store.of_window

    # Calls.

    def _targets(self, one: Call, given: tuple[Value, ...]) -> Iterator[tuple[Method, tuple[Value, ...]]]:
        """The user's methods that a call may come to, with what they are given."""
        if one.opcode not in (_CALLS_OF_STATIC, _CALLS_OF_SPECIAL) and given[0].terms:
            for term in given[0].terms:
                if (body := self._body_of(term)) is not None:
                    method, captured = body
                    yield method, (*captured, *given[1:])
                elif isinstance(term, Held):
                    name = str(term.value.getClass().getName()).replace(".", "/")
                    if (declared := self._classes.resolve(one.method)) is not None:
                        self._seen.add(declared.member)  # one that is overridden is not called
                    if (meant := self._implementation(name, one.method)) is not None:
                        yield meant, (known(term), *given[1:])
                elif (found := self._classes.resolve(one.method)) is not None:
                    yield found, given
        elif (found := self._classes.resolve(one.method)) is not None:
            yield found, given
            if one.opcode not in (_CALLS_OF_STATIC, _CALLS_OF_SPECIAL):
                yield from ((method, given) for method in overriding(self._classes, self._below, found))

    def _implementation(self, name: str, wanted: Member) -> Method | None:
        return self._classes.resolve(Member(name, wanted.name, wanted.descriptor))

    def _body_of(self, term: Term) -> tuple[Method, tuple[Value, ...]] | None:
        """The body of a lambda that is known, with what it captured."""
        if isinstance(term, Lambda):
            body, captured = term.body.member, term.captured
        elif isinstance(term, Held) and (told := lambda_of(term.value)) is not None:
            body = member_of(told)
            captured = tuple(
                self._value_of(told.getCapturedArg(place)) for place in range(int(told.getCapturedArgCount()))
            )
        else:
            return None
        method = self._classes.resolve(body)
        return None if method is None else (method, captured)

    def _constructed(self, one: Call, given: tuple[Value, ...]) -> Result:
        """An object behind its constructor: known where that is the constructor of a descriptor, a type or a function."""
        fresh = next(iter(given[0].terms or ()), None)
        method = self._classes.resolve(one.method)
        if not isinstance(fresh, Fresh):
            if method is not None:
                self._run(method, given)
            return Result(UNKNOWN, self._given_away(given[1:]) if method is None else {})
        if _PURE.fullmatch(one.method.owner) or self._is_of(one.method.owner, *_OF_TYPES, _FUNCTION):
            calls = self._calls(one, given[1:])
            return Result(UNKNOWN, {fresh: UNKNOWN if calls is None else known(*calls)})
        if method is not None:
            self._run(method, (UNKNOWN, *given[1:]))
        return Result(UNKNOWN, {fresh: UNKNOWN, **self._given_away(given[1:])})

    def _worked_out(self, one: Call, given: tuple[Value, ...]) -> Result:
        """What a method of a class gives that depends on its arguments only; an object of it is another one behind it."""
        calls = self._calls(one, given)
        if calls is None:
            return Result(UNKNOWN, self._given_away(given[:1]))
        fluent = one.method.descriptor.endswith(f")L{one.method.owner};")
        if one.opcode != _CALLS_OF_STATIC and (fluent or one.method.descriptor.endswith(")V")):
            changed = {call.given[0]: known(Changed(call.given[0], one, call.given[1:])) for call in calls}
            if any(isinstance(term, Held) for term in changed) or len(changed) < len(calls):
                self._changed.update(changed)
                return Result(UNKNOWN, self._given_away(given[:1]))
            return Result(known(*(term for value in changed.values() for term in value.terms or ())), changed)
        try:
            return Result(known(*(self._plain(call) for call in calls)))
        except _NotKnown:
            return Result(UNKNOWN)

    def _calls(self, one: Call, given: tuple[Value, ...]) -> list[Made] | None:
        """The calls that these values may mean; None if one of them is not known, or there are too many."""
        choices = [value.terms for value in given]
        if any(terms is None for terms in choices):
            return None
        found = [Made(one, chosen) for chosen in product(*(terms or () for terms in choices))]
        return found if len(found) <= _MOST_CALLS else None

    def _plain(self, call: Made) -> Term:
        """What a call gives: a constant if it is one, else what it was called with stands for it."""
        found = self._constant(self._object(call), call.call.method.descriptor.rpartition(")")[2])
        return call if found is None else found

    def _of_library(self, one: Call, given: tuple[Value, ...]) -> Result:
        """A call of code that nobody looks at: it reads collections, and may change all other objects that it gets."""
        receiver = given[0].terms if given and one.opcode != _CALLS_OF_STATIC else None
        if not receiver or one.method.name not in _READS:
            return Result(UNKNOWN, self._given_away(given))
        result = Value(frozenset())
        for term in receiver:
            collection = term.collection if isinstance(term, Inside) else term
            result = result.joined(self._contents(collection) if isinstance(collection, Held) else UNKNOWN)
        return Result(result)

    def _given_away(self, given: Iterable[Value]) -> dict[Term, Value]:
        """Known objects that others may change now are not known any more."""
        lost: dict[Term, Value] = {}
        for term in (term for value in given for term in value.terms or ()):
            if isinstance(term, Held | Inside):
                self._changing.add(term if isinstance(term, Held) else term.collection)
            elif isinstance(term, Made | Changed):
                lost[term] = UNKNOWN
        return lost

    def _contents(self, collection: Held) -> Value:
        """What is in a collection that nothing changes."""
        if collection in self._changing:
            return UNKNOWN
        value = collection.value
        if isinstance(value, java("java.util.Map")):
            items = [part for entry in value.entrySet() for part in (entry.getKey(), entry.getValue())]
        elif isinstance(value, java("java.util.Collection")):
            items = list(value)
        else:
            return UNKNOWN
        if len(items) > _ITEMS:
            return UNKNOWN
        result = known(Inside(collection))
        for one in items:
            result = result.joined(self._value_of(one))
        return result

    # Fields and objects.

    def _static(self, wanted: Member) -> Value:
        try:
            found = self._declared(self._class(wanted.owner), wanted.name)
            if found is None or not int(found.getModifiers()) & _FINAL:
                return UNKNOWN
            return self._value_of(found.get(None), wanted.descriptor)
        except (jpype.JException, _NotKnown):
            return UNKNOWN

    def _declared(self, cls: Java, name: str) -> Java:
        while cls is not None:
            for one in cls.getDeclaredFields():
                if str(one.getName()) == name and int(one.getModifiers()) & _STATIC:
                    one.setAccessible(True)
                    return one
            cls = cls.getSuperclass()
        return None

    def _field(self, of: Held, wanted: Member) -> Value:
        found = next((one for one in fields_of(of.value) if str(one.getName()) == wanted.name), None)
        if found is None:
            return UNKNOWN
        found.setAccessible(True)
        now = self._value_of(found.get(of.value), wanted.descriptor)
        for key in ((of, wanted.name), (None, wanted.name)):
            now = now.joined(self._fields[key]) if key in self._fields else now
        return now

    def _value_of(self, value: Java, descriptor: str = "L") -> Value:
        constant = self._constant(value, descriptor)
        return known(Held(value) if constant is None else constant, wide=descriptor in ("J", "D"))

    def _constant(self, value: Java, descriptor: str) -> Constant | None:
        """A value as code has it as a constant; None for an object."""
        if value is None:
            return _NULL
        if isinstance(value, java("java.lang.String")):
            return Constant("String", str(value))
        if descriptor in ("I", "S", "B"):
            return Constant("I", int(value))
        if descriptor == "Z":
            return Constant("I", int(bool(value)))
        if descriptor == "C":
            return Constant("I", ord(str(value)))
        if descriptor in ("J", "F", "D"):
            return Constant(descriptor, str(value) if descriptor != "J" else int(value))
        return None

    def _text(self, one: Dynamic, captured: tuple[Value, ...]) -> Value:
        """The texts that a concatenation of known parts may give."""
        recipe = one.arguments[0]
        if not isinstance(recipe, Constant) or "\2" in str(recipe.value):
            return UNKNOWN
        kinds = arguments(one.descriptor)
        if any(value.terms is None for value in captured) or not set(kinds) <= {"I", "J", "Ljava/lang/String;"}:
            return UNKNOWN
        found = set[Term]()
        for chosen in product(*(value.terms or () for value in captured)):
            if not all(isinstance(term, Constant) and term.type in ("I", "J", "String") for term in chosen):
                return UNKNOWN
            parts = iter(str(term.value) for term in chosen if isinstance(term, Constant))
            found.add(Constant("String", re.sub("\1", lambda _: next(parts), str(recipe.value))))  # noqa: B023
        return known(*found) if len(found) <= _MOST_CALLS else UNKNOWN

    def _class(self, name: str) -> Java:
        if name in _PRIMITIVES:
            return java(f"java.lang.{_PRIMITIVES[name]}").TYPE
        plain = name[1:-1] if name.startswith("L") and name.endswith(";") else name
        return java("java.lang.Class").forName(plain.replace("/", "."), True, self._loader)

    def _is_of(self, name: str, *kinds: str) -> bool:
        """Whether a class is one of the user's, or of Flink's, below some of Flink's."""
        try:
            cls = self._class(name)
            return any(java(f"org.apache.flink.{one}").class_.isAssignableFrom(cls) for one in kinds)
        except (jpype.JException, TypeError):
            return False

    def _may_be(self, term: Term, name: str) -> bool:
        if isinstance(term, Inside):
            return name.startswith("java/")
        if term == _NULL:
            return True
        try:
            return bool(self._class(name).isInstance(self._object(term)))
        except (jpype.JException, _NotKnown):
            return True

    def _object(self, term: Term, descriptor: str = "L") -> Java:
        """A term as an object of the JVM, made again. Raises _NotKnown."""
        if isinstance(term, Held):
            return term.value
        if isinstance(term, Constant):
            return _boxed(term, descriptor)
        if isinstance(term, Type) and not term.opcode:
            return self._class(term.name)
        if isinstance(term, Lambda):
            return self._stand_in(term)
        try:
            if isinstance(term, Made):
                return self._invoke(term.call, term.given, None)
            if isinstance(term, Changed):
                target = self._object(term.target)
                self._invoke(term.call, term.given, target)
                return target
        except jpype.JException as error:
            raise _NotKnown from error
        raise _NotKnown

    def _invoke(self, call: Call, given: tuple[Term, ...], target: Java) -> Java:
        owner, name, descriptor = call.method
        kinds = arguments(descriptor)
        if name != "<init>" and call.opcode != _CALLS_OF_STATIC and target is None:
            target, given = self._object(given[0]), given[1:]
        objects = array_of(java("java.lang.Object"))(
            [self._object(term, kind) for term, kind in zip(given, kinds, strict=True)]
        )
        types = array_of(java("java.lang.Class"))([self._class(kind) for kind in kinds])
        cls = self._class(owner)
        if name == "<init>":
            constructor = cls.getDeclaredConstructor(types)
            constructor.setAccessible(True)
            return constructor.newInstance(objects)
        method = _method(cls, name, types)
        method.setAccessible(True)
        return method.invoke(target, objects)

    def _stand_in(self, term: Lambda) -> Java:
        """An object in place of a lambda of the user's, which nobody calls. Raises _NotKnown."""
        invoke = "java.lang.invoke."
        try:
            interface = self._class(term.interface)
            (method,) = (one for one in interface.getMethods() if int(one.getModifiers()) & _ABSTRACT)
            kind = java(f"{invoke}MethodType").methodType(method.getReturnType(), method.getParameterTypes())
            nothing = java(f"{invoke}MethodHandles").empty(kind)
            return java(f"{invoke}MethodHandleProxies").asInterfaceInstance(interface, nothing)
        except (jpype.JException, ValueError) as error:
            raise _NotKnown from error


def is_stand_in(value: Java) -> bool:
    """Whether an object stands in for a lambda of the user."""
    return bool(java("java.lang.invoke.MethodHandleProxies").isWrapperInstance(value))


class _NotKnown(Exception):
    """A value that cannot be made here."""


def _method(cls: Java, name: str, types: Java) -> Java:
    at = cls
    while at is not None:
        try:
            return at.getDeclaredMethod(name, types)
        except jpype.JException:
            at = at.getSuperclass()
    return cls.getMethod(name, types)


def _boxed(one: Constant, descriptor: str) -> Java:
    """A constant as an object, of the type that is asked for. Raises _NotKnown."""
    if one.value is None:
        return None
    if one.type == "String":
        return java("java.lang.String")(one.value)
    number = one.value
    if not isinstance(number, int):
        raise _NotKnown
    if descriptor == "Z":
        return java("java.lang.Boolean").valueOf(bool(number))
    if one.type == "J":
        return java("java.lang.Long").valueOf(jpype.JLong(number))
    if descriptor in ("I", "L"):
        return java("java.lang.Integer").valueOf(jpype.JInt(number))
    raise _NotKnown
