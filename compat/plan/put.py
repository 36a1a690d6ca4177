"""What a function puts into its pickled states, as far as its text shows the structure of the values.

A pickle is read whatever was put in: whether the code that reads it expects another structure, only the code can tell. What
text does not show may be anything.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import msgspec

from compat.compiler.own_code import is_our_module
from compat.plan.made import written_in
from compat.plan.methods import methods_of
from compat.plan.reached import is_own_module
from compat.plan.said import Around, Place, digest_of, of_part
from compat.plan.texts import Text, texts_of
from compat.state.model.contents import Shape, Shapes, Step, any_of
from compat.state.rows import Row
from compat.state.types import MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation

_PUT = frozenset({"update", "add", "add_all", "put", "put_all"})
_OF_LISTS = frozenset({"add_all", "update"})
_FOLDS = {"create_accumulator": 0, "add": 1, "merge": 0}
"""The methods that give accumulators, and their first parameter that is one."""
_OF_RECORDS = {
    **dict.fromkeys(("process_element", "map", "flat_map", "process_broadcast_element", "process_element1", "map1"), 0),
    **dict.fromkeys(("process_element2", "map2"), 1),
}
"""The methods that get a record first, and of which input; broadcast ones are not told apart."""
_NUMBER, _TEXT, _BYTES = (Shape(kind=kind) for kind in ("number", "text", "bytes"))
_CALLS: Mapping[str, str] = {
    **dict.fromkeys(("int", "float", "len", "sum", "abs", "round", "bool"), "number"),
    **dict.fromkeys(("str", "repr"), "text"),
    **dict.fromkeys(("list", "sorted"), "list"),
    **{name: name for name in ("tuple", "dict", "set", "bytes")},
    "frozenset": "set",
}
_OF_TEXT = {
    **dict.fromkeys(("format", "strip", "lower", "upper", "replace", "join", "isoformat", "decode"), "text"),
    "encode": "bytes",
}
"""Methods whose result is known, whatever they are called on."""
_DUMPED: Mapping[str, str] = {"_pickle": "bytes", "marshal": "bytes"}
"""What ``dumps`` of a module gives."""
_LIBRARY = ("datetime", "decimal", "collections")
_MAKERS = ("now", "today", "utcnow", "fromtimestamp", "fromordinal", "fromisoformat", "strptime", "combine")
_KINDS = {"Counter": "dict", "defaultdict": "dict", "OrderedDict": "dict", "deque": "list"}
_DEPTH = 6
_READ = ("value", "get")
_ANYTHING: Shapes = ()
_NOTHING: Shapes = (Shape(kind="nothing"),)
"""A value that adds no shape: None, or what the state held before."""


def shapes_put(
    function: Any, fields: Mapping[str, str], lists: Iterable[str], records: tuple[Shapes, ...] = ()
) -> dict[str, Shapes]:
    """What the methods of a function put into its states, by the states' names; states that it fills in other ways are missing.

    ``fields`` are the names of the states by the attributes that hold them, ``lists`` those of lists, ``records`` what the
    records of each input are.
    """
    # One value that is not known leaves it open what all of them are.
    found = {state: _all(shapes) for state, shapes in all_put(function, fields, lists, records).items()}
    return {state: _without_nothing(shapes) for state, shapes in found.items()}


def all_put(
    function: Any, fields: Mapping[str, str], lists: Iterable[str], records: tuple[Shapes, ...] = ()
) -> dict[str, list[Shapes]]:
    """The same for each place where something is put in."""
    of_lists, found = set(lists), dict[str, list[Shapes]]()
    for text in texts_of(function, methods_of(function)):
        values = Values(text, _given_to(text, records), fields)
        for state, call in puts(text, fields):
            found.setdefault(state, []).extend(_given(call, values, state in of_lists))
    return found


def puts(text: Text, fields: Mapping[str, str]) -> Iterator[tuple[str, ast.Call]]:
    """The calls that put something into a state, with the names of the states."""
    for call in ast.walk(text.tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _PUT):
            continue
        if (state := text.state_in(call.func.value, fields)) is not None:
            yield state, call


def objects_in(shapes: Iterable[Shapes]) -> set[str]:
    """The classes of the program whose objects are in values, as ``module:name``."""
    found = set[str]()
    for one in (one for some in shapes for one in some):
        found |= {one.name} if one.kind == "object" and one.name.partition(":")[0] not in _LIBRARY else set()
        found |= objects_in(one.parts)
    return found


def _given_to(text: Text, records: tuple[Shapes, ...]) -> dict[str, Shapes]:
    """What is known of the parameters of a method that gets records."""
    number = _OF_RECORDS.get(text.function.__name__, len(records))
    return {text.parameters[0]: records[number]} if number < len(records) and text.parameters else {}


def shapes_folded(function: Any) -> Shapes:
    """The accumulators of an aggregating function: what it begins with, and what its methods give."""
    found: list[Shapes] = []
    for name, first in _FOLDS.items():
        text = Text.of(getattr(function, name, None), function)
        if text is None:
            return _ANYTHING
        values = Values(text, dict.fromkeys(text.parameters[first:], _NOTHING))
        found += [values.of(one.value) for one in ast.walk(text.tree) if isinstance(one, ast.Return) and one.value]
    # What only adds to its accumulator gives it back: it has the shape that it began with.
    return _without_nothing(_all(found))


def shapes_given(function: Any, records: tuple[Shapes, ...] = ()) -> Shapes:
    """What a function gives that is called with these."""
    text = Text.of(function, None if isinstance(function, FunctionType | MethodType) else function)
    return (
        _ANYTHING
        if text is None
        else _without_nothing(Values(text, dict(zip(text.parameters, records, strict=False))).returned())
    )


def source_of(function: Any, records: Shapes) -> str:
    """A digest of what a function computes that gives one value for a record; empty if its text does not show it."""
    text = Text.of(function, None if isinstance(function, FunctionType | MethodType) else function)
    if text is None or not text.parameters:
        return ""
    given = text.returned_once()
    return "" if given is None else Values(text, {text.parameters[0]: records}).digest(None, given)


def sources_in(records: Shapes) -> tuple[str, ...]:
    """Such digests of functions that take one part of a record each, in order; none for records of several structures."""
    return tuple(source and of_part(source) for source in records[0].sources) if len(records) == 1 else ()


def shapes_of(type_info: TypeInformation | None) -> Shapes:
    """The values of a declared type."""
    match type_info:
        case RowTypeInfo():
            names = type_info.field_names
            keys = names if names != tuple(f"f{place}" for place in range(len(names))) else ()
            return (Shape(kind="row", parts=tuple(map(shapes_of, type_info.field_types)), keys=keys),)
        case TupleTypeInfo():
            return (Shape(kind="tuple", parts=tuple(map(shapes_of, type_info.field_types))),)
        case MapTypeInfo():
            return (Shape(kind="dict", whole=False),)
    kind = "" if type_info is None else type_info.kind
    return (Shape(kind=_KINDS_OF_TYPES[kind]),) if kind in _KINDS_OF_TYPES else _ANYTHING


def with_sources(declared: Shapes, put: Shapes) -> Shapes:
    """The values of a declared type, with what code computes their parts of."""
    fitting = (
        (one, other) for one in declared for other in put if other.sources and len(other.sources) == len(one.parts)
    )
    return any_of((_sourced(one, other),) for one, other in fitting) or declared


def _sourced(declared: Shape, put: Shape) -> Shape:
    """A row that was made without names has the order of the declared one."""
    places: tuple[Place, ...] = declared.keys or tuple(range(len(declared.parts)))
    by_place = dict(zip(put.keys or places, put.sources, strict=True))
    return msgspec.structs.replace(declared, sources=tuple(by_place.get(place, "") for place in places))


_KINDS_OF_TYPES = {
    **dict.fromkeys(("BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BIG_INT"), "number"),
    **dict.fromkeys(("STRING", "CHAR"), "text"),
    "LIST": "list",
}


def _given(call: ast.Call, values: Values, into_list: bool) -> Iterator[Shapes]:
    """What a call puts in: of a list or a map that is put in as a whole, its elements or entries."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = [*call.args, *(one.value for one in call.keywords)]
    if not given:
        yield _ANYTHING
        return
    last = given[-1]
    if name == "put_all":
        yield from map(values.of, last.values if isinstance(last, ast.Dict) else [])
    elif into_list and name in _OF_LISTS:
        yield from map(values.of, last.elts if isinstance(last, ast.List | ast.Tuple) else [])
    else:
        yield values.of(last)


