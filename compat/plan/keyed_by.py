"""The code by which an operator's records get their keys."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from compat.compiler.streamgraph.graph import StreamNode
from compat.compiler.transformations.operators import PythonFunction
from compat.plan import made_up
from compat.plan.made import digest, values_of
from compat.plan.put import source_of, sources_in
from compat.plan.reached import Reached
from compat.plan.states import Opening, Records, call
from compat.plan.traced import traced
from compat.state.model.code import Captured, UserCode
from compat.state.model.contents import Shapes
from compat.state.types import TypeInformation
from compat.state.types.composite import RowTypeInfo


def key_selectors_of(
    node: StreamNode, opening: Opening | None, records: Records = tuple
) -> tuple[UserCode | None, ...]:
    """The key selector of each input of an operator in Python, none for an operator without keys. ``opening`` calls code of the
    program; None: selectors are not called, and their code is all that is looked at. ``records`` finds out what the inputs are.
    """
    operator = node.operator
    if not isinstance(operator, PythonFunction) or not any(operator.key_selectors):
        return ()
    types = list(_records(node))
    types += [None] * len(operator.key_selectors)
    found = [
        None if selector is None else _looked_at(selector, type, opening)
        for selector, type in zip(operator.key_selectors, types, strict=False)
    ]
    given = itertools.chain(records(), itertools.repeat(()))
    return tuple(
        None if code is None else _with_source(code, selector, shapes)
        for code, selector, shapes in zip(found, operator.key_selectors, given, strict=False)
    )


def _with_source(code: UserCode, selector: Any, records: Shapes) -> UserCode:
    """A selector with the source of its key, seen through the functions that make the records."""
    sources = sources_in(records)
    source = source_of(getattr(selector, "get_key", selector), records) if any(sources) else ""
    return msgspec.structs.replace(code, source=source, sources=sources)


def _looked_at(selector: Any, records: TypeInformation | None, opening: Opening | None) -> UserCode | None:
    """The code of a selector, without calls where these would use a module that is not installed."""
    for calls in (False,) if opening is None else (True, False):
        found: list[UserCode] = []
        look = partial(_look, found, selector, records, calls=calls)
        try:
            (opening or call)(look)
        except ModuleNotFoundError:
            continue
        return found[0]
    return None


def _look(found: list[UserCode], selector: Any, records: TypeInformation | None, *, calls: bool) -> None:
    found.append(selector_of(selector, records, calls=calls))


def _records(node: StreamNode) -> Iterator[TypeInformation | None]:
    """The types of the records of each input: PyFlink puts the key before them."""
    for given in node.input_types:
        with_key = isinstance(given, RowTypeInfo) and len(given.field_types) == 2
        yield given.field_types[1] if with_key else None


def selector_of(selector: Any, records: TypeInformation | None, *, calls: bool = True) -> UserCode:
    """The code of a key selector. Its digest is of the expression, however it is spelled, where the code decides nothing."""
    select = getattr(selector, "get_key", selector)
    reached = Reached(select)
    expression = traced(select, records) if calls and not reached.branches else None
    values = {} if expression is not None else values_of(selector)
    samples = _keys(select, records, expression) if calls else None
    return UserCode(
        name=getattr(selector, "__qualname__", type(selector).__qualname__),
        digest=digest([expression if expression is not None else reached.text]),
        captured=tuple(Captured(name=name, digest=value) for name, value in values.items()),
        samples=samples,
        branches=reached.branches or samples is None,
        constants=digest(sorted(reached.constants - {"None"})),
    )


def _keys(select: Callable[[Any], Any], records: TypeInformation | None, expression: str | None) -> str | None:
    """A digest of the keys of made-up records; without any, that of the expression."""
    keys: list[str | None] = []
    try:
        for number in range(made_up.SAMPLES):
            keys.append(_key(select, made_up.record(records, number)))
    except TypeError:
        keys = []
    if not any(keys):
        return None if expression is None else digest([expression])
    return digest([key or "fails" for key in keys])


def _key(select: Callable[[Any], Any], record: Any) -> str | None:
    """The key of a record as text; None if the code fails on it, as it would never get such a one."""
    try:
        return repr(select(record))
    except Exception:
        return None
