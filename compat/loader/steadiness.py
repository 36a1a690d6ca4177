"""Whether building a program a second time could give another job.

Ids may differ from one start to the next if a program draws a uid at random, or walks over a set, whose order follows the
interpreter's hash seed. To find that out takes a second interpreter, but the code of most programs shows that nothing can
differ. The answer errs on one side: a program that is not known to be steady is built again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dis import get_instructions
from types import CodeType, ModuleType

_SET_CODES = frozenset({"BUILD_SET", "SET_ADD", "SET_UPDATE"})
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "IMPORT_NAME"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_UNSTEADY_NAMES = frozenset("set frozenset hash id repr ascii eval exec input globals __import__".split())
_UNSTEADY_ATTRIBUTES = frozenset({"now", "today", "__hash__"})
_VIEWS = frozenset({"keys", "items"})
_SET_OPERATIONS = frozenset("& | ^ - &= |= ^= -=".split())
"""The operators that make a set of the views of a dict."""
_STEADY_MODULES = frozenset(
    "__future__ abc argparse array base64 bisect collections contextlib copy csv dataclasses decimal enum fractions "
    "functools heapq io itertools json logging math numbers operator pprint re statistics string struct sys textwrap types "
    "typing unicodedata warnings zlib".split()
)
_UNSTEADY_MODULES = sys.stdlib_module_names - _STEADY_MODULES


def is_steady(main: CodeType, modules: Iterable[ModuleType]) -> bool:
    """True if neither the program nor the ``modules`` that it imported hold anything that differs between two starts."""
    return _steady(main) and all(_steady_module(module) for module in modules)


def _steady_module(module: ModuleType) -> bool:
    if module.__name__.partition(".")[0] in sys.stdlib_module_names:
        return True  # unsteady parts are found by the names that the program uses
    try:
        code = module.__spec__.loader.get_code(module.__name__)  # type: ignore[union-attr]
    except Exception:
        return False
    return isinstance(code, CodeType) and _steady(code)


def _steady(code: CodeType) -> bool:
    views = not _VIEWS.isdisjoint(code.co_names)
    for instruction in get_instructions(code):
        operation, name = instruction.opname, instruction.argval
        if operation in _SET_CODES or (operation in _ATTRIBUTES and name in _UNSTEADY_ATTRIBUTES):
            return False
        if operation in _LOADS and (name in _UNSTEADY_NAMES or name.partition(".")[0] in _UNSTEADY_MODULES):
            return False
        if views and operation == "BINARY_OP" and instruction.argrepr in _SET_OPERATIONS:
            return False
    return all(
        _steady(constant) if isinstance(constant, CodeType) else not isinstance(constant, frozenset)
        for constant in code.co_consts
    )