class Values:
    """The values of the expressions in a text, whose parameters are ``given``."""

    def __init__(
        self,
        text: Text,
        given: Mapping[str, Shapes] | None = None,
        fields: Mapping[str, str] | None = None,
        depth: int = 0,
        said: Mapping[str, str] | None = None,
    ) -> None:
        self.text, self._given, self._fields, self._depth = text, given or {}, fields or {}, depth
        numbered = {name: f"parameter_{number}" for number, name in enumerate(text.parameters)}
        named = {name: ast.Name(one, ast.Load()) for name, one in (numbered if said is None else said).items() if one}
        self._around = Around(text, named, self._given, self._is_own)
        self._open: set[str] = set()

    def returned(self) -> Shapes:
        """What the function returns; not known if one of the values is not, or it yields them."""
        tree = self.text.tree
        if isinstance(tree, ast.Lambda):
            return self.of(tree.body)
        within = [one for one in ast.walk(tree) if self._is_of_this(one)]
        if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in within):
            return _ANYTHING
        return _all(self.of(one.value) for one in within if isinstance(one, ast.Return) and one.value is not None)

    def _is_of_this(self, one: ast.AST) -> bool:
        """Whether a node is no part of a function within this one."""
        while one is not self.text.tree:
            one = self.text.parents[one]
            if one is not self.text.tree and isinstance(one, ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef):
                return False
        return True

    def of(self, given: ast.expr, depth: int = 0) -> Shapes:
        """What an expression may give; ``_ANYTHING`` if that is not known."""
        if depth + self._depth > _DEPTH:
            return _ANYTHING
        match given:
            case ast.Constant(value=value):
                return _of_constant(value)
            case ast.JoinedStr():
                return (_TEXT,)
            case ast.Compare():
                return (_NUMBER,)
            case ast.Tuple(elts=parts):
                whole = _in_parts("tuple", [self.of(one, depth + 1) for one in parts])
                return (_from(whole, self._sources(enumerate(parts))),)
            case ast.List(elts=parts) | ast.Set(elts=parts):
                kind = "list" if isinstance(given, ast.List) else "set"
                return (_in_parts(kind, [_all(self.of(one, depth + 1) for one in parts)]),)
            case ast.ListComp():
                return (Shape(kind="list"),)
            case ast.SetComp():
                return (Shape(kind="set"),)
            case ast.Dict():
                return (self._of_dict(given, depth),)
            case ast.DictComp():
                return (Shape(kind="dict", whole=False),)
            case ast.Call():
                return self._of_call(given, depth)
            case ast.Subscript(value=value, slice=ast.Constant(value=int() as place)):
                held = [one for one in self.of(value, depth + 1) if one not in _NOTHING]
                return _all(one.at(Step(kind="item", place=place)) or () for one in held)
            case ast.Subscript(value=value, slice=ast.Slice() as between):
                return _all(_sliced(one, between) for one in self.of(value, depth + 1) if one not in _NOTHING)
            case ast.UnaryOp(operand=operand):
                return self.of(operand, depth + 1)
            case ast.BinOp(left=left, op=op, right=right):
                return self._of_operation(left, op, right, depth)
            case ast.BoolOp(values=values):
                return self._either(values, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return self._either((body, orelse), depth)
            case ast.Name(id=name):
                return self._of_name(given, name, depth)
        return _ANYTHING

    def _of_operation(self, left: ast.expr, op: ast.operator, right: ast.expr, depth: int) -> Shapes:
        if isinstance(op, ast.Mod):
            return self.of(left, depth + 1)
        # What is added to a number is one.
        found = any_of(self.of(one, depth + 1) for one in (left, right))
        several = tuple(one for one in found if one.kind != "number")
        return several or found if isinstance(op, ast.Mult) else found

    def _of_dict(self, given: ast.Dict, depth: int) -> Shape:
        named = {
            key.value: self.of(value, depth + 1)
            for key, value in zip(given.keys, given.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }
        found = _with_keys(named, whole=len(named) == len(given.keys))
        by_key = {
            key.value: one for key, one in zip(given.keys, given.values, strict=True) if isinstance(key, ast.Constant)
        }
        return _from(found, self._sources((key, by_key[key]) for key in found.keys))

    def _of_call(self, given: ast.Call, depth: int) -> Shapes:
        if self._is_own(given):
            return _NOTHING
        called = self.text.resolve(given.func)
        if isinstance(given.func, ast.Name) and called in _BUILT_IN:
            return self._of_built_in(given, given.func.id, depth)
        if is_json(called, "dumps") and given.args:
            content = _all(map(_in_json, self.of(given.args[0], depth + 1)))
            return (Shape(kind="text", parts=(content,) if content else ()),)
        if is_json(called, "loads") and given.args:
            return _all([one.at(Step(kind="json")) or () for one in self.of(given.args[0], depth + 1)])
        if isinstance(called, FunctionType | BuiltinFunctionType) and called.__name__ == "dumps":
            return (Shape(kind=_DUMPED[called.__module__]),) if called.__module__ in _DUMPED else _ANYTHING
        if isinstance(called, FunctionType | MethodType):
            return self._of_function(given, called, depth)
        if isinstance(called, type):
            return self._of_class(given, called, depth)
        if isinstance(given.func, ast.Attribute) and given.func.attr in _MAKERS:
            owner = self.text.resolve(given.func.value)
            return self._of_class(given, owner, depth) if isinstance(owner, type) else _ANYTHING
        if isinstance(given.func, ast.Attribute) and given.func.attr in _OF_TEXT:
            return (Shape(kind=_OF_TEXT[given.func.attr]),)
        return _ANYTHING

    def _of_built_in(self, given: ast.Call, name: str, depth: int) -> Shapes:
        if name == "dict" and not given.args and all(one.arg for one in given.keywords):
            found = _with_keys({one.arg or "": self.of(one.value, depth + 1) for one in given.keywords})
            by_key = {one.arg: one.value for one in given.keywords}
            return (_from(found, self._sources((key, by_key[key]) for key in found.keys)),)
        only = given.args[0] if len(given.args) == 1 else None
        if name == "tuple" and isinstance(only, ast.List | ast.Tuple):
            return (_in_parts("tuple", [self.of(one, depth + 1) for one in only.elts]),)
        kind = _CALLS[name]
        return (Shape(kind=kind, whole=kind in ("number", "text", "bytes")),)

    def _of_function(self, given: ast.Call, called: FunctionType | MethodType, depth: int) -> Shapes:
        text = Text.of(called)
        if text is None or any(isinstance(one, ast.Starred) for one in given.args):
            return _ANYTHING
        known = dict(zip(text.parameters, (self.of(one, depth + 1) for one in given.args), strict=False))
        known |= {one.arg: self.of(one.value, depth + 1) for one in given.keywords if one.arg}
        said = dict(zip(text.parameters, self._sources((None, one) for one in given.args), strict=False))
        said |= {one.arg: self.digest(None, one.value) for one in given.keywords if one.arg}
        return Values(text, known, self._fields, self._depth + depth + 1, said).returned()

    def _of_class(self, given: ast.Call, called: type, depth: int) -> Shapes:
        if called is Row:
            unknown = any(isinstance(one, ast.Starred) for one in given.args) or any(
                one.arg is None for one in given.keywords
            )
            if unknown or (given.args and given.keywords):  # a row refuses both
                return (Shape(kind="row", whole=False),)
            parts = (*given.args, *(one.value for one in given.keywords))
            row = _in_parts("row", [self.of(one, depth + 1) for one in parts])
            keys = tuple(one.arg or "" for one in given.keywords)
            sources = self._sources(zip(keys or range(len(parts)), parts, strict=True))
            return (Shape(kind="row", parts=row.parts, keys=keys, sources=sources),)
        if called.__module__ in _LIBRARY:
            kind = _KINDS.get(called.__name__, "object")
            return (Shape(kind=kind, whole=False, name=f"{called.__module__}:{called.__name__}"),)
        own = is_own_module(called.__module__) and not is_our_module(called.__module__)
        return (self._made(given, called),) if own else _ANYTHING

    def _made(self, given: ast.Call, called: type) -> Shape:
        """An object of a class of the program."""
        made = Shape(kind="object", name=written_in(called))
        try:
            bound = inspect.signature(called).bind(*given.args, **{one.arg or "": one.value for one in given.keywords})
        except (TypeError, ValueError):
            return made
        by_key = {key: one for key, one in bound.arguments.items() if isinstance(one, ast.expr)}
        return msgspec.structs.replace(_from(made, self._sources(by_key.items())), keys=tuple(by_key))

    def _sources(self, parts: Iterable[tuple[Place | None, ast.expr]]) -> tuple[str, ...]:
        return tuple(self.digest(place, one) for place, one in parts)

    def digest(self, place: Place | None, given: ast.expr) -> str:
        """A digest of what an expression computes that is put at a place of a value."""
        return digest_of(given, place, self._around)

    def _is_own(self, given: ast.expr) -> bool:
        """Whether an expression gives what the state, or one of the same function, holds."""
        if isinstance(given, ast.Name):
            return self._given.get(given.id) == _NOTHING
        reads = isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _READ
        return reads and self.text.state_in(given.func.value, self._fields) is not None  # type: ignore[attr-defined]

    def _either(self, parts: Iterable[ast.expr], depth: int) -> Shapes:
        """Any of several: ``old or 0`` is a number if ``old`` is what the state held."""
        return _all(self.of(one, depth + 1) for one in parts)

    def _of_name(self, given: ast.Name, name: str, depth: int) -> Shapes:
        around = self.text.resolve(given)
        if around is not None:
            return _of_value(around)
        found = self._assigned(name, depth)
        if name in self.text.changed:
            found = tuple(_loosened(one) for one in found)
        stored = self.text.stored.get(name)
        if stored is None:
            return found
        dicts = [one for one in found if one.kind == "dict"] or [Shape(kind="dict", whole=False)]
        return tuple(self._with_stored(one, stored, depth) for one in dicts) if dicts else found

    def _assigned(self, name: str, depth: int) -> Shapes:
        """All that a name stands for."""
        if name in self._open:
            return _NOTHING  # it is made of itself
        if name in self.text.elsewhere:
            return _ANYTHING
        self._open.add(name)
        given = [self._given.get(name, _ANYTHING)] if name in self.text.parameters else []
        found = _all([*given, *(self.of(one, depth + 1) for one in self.text.values.get(name, ()))])
        self._open.discard(name)
        return found

    def _with_stored(self, one: Shape, stored: Iterable[tuple[ast.expr, ast.expr]], depth: int) -> Shape:
        """A dict into which further values were put."""
        known, whole = dict(one.by_key), one.whole
        for key, value in stored:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                known[key.value] = any_of([known.get(key.value, ()), self.of(value, depth + 1)])
            else:
                whole = False
        return Shape(kind="dict", **_keyed(known), whole=whole, name=one.name)


_BUILT_IN = {__builtins__[name] if isinstance(__builtins__, dict) else getattr(__builtins__, name) for name in _CALLS}


def _loosened(one: Shape) -> Shape:
    """The shape of what a method of it may have changed."""
    if one.kind in ("list", "set"):
        return Shape(kind=one.kind, name=one.name)
    return Shape(kind="dict", keys=one.keys, whole=False, name=one.name) if one.kind == "dict" else one


def is_json(called: Any, name: str) -> bool:
    """Whether a function is one of Python's for JSON."""
    return isinstance(called, FunctionType) and (called.__module__, called.__name__) == ("json", name)


def _in_json(one: Shape) -> Shapes:
    """What JSON says of a value."""
    match one.kind:
        case "tuple" | "list":
            return (_in_parts("list", [_all(part for parts in one.parts for part in map(_in_json, parts))]),)
        case "dict":
            parts = tuple(_all(map(_in_json, part)) for part in one.parts)
            return (Shape(kind="dict", keys=one.keys, parts=parts, whole=one.whole),)
        case "number" | "text":
            return (Shape(kind=one.kind),)
    return _ANYTHING


def _in_parts(kind: str, parts: list[Shapes]) -> Shape:
    given = tuple(map(_without_nothing, parts))
    known = kind in ("tuple", "row") or any(given)
    return Shape(kind=kind, parts=given if known else ())


def _from(made: Shape, sources: tuple[str, ...]) -> Shape:
    return msgspec.structs.replace(made, sources=sources) if any(sources) else made


def _sliced(whole: Shape, between: ast.Slice) -> Shapes:
    """What a slice takes of a value."""
    if whole.kind != "tuple":
        return (whole,) if whole.kind in ("text", "bytes", "list") and not whole.says_json else _ANYTHING
    try:
        taken = slice(*(_bound(one) for one in (between.lower, between.upper, between.step)))
    except ValueError:  # it is computed
        return (Shape(kind="tuple", whole=False),)
    if not whole.whole:
        return (Shape(kind="tuple", whole=False),)
    return (Shape(kind="tuple", parts=whole.parts[taken], sources=whole.sources[taken]),)


def _bound(given: ast.expr | None) -> int | None:
    found: int | None = None if given is None else ast.literal_eval(given)
    return found


def _with_keys(known: Mapping[str, Shapes], *, whole: bool = True) -> Shape:
    return Shape(kind="dict", **_keyed(known), whole=whole)


def _keyed(known: Mapping[str, Shapes]) -> dict[str, Any]:
    keys = tuple(sorted(known))
    parts = tuple(_without_nothing(known[key]) for key in keys)
    return {"keys": keys, "parts": parts if any(parts) else ()}


def _all(given: Iterable[Shapes]) -> Shapes:
    """What any of them may be; not known if one of them is not."""
    found = list(given)
    several = any_of(found)
    return _ANYTHING if _ANYTHING in found else tuple(one for one in several if one not in _NOTHING) or several


def _without_nothing(given: Shapes) -> Shapes:
    return _ANYTHING if _NOTHING[0] in given else given


def _of_value(value: Any) -> Shapes:
    """A plain value of the program."""
    if isinstance(value, tuple):
        return (_in_parts("tuple", [_of_value(one) for one in value]),) if type(value) is tuple else _ANYTHING
    return _of_constant(value) if isinstance(value, str | bytes | int | float) else _ANYTHING


def _of_constant(value: Any) -> Shapes:
    if isinstance(value, str):
        return (_TEXT,)
    if isinstance(value, bytes):
        return (_BYTES,)
    return _NOTHING if value is None else _ANYTHING if value is Ellipsis else (_NUMBER,)
