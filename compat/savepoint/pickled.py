"""The structure of stored values: of pickles, and of texts of JSON. Nothing is unpickled.

A pickle is a program for a machine with a stack (`pickletools` lists its steps). Here that machine puts together shapes instead
of objects: no class is looked up, and no function is called.
"""

from __future__ import annotations

import json
import pickletools
from collections.abc import Callable, Iterable, Iterator, Mapping

from compat.state.model.contents import Shape, Shapes, any_of

_DEPTH = 6
_MOST = 20_000
"""Steps, and looks, after which a value is too large to be worth the walk."""
_MARK = "mark"
_NUMBERS = frozenset("INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT NEWTRUE NEWFALSE".split())
_TEXTS = frozenset("UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 STRING BINSTRING SHORT_BINSTRING".split())
_BYTES = frozenset("SHORT_BINBYTES BINBYTES BINBYTES8 BYTEARRAY8".split())
_ROW = "pyflink.common.types:_create_row"
_CONTAINERS: Mapping[str, str] = {
    "collections:deque": "list",
    "collections:OrderedDict": "dict",
    "collections:defaultdict": "dict",
    "collections:Counter": "dict",
    "builtins:set": "set",
    "builtins:frozenset": "set",
}
_RECONSTRUCTORS = ("copyreg:_reconstructor", "copyreg:__newobj__", "copyreg:__newobj_ex__")


class _Untold(Exception):
    """A step that is not known here."""


class _Made:
    """A value that is being made: its kind, and what was put into it; ``text`` is the text or the name of a class."""

    __slots__ = ("entries", "kind", "name", "parts", "text")

    def __init__(self, kind: str, parts: Iterable[_Made] = (), text: str = "", name: str = "") -> None:
        self.kind, self.text, self.name = kind, text, name
        self.parts = list(parts)
        self.entries: list[tuple[_Made, _Made]] = []

    def shapes(self, left: Iterator[int], depth: int = 0) -> Shapes:
        """What it is; ``()`` if that is not known, or nothing is ``left`` of the looks that a value may take."""
        if self.kind in ("none", "class", _MARK) or depth > _DEPTH or next(left, None) is None:
            return ()
        if self.kind == "dict":
            return (self._of_entries(left, depth),)
        parts = [one.shapes(left, depth + 1) for one in self.parts]
        if self.kind == "object":
            return (Shape(kind="object", name=self.name),)
        if self.kind in ("list", "set"):
            known = () if () in parts else any_of(parts)
            return (Shape(kind=self.kind, parts=(known,) if known else (), name=self.name),)
        if self.kind == "row":
            return (Shape(kind="row", parts=tuple(parts), keys=tuple(self.text.split("\0")) if self.text else ()),)
        return (Shape(kind=self.kind, parts=tuple(parts), name=self.name),)

    def attributes(self) -> frozenset[str] | None:
        """The names of an object's attributes; None if it is made in another way."""
        names = [key.text for key, _ in self.entries if key.kind == "text"]
        return frozenset(names) if self.kind == "object" and not self.parts else None

    def _of_entries(self, left: Iterator[int], depth: int) -> Shape:
        named = {key.text: value.shapes(left, depth + 1) for key, value in self.entries if key.kind == "text"}
        keys = tuple(sorted(named))
        parts = tuple(named[key] for key in keys) if any(named.values()) else ()
        return Shape(kind="dict", keys=keys, parts=parts, whole=len(named) == len(self.entries), name=self.name)


def shape_of(pickle: bytes) -> Shapes:
    """The structure of a pickled value; ``()`` if that is not known, or the bytes are no pickle."""
    machine = _walked(pickle)
    return () if machine is None else machine.pop().shapes(iter(range(_MOST)))


