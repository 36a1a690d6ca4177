"""The possible values at each call in code: follows the methods of class files without running them.

Each instruction is evaluated with all possible locals and stacks; branches with a known condition are taken one way
only. A :class:`World` gives the results of calls, fields and objects. Nothing here needs a JVM.
The effects of the instructions are those of the Java Virtual Machine Specification, chapter 6.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import product
from typing import NamedTuple, Protocol

from compat.loader.jvm.classfile import (
    STATIC,
    Call,
    Code,
    Constant,
    Dynamic,
    FieldUse,
    Handle,
    Instruction,
    Jump,
    Local,
    Member,
    Method,
    Plain,
    Switch,
    Type,
    arguments,
)

Term = Hashable
"""A known value: a :class:`Constant` or :class:`Type` of the class file, a :class:`Fresh`, or a term of a world."""

_MOST_TERMS = 16
_MOST_STEPS = 100_000
_GETSTATIC, _PUTSTATIC, _GETFIELD, _PUTFIELD = 0xB2, 0xB3, 0xB4, 0xB5
_STATIC_CALL = 0xB8
_NEW, _NEW_ARRAY, _CAST, _MANY_ARRAYS = 0xBB, 0xBD, 0xC0, 0xC5
_GOTO, _IF_NULL, _IF_NOT_NULL, _THROW = 0xA7, 0xC6, 0xC7, 0xBF
_TO_LONG = 0x85
_RETURN, _VOID_RETURN = range(0xAC, 0xB1), 0xB1
_COMPARED: tuple[Callable[[int, int], bool], ...] = (
    *(operator.eq, operator.ne, operator.lt),
    *(operator.ge, operator.gt, operator.le),
)


class Value(NamedTuple):
    """The possible contents of a local or stack slot: one of these terms, or anything for None. ``wide`` are long and
    double.
    """

    terms: frozenset[Term] | None = None
    wide: bool = False

    def joined(self, other: Value) -> Value:
        """The possible values if control comes from one of two places."""
        if self.terms is None or other.terms is None:
            return Value(None, self.wide)
        both = self.terms | other.terms
        return Value(both if len(both) <= _MOST_TERMS else None, self.wide)


UNKNOWN, WIDE = Value(), Value(wide=True)


def known(*terms: Term, wide: bool = False) -> Value:
    """The value that is one of some terms."""
    return Value(frozenset(terms), wide)


class Fresh(NamedTuple):
    """An object whose constructor has not been called yet, by the instruction that creates it."""

    name: str
    method: Member
    place: int


class Result(NamedTuple):
    """The result of a call, and what it turned known objects into."""

    value: Value
    now: Mapping[Term, Value] = {}


class World(Protocol):
    """The results of calls, fields and casts."""

    def call(self, one: Call, given: tuple[Value, ...], where: Method) -> Result: ...
    def read(self, one: FieldUse, of: Value) -> Value: ...
    def write(self, one: FieldUse, of: Value, value: Value) -> None: ...
    def dynamic(self, one: Dynamic, captured: tuple[Value, ...]) -> Value: ...
    def cast(self, name: str, value: Value) -> Value: ...


class TooLong(Exception):
    """Code that cannot be followed to its end: it has too many steps, or unusual instructions."""


class Frame(NamedTuple):
    """The contents of the locals and the stack before an instruction."""

    locals: Mapping[int, Value]
    stack: tuple[Value, ...] = ()

    def joined(self, other: Frame) -> Frame:
        shared = self.locals.keys() & other.locals.keys()
        stack = tuple(one.joined(two) for one, two in zip(self.stack, other.stack, strict=True))
        return Frame({slot: self.locals[slot].joined(other.locals[slot]) for slot in shared}, stack)

    def pop(self, count: int) -> tuple[tuple[Value, ...], Frame]:
        """The values on top, the deepest first, and the frame without them."""
        if len(self.stack) < count:
            raise TooLong
        at = len(self.stack) - count
        return self.stack[at:], Frame(self.locals, self.stack[:at])

    def push(self, *values: Value) -> Frame:
        return Frame(self.locals, (*self.stack, *values))

    def put(self, slot: int, value: Value) -> Frame:
        return Frame({**self.locals, slot: value}, self.stack)

    def replaced(self, now: Mapping[Term, Value]) -> Frame:
        """The frame with other values for some terms."""
        if not now:
            return self
        return Frame(
            {slot: _replaced(one, now) for slot, one in self.locals.items()},
            tuple(_replaced(one, now) for one in self.stack),
        )


class Flow:
    """Methods followed in one world; all of them together have a limit of steps."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps = 0

    def run(self, method: Method, given: tuple[Value, ...]) -> Value:
        """The possible results of a method called with these values. Raises TooLong."""
        code = method.code
        if code is None:
            return UNKNOWN
        return _Run(self, self._world, method, code).result(_entry(given))

    def step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooLong


