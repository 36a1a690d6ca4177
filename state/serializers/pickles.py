"""Values of pickled types as bytes.

Version 0.1.0 was imported as ``compiler`` and ``state``, and its pickles have these names for our classes. If the program has
such a module with such a class, the name means the program's class.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import re
import sys
from io import BytesIO
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_FORMER = frozenset({"compiler", "state"})
_SERVED = {"pyflink.datastream": "compiler.datastream", "pyflink.common": "compiler.datastream.common"}
"""Where the modules of PyFlink are ours, by whose names jobs write the classes of programs."""
_MAY_BE_FORMER = re.compile(rb"(?<!%b\.)(?:compiler|state)\.|pyflink\." % _PACKAGE.encode())

RAISED_BY_PICKLES = (Exception,)
"""The exceptions that a program's classes may raise when their objects are unpickled."""


def dump(value: Any) -> bytes:
    """A pickled value; by value if its class cannot be imported by name, like those of a main module."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle

        return bytes(cloudpickle.dumps(value))


def load(data: bytes) -> Any:
    """The value that :func:`dump` wrote, in this version or an earlier one."""
    if _MAY_BE_FORMER.search(data) is None:
        return pickle.loads(data)
    return _Unpickler(BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        package = module.partition(".")[0]
        if package == "pyflink" and package not in sys.modules:  # in a process that runs no program
            return super().find_class(_ours(module), name)
        if package == "pyflink":
            try:
                return super().find_class(module, name)
            except AttributeError:  # an inner part, as the function that makes rows: programs are not served these
                return super().find_class(_ours(module), name)
        if package not in _FORMER:
            return super().find_class(module, name)
        if not _is_elsewhere(package):
            return super().find_class(f"{_PACKAGE}.{module}", name)
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            try:
                return super().find_class(f"{_PACKAGE}.{module}", name)
            except (ImportError, AttributeError):
                pass
            raise


def _ours(module: str) -> str:
    """The module of ours that is served as one of PyFlink's."""
    for served, ours in _SERVED.items():
        if module == served or module.startswith(f"{served}."):
            return f"{_PACKAGE}.{ours}{module.removeprefix(served)}"
    return module


def _is_elsewhere(package: str) -> bool:
    """True when ``package`` can be imported and is not the folder of ours that stands under this name in a checkout."""
    try:
        found = importlib.util.find_spec(package)
    except ValueError:  # a module in sys.modules that was put there by hand
        return True
    if found is None:
        return False
    ours = importlib.util.find_spec(f"{_PACKAGE}.{package}")
    assert ours is not None
    return not {os.path.realpath(path) for path in found.submodule_search_locations or ()} & {
        os.path.realpath(path) for path in ours.submodule_search_locations or ()
    }