def attributes_of(pickles: Iterable[bytes]) -> dict[str, frozenset[str]]:
    """The attributes that all pickled objects of a class have, by ``module:name``; classes with other pickles are left out."""
    found: dict[str, list[frozenset[str] | None]] = {}
    for pickle in pickles:
        machine = _walked(pickle)
        for one in [] if machine is None else machine.objects:
            found.setdefault(one.name, []).append(one.attributes())
    known = {name: [one for one in several if one is not None] for name, several in found.items()}
    return {name: frozenset.intersection(*known[name]) for name in found if len(known[name]) == len(found[name])}


def _walked(pickle: bytes) -> _Machine | None:
    """The machine behind the last step of a pickle, with the value on its stack; None for other bytes."""
    machine = _Machine()
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(pickle if pickle[:1] == b"\x80" else b"")):
            if opcode.name == "STOP":
                return machine if machine.is_done else None
            if number > _MOST:
                return None
            machine.do(opcode.name, argument)
    except (ValueError, IndexError, KeyError, _Untold):
        pass
    return None


def shape_of_text(data: bytes) -> Shapes:
    """A text of JSON by what it says; ``()`` for other bytes, or if it says a number or a text alone."""
    if data[:1] not in (b"{", b"[") or len(data) > _MOST:
        return ()
    try:
        content = _of_json(json.loads(data), 0)
    except (ValueError, RecursionError):
        return ()
    return (Shape(kind="text", parts=(content,)),) if content else ()


def _of_json(value: object, depth: int) -> Shapes:
    match value:
        case dict() if depth <= _DEPTH:
            named = {str(key): _of_json(one, depth + 1) for key, one in sorted(value.items())}
            parts = tuple(named.values()) if any(named.values()) else ()
            return (Shape(kind="dict", keys=tuple(named), parts=parts),)
        case list() if depth <= _DEPTH:
            found = [_of_json(one, depth + 1) for one in value]
            known = () if () in found else any_of(found)
            return (Shape(kind="list", parts=(known,) if known else ()),)
        case str():
            return (Shape(kind="text"),)
        case int() | float():
            return (Shape(kind="number"),)
    return ()