class _Run:
    """One method on its way."""

    def __init__(self, flow: Flow, world: World, method: Method, code: Code) -> None:
        self._flow, self._world, self._method, self._code = flow, world, method, code
        self._given: Value | None = None

    def result(self, entry: Frame) -> Value:
        frames, waiting = {0: entry}, [0]
        while waiting:
            place = waiting.pop()
            self._flow.step()
            for target, frame in self._reached(place, frames[place]):
                before = frames.get(target)
                joined = frame if before is None else before.joined(frame)
                if joined != before:
                    frames[target] = joined
                    waiting.append(target)
        return UNKNOWN if self._given is None else self._given

    def _reached(self, place: int, frame: Frame) -> Iterator[tuple[int, Frame]]:
        """Where code goes on behind an instruction, and with what."""
        if place >= len(self._code.instructions):
            raise TooLong
        for handler in self._code.handlers:
            if handler.start <= place < handler.end:
                yield handler.target, Frame(frame.locals, (UNKNOWN,))
        one = self._code.instructions[place]
        if isinstance(one, Jump):
            yield from _jumped(one, place, frame)
        elif isinstance(one, Switch):
            (value,), frame = frame.pop(1)
            yield from ((target, frame) for target in _targets(one, value))
        elif isinstance(one, Plain) and (one.opcode in _RETURN or one.opcode in (_VOID_RETURN, _THROW)):
            self._ended(one, frame)
        else:
            yield place + 1, self._behind(one, place, frame)

    def _ended(self, one: Plain, frame: Frame) -> None:
        if one.opcode in _RETURN:
            (value,), _ = frame.pop(1)
            self._given = value if self._given is None else self._given.joined(value)

    def _behind(self, one: Instruction, place: int, frame: Frame) -> Frame:
        if isinstance(one, Constant):
            return frame.push(known(one, wide=one.type in ("J", "D")))
        if isinstance(one, Local):
            return _local(one, frame)
        if isinstance(one, FieldUse):
            return self._field(one, frame)
        if isinstance(one, Call):
            return self._called(one, frame)
        if isinstance(one, Dynamic):
            return self._dynamic(one, frame)
        if isinstance(one, Type):
            return self._type(one, place, frame)
        if isinstance(one, Plain):
            return _plain(one.opcode, frame)
        raise TooLong

    def _field(self, one: FieldUse, frame: Frame) -> Frame:
        wide = one.field.descriptor in ("J", "D")
        if one.opcode in (_GETSTATIC, _GETFIELD):
            given, frame = frame.pop(int(one.opcode == _GETFIELD))
            return frame.push(self._world.read(one, given[0] if given else UNKNOWN)._replace(wide=wide))
        given, frame = frame.pop(1 + int(one.opcode == _PUTFIELD))
        self._world.write(one, given[0] if len(given) > 1 else UNKNOWN, given[-1])
        return frame

    def _called(self, one: Call, frame: Frame) -> Frame:
        given, frame = frame.pop(len(arguments(one.method.descriptor)) + int(one.opcode != _STATIC_CALL))
        result = self._world.call(one, given, self._method)
        return _given_back(one.method.descriptor, result.value, frame.replaced(result.now))

    def _dynamic(self, one: Dynamic, frame: Frame) -> Frame:
        if not one.descriptor:
            return frame.push(UNKNOWN)  # the constant of a method's handle
        if not one.descriptor.startswith("("):
            return frame.push(WIDE if one.descriptor in ("J", "D") else UNKNOWN)
        captured, frame = frame.pop(len(arguments(one.descriptor)))
        return _given_back(one.descriptor, self._world.dynamic(one, captured), frame)

    def _type(self, one: Type, place: int, frame: Frame) -> Frame:
        if one.opcode == 0:
            return frame.push(known(one))
        if one.opcode == _NEW:
            return frame.push(known(Fresh(one.name, self._method.member, place)))
        popped = int(one.name.partition(" ")[0]) if one.opcode == _MANY_ARRAYS else 1
        given, frame = frame.pop(popped)
        return frame.push(self._world.cast(one.name, given[0]) if one.opcode == _CAST else UNKNOWN)


