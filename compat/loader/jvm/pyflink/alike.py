"""Has PyFlink write functions of the Table API so that equal code gives equal bytes, in each file, on each line, in each run.

Flink names a function that has no name of its own by the hash of these bytes. This file runs in the user's interpreter, which
may lack compat: it imports only the standard library, in the syntax of Python 3.8.
"""

from __future__ import annotations

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
    program = sys.modules["__main__"].__dict__
    file = program.pop("__file__", None)  # functions take it along
    try:
        with io.BytesIO() as out:
            _pickler()(out).dump(value)
            return out.getvalue()
    finally:
        if file is not None:
            program["__file__"] = file
        for module, known in before:
            module._get_or_create_tracker_id = known  # type: ignore[attr-defined]


def _id_of(kind: type) -> str:
    return hashlib.sha256(f"{kind.__module__}.{kind.__qualname__}".encode()).hexdigest()[:32]


def _pickler() -> typing.Any:
    base = importlib.import_module("cloudpickle").CloudPickler

    class Pickler(base):  # type: ignore[misc, valid-type]
        def __init__(self, out: typing.Any) -> None:
            super().__init__(out, protocol=pickle.DEFAULT_PROTOCOL)

        def reducer_override(self, value: typing.Any) -> typing.Any:
            if isinstance(value, types.CodeType):
                return self.dispatch_table[types.CodeType](_placeless(value))
            return super().reducer_override(value)

    return Pickler


def _placeless(code: types.CodeType) -> types.CodeType:
    for name, nothing in _PLACES.items():
        try:
            code = code.replace(**{name: nothing})  # type: ignore[arg-type]
        except TypeError:
            continue  # of another version of Python
    return code