class _Machine:
    """The stack of a pickle, and what it remembers."""

    def __init__(self) -> None:
        self._stack: list[_Made] = []
        self._memo: dict[object, _Made] = {}
        self.objects: list[_Made] = []

    @property
    def is_done(self) -> bool:
        """Whether there is one value, as at the end."""
        return len(self._stack) == 1

    def pop(self) -> _Made:
        """Take the last value. Raises IndexError if there is none."""
        return self._stack.pop()

    def do(self, step: str, argument: object) -> None:
        """Take a step. Raises _Untold for one that is not known here."""
        if step in _NUMBERS:
            self._stack.append(_Made("number"))
        elif step in _TEXTS:
            self._stack.append(_Made("text", text=str(argument)))
        elif step in _BYTES:
            self._stack.append(_Made("bytes"))
        elif step == "NONE":
            self._stack.append(_Made("none"))
        elif step in _STEPS:
            _STEPS[step](self)
        else:
            self._remember(step, argument)

    def _remember(self, step: str, argument: object) -> None:
        match step:
            case "PROTO" | "FRAME":
                pass
            case "MEMOIZE":
                self._memo[len(self._memo)] = self._stack[-1]
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self._memo[argument] = self._stack[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                self._stack.append(self._memo[argument])
            case "GLOBAL":
                self._stack.append(_Made("class", text=str(argument).replace(" ", ":", 1)))
            case _:
                raise _Untold(step)

    def mark(self) -> None:
        self._stack.append(_Made(_MARK))

    def to_mark(self) -> list[_Made]:
        """Take all that is behind the last mark, and the mark."""
        found: list[_Made] = []
        while (one := self._stack.pop()).kind != _MARK:
            found.append(one)
        return found[::-1]

    def last(self, number: int) -> list[_Made]:
        """Take so many values."""
        return [self._stack.pop() for _ in range(number)][::-1]

    def made(self, kind: str, parts: Iterable[_Made] = ()) -> None:
        self._stack.append(_Made(kind, parts))

    def add(self, values: Iterable[_Made]) -> None:
        """Put values into the collection that is the last value."""
        self._stack[-1].parts.extend(values)

    def enter(self, values: list[_Made]) -> None:
        """Put keys and values by turns into the dict that is the last value."""
        self._stack[-1].entries.extend(zip(values[::2], values[1::2], strict=True))

    def of_dict(self) -> None:
        values = self.to_mark()
        self.made("dict")
        self.enter(values)

    def name(self) -> None:
        module, name = self.last(2)
        self._stack.append(_Made("class", text=f"{module.text}:{name.text}"))

    def call(self) -> None:
        """What a function makes of its arguments."""
        function, arguments = self.last(2)
        self._object(_made_by(function.text, arguments.parts))

    def new(self, more: int) -> None:
        """An object of a class, which gets ``more`` arguments than the usual ones."""
        kept, arguments, *_ = self.last(2 + more)
        self._object(_Made("object", arguments.parts, name=kept.text))

    def _object(self, made: _Made) -> None:
        self._stack.append(made)
        self.objects += [made] if made.kind == "object" else []

    def build(self) -> None:
        """An object gets its attributes: in a dict, or in two of which the second one is of its slots."""
        state = self.pop()
        kinds = [one.kind for one in state.parts]
        if state.kind == "dict":
            self._stack[-1].entries += state.entries
        elif state.kind == "tuple" and kinds in (["none", "dict"], ["dict", "dict"]):
            self._stack[-1].entries += [entry for one in state.parts for entry in one.entries]
        else:
            self._stack[-1].parts.append(state)  # its class knows what that is

    def again(self) -> None:
        self._stack.append(self._stack[-1])


def _made_by(function: str, arguments: list[_Made]) -> _Made:
    if function == _ROW and len(arguments) >= 2:
        names = [one.text for one in arguments[0].parts]
        return _Made("row", arguments[1].parts, text="\0".join(names))
    if function in _CONTAINERS:
        made = _Made(_CONTAINERS[function], name=function if not function.startswith("builtins") else "")
        first = arguments[0] if arguments else None
        if first is not None and first.kind in ("list", "set", "tuple"):
            made.parts.extend(first.parts)
        elif first is not None and first.kind == "dict":
            made.entries.extend(first.entries)
        return made
    if function in _RECONSTRUCTORS and arguments:
        return _Made("object", name=arguments[0].text)
    return _Made("object", arguments, name=function)


_STEPS: Mapping[str, Callable[[_Machine], object]] = {
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": _Machine.to_mark,
    "DUP": _Machine.again,
    "EMPTY_TUPLE": lambda machine: machine.made("tuple"),
    "TUPLE1": lambda machine: machine.made("tuple", machine.last(1)),
    "TUPLE2": lambda machine: machine.made("tuple", machine.last(2)),
    "TUPLE3": lambda machine: machine.made("tuple", machine.last(3)),
    "TUPLE": lambda machine: machine.made("tuple", machine.to_mark()),
    "EMPTY_LIST": lambda machine: machine.made("list"),
    "LIST": lambda machine: machine.made("list", machine.to_mark()),
    "APPEND": lambda machine: machine.add(machine.last(1)),
    "APPENDS": lambda machine: machine.add(machine.to_mark()),
    "EMPTY_SET": lambda machine: machine.made("set"),
    "ADDITEMS": lambda machine: machine.add(machine.to_mark()),
    "FROZENSET": lambda machine: machine.made("set", machine.to_mark()),
    "EMPTY_DICT": lambda machine: machine.made("dict"),
    "DICT": _Machine.of_dict,
    "SETITEM": lambda machine: machine.enter(machine.last(2)),
    "SETITEMS": lambda machine: machine.enter(machine.to_mark()),
    "STACK_GLOBAL": _Machine.name,
    "REDUCE": _Machine.call,
    "NEWOBJ": lambda machine: machine.new(0),
    "NEWOBJ_EX": lambda machine: machine.new(1),
    "BUILD": _Machine.build,
}