def anything(method: Method) -> tuple[Value, ...]:
    """Values for a call of a method about which nothing is known."""
    of_arguments = (WIDE if one in ("J", "D") else UNKNOWN for one in arguments(method.descriptor))
    return (*(() if method.access & STATIC else (UNKNOWN,)), *of_arguments)


def handles(one: Instruction) -> Iterator[Member]:
    """The methods that a lambda or a reference to a method stands for."""
    if isinstance(one, Dynamic):
        yield from (given.member for given in one.arguments if isinstance(given, Handle))


def _entry(given: tuple[Value, ...]) -> Frame:
    locals_: dict[int, Value] = {}
    slot = 0
    for one in given:
        locals_[slot] = one
        slot += 2 if one.wide else 1
    return Frame(locals_)


def _given_back(descriptor: str, value: Value, frame: Frame) -> Frame:
    kind = descriptor.rpartition(")")[2]
    return frame if kind == "V" else frame.push(value._replace(wide=kind in ("J", "D")))


def _replaced(value: Value, now: Mapping[Term, Value]) -> Value:
    if value.terms is None or value.terms.isdisjoint(now):
        return value
    result: Value = Value(frozenset(), value.wide)
    for term in value.terms:
        result = result.joined(now.get(term, known(term)))
    return result


def _local(one: Local, frame: Frame) -> Frame:
    if one.opcode == 0x84:
        return frame.put(one.slot, UNKNOWN)
    if 0x15 <= one.opcode <= 0x19:
        return frame.push(frame.locals.get(one.slot, Value(wide=one.opcode in (0x16, 0x18))))
    if 0x36 <= one.opcode <= 0x3A:
        (value,), frame = frame.pop(1)
        return frame.put(one.slot, value)
    raise TooLong


def _jumped(one: Jump, place: int, frame: Frame) -> Iterator[tuple[int, Frame]]:
    if one.opcode == _GOTO:
        yield one.target, frame
        return
    two = 0x9F <= one.opcode <= 0xA6
    if not (two or 0x99 <= one.opcode <= 0x9E or one.opcode in (_IF_NULL, _IF_NOT_NULL)):
        raise TooLong
    given, frame = frame.pop(1 + int(two))
    for jumps in _decided(one.opcode, given):
        yield (one.target if jumps else place + 1), frame


