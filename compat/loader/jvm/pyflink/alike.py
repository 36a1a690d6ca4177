"""Writes functions so that equal code gives equal bytes, in each file, on each line, in each run.

Flink names a function of the Table API that has no name of its own by the hash of these bytes, and so PyFlink is made to write
it. Functions of the DataStream API are compared by a digest of theirs. This file runs in the user's interpreter, which
may lack compat: it imports only the standard library, in the syntax of Python 3.8.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import io
import os
import pickle
import sys
import types
import typing

_CALLER = os.path.join("pyflink", "table", "udf.py")
_PLACES = {"co_filename": "", "co_firstlineno": 1, "co_linetable": b"", "co_lnotab": b""}
"""What code knows of its place, in the versions of Python that have it."""
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def write_alike() -> None:
    """Have ``cloudpickle.dumps`` write the functions of the Table API so from now on."""
    cloudpickle: typing.Any = importlib.import_module("cloudpickle")
    plain = cloudpickle.dumps

    @functools.wraps(plain)
    def dumps(value: typing.Any, *given: typing.Any, **named: typing.Any) -> bytes:
        if not sys._getframe(1).f_code.co_filename.endswith(_CALLER):
            return bytes(plain(value, *given, **named))
        try:
            return dumped(value)
        except Exception:  # a version of cloudpickle that works otherwise
            return bytes(plain(value, *given, **named))

    cloudpickle.dumps = dumps


def dumped(value: typing.Any) -> bytes:
    """A function as bytes which tell nothing of where its code stands, and of when it was written."""
    inner = [
        sys.modules[one] for one in ("cloudpickle.cloudpickle", "cloudpickle.cloudpickle_fast") if one in sys.modules
    ]
    before = [
        (module, module._get_or_create_tracker_id) for module in inner if hasattr(module, "_get_or_create_tracker_id")
    ]
    for module, _ in before:
        module._get_or_create_tracker_id = _id_of  # type: ignore[attr-defined]
    files: list[tuple[dict[str, typing.Any], str]] = []
    try:
        with io.BytesIO() as out:
            _pickler(files)(out).dump(value)
            return out.getvalue()
    finally:
        for names, file in files:
            names["__file__"] = file
        for inner_module, known in before:
            inner_module._get_or_create_tracker_id = known  # type: ignore[attr-defined]


def digest_of(value: typing.Any) -> str:
    """A digest of the code and the values of what is written so, with the program's own modules; empty if it cannot be."""
    cloudpickle: typing.Any = importlib.import_module("cloudpickle")
    own = [one for name, one in sorted(sys.modules.items()) if name != "__main__" and _is_own(one)]
    try:
        for module in own:
            cloudpickle.register_pickle_by_value(module)
        return hashlib.sha256(dumped(value)).hexdigest()[:32]
    except Exception:  # it holds what cannot be written, or cloudpickle is of before 2.0
        return ""
    finally:
        for module in own:
            with contextlib.suppress(Exception):
                cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: typing.Any) -> bool:
    """Whether a module is of the program, and not of an installed package, of Python or of compat."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or module.__name__.startswith("compat_"):
        return False
    folder = os.path.dirname(os.path.abspath(file)) + os.sep
    return not any(part in folder for part in _INSTALLED) and not folder.startswith(_PYTHON)


def _id_of(kind: type) -> str:
    return hashlib.sha256(f"{kind.__module__}.{kind.__qualname__}".encode()).hexdigest()[:32]


def _pickler(files: list[tuple[dict[str, typing.Any], str]]) -> typing.Any:
    """A class that writes functions alike. ``files`` gets modules and their ``__file__``, which they lack meanwhile."""
    base = importlib.import_module("cloudpickle").CloudPickler

    class Pickler(base):  # type: ignore[misc, valid-type]
        def __init__(self, out: typing.Any) -> None:
            super().__init__(out, protocol=pickle.DEFAULT_PROTOCOL)

        def reducer_override(self, value: typing.Any) -> typing.Any:
            if isinstance(value, types.CodeType):
                return self.dispatch_table[types.CodeType](_placeless(value))
            if isinstance(value, types.FunctionType) and "__file__" in value.__globals__:
                files.append((value.__globals__, value.__globals__.pop("__file__")))
            return super().reducer_override(value)

    return Pickler


def _placeless(code: types.CodeType) -> types.CodeType:
    for name, nothing in _PLACES.items():
        try:
            code = code.replace(**{name: nothing})  # type: ignore[arg-type]
        except TypeError:
            continue  # of another version of Python
    return code