def _decided(opcode: int, given: tuple[Value, ...]) -> set[bool]:
    """Which ways a condition may go."""
    if any(one.terms is None for one in given):
        return {True, False}
    if opcode in (_IF_NULL, _IF_NOT_NULL):
        nulls = {isinstance(term, Constant) and term.type == "null" for term in given[0].terms or ()}
        return {null == (opcode == _IF_NULL) for null in nulls}
    if opcode in (0xA5, 0xA6):
        return {True, False}
    compare = _COMPARED[(opcode - 0x99) % 6]
    numbers = [[_number(term) for term in one.terms or ()] for one in given]
    found = set[bool]()
    for pair in product(*(numbers if len(numbers) == 2 else (*numbers, [0]))):
        one, other = pair
        if one is None or other is None:
            return {True, False}
        found.add(compare(one, other))
    return found


def _number(term: Term) -> int | None:
    return term.value if isinstance(term, Constant) and term.type == "I" and isinstance(term.value, int) else None


def _targets(one: Switch, value: Value) -> set[int]:
    everywhere = {one.default, *(target for _, target in one.cases)}
    if value.terms is None:
        return everywhere
    numbers = {_number(term) for term in value.terms}
    return everywhere if None in numbers else {dict(one.cases).get(number or 0, one.default) for number in numbers}


def _plain(opcode: int, frame: Frame) -> Frame:
    if 0x57 <= opcode <= 0x5F:
        return _moved(opcode, frame)
    if opcode == 0x00:
        return frame
    popped, pushed = _effect(opcode)
    given, frame = frame.pop(popped)
    return frame.push(_lengthened(given[0])) if opcode == _TO_LONG else frame.push(*pushed)


def _lengthened(value: Value) -> Value:
    """Ints as longs."""
    numbers = None if value.terms is None else [_number(term) for term in value.terms]
    if numbers is None or None in numbers:
        return WIDE
    return known(*(Constant("J", number) for number in numbers), wide=True)


def _effect(opcode: int) -> tuple[int, tuple[Value, ...]]:
    """How many values an instruction takes from the stack, and what it puts there."""
    if 0x2E <= opcode <= 0x35:
        return 2, (WIDE if opcode in (0x2F, 0x31) else UNKNOWN,)
    if 0x4F <= opcode <= 0x56:
        return 3, ()
    if 0x60 <= opcode <= 0x77:
        return (2 if opcode < 0x74 else 1), (WIDE if opcode % 4 in (1, 3) else UNKNOWN,)
    if 0x78 <= opcode <= 0x83:
        return 2, (WIDE if opcode % 2 else UNKNOWN,)
    if 0x85 <= opcode <= 0x93:
        return 1, (WIDE if opcode in (0x85, 0x87, 0x8A, 0x8C, 0x8D, 0x8F) else UNKNOWN,)
    if 0x94 <= opcode <= 0x98:
        return 2, (UNKNOWN,)
    if opcode == 0xBE:
        return 1, (UNKNOWN,)
    if opcode in (0xC2, 0xC3):
        return 1, ()
    raise TooLong


_MOVED = {
    0x57: (1, 0),
    0x58: (2, 0),
    0x59: (1, 0),
    0x5A: (1, 1),
    0x5B: (1, 2),
    0x5C: (2, 0),
    0x5D: (2, 1),
    0x5E: (2, 2),
}
"""For each instruction that only moves stack words: how many it moves or copies, and how deep."""


def _moved(opcode: int, frame: Frame) -> Frame:
    if opcode == 0x5F:
        swapped, frame = frame.pop(2)
        return frame.push(*reversed(swapped))
    size, depth = _MOVED[opcode]
    top, frame = _words(frame, size)
    if opcode in (0x57, 0x58):
        return frame
    between, frame = _words(frame, depth)
    return frame.push(*top, *between, *top)


def _words(frame: Frame, size: int) -> tuple[tuple[Value, ...], Frame]:
    """The values that the top words of the stack are, a long or double being two."""
    found: tuple[Value, ...] = ()
    while size > 0:
        (one,), frame = frame.pop(1)
        found = (one, *found)
        size -= 2 if one.wide else 1
    return found, frame
