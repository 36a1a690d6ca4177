"""Untrusted JSON, read with limits, so that only plain values of a sane shape come in."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any

from compat.compiler.garbage import collection_paused

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


class RefusedBody(ValueError):
    """A body that is not taken. The message says why and what would be; ``pointer`` is where in it."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


_ODD_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
"""NUL and halves of surrogate pairs as JSON escapes them; whole pairs and escaped backslashes match too."""


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = b"[]{}"
_OTHERS = bytes(byte for byte in range(256) if byte not in _BRACKETS)
_STEPS = bytes.maketrans(_BRACKETS, bytes((1, 255, 1, 255)))
"""An opening bracket goes one level down, a closing one (as a signed byte) up again."""


@collection_paused()
def read_json(body: bytes, max_depth: int) -> Any:
    """The JSON value in ``body``: strict JSON in UTF-8, nested at most ``max_depth`` deep.

    Refused are NaN and infinities, numbers beyond 64 bits, and text that is not Unicode (lone surrogates) or holds NUL, which
    databases cannot keep. Of a key that comes twice in an object the last counts, here as for all who read it later. Raises
    RefusedBody.
    """
    if nesting(body) > max_depth:
        raise _too_deep(max_depth)
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except RefusedBody:
        raise
    except UnicodeDecodeError as error:
        raise RefusedBody(f"The body is not UTF-8 text (byte {error.start}).") from error
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    except ValueError as error:
        raise RefusedBody(f"The body is not JSON: {error}.") from error
    _check_numbers(value)
    if _ODD_ESCAPE.search(body):
        _check_texts(value)
    return value


def _no_constant(name: str) -> Any:
    raise RefusedBody(f"{name} is not JSON.")


def nesting(body: bytes) -> int:
    """How deep the lists and objects of a JSON text are nested, told from its brackets before anything is made of it."""
    steps = _STRING.sub(b"", body).translate(_STEPS, _OTHERS)
    return max(accumulate(memoryview(steps).cast("b")), default=0)


def _check_numbers(value: Any) -> None:
    """Refuse numbers that are too large."""
    level = [value]
    while level:
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict:
                below += [inner for inner in item.values() if type(inner) is not str]
            elif kind is list:
                below += [inner for inner in item if type(inner) is not str]
            elif kind is int:
                if not _SMALLEST <= item <= _LARGEST:
                    raise RefusedBody("A whole number of the body does not fit 64 bits.")
            elif kind is float and not math.isfinite(item):
                raise RefusedBody("A number of the body is too large.")
        level = below


def _check_texts(value: Any) -> None:
    """Refuse text that cannot be kept; the value is known not to be deep."""
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check_texts(item)
    elif isinstance(value, list):
        for item in value:
            _check_texts(item)


def _check_text(text: str) -> None:
    if "\0" in text:
        raise RefusedBody("A text of the body holds the character NUL.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RefusedBody("A text of the body is not Unicode: it holds half of a surrogate pair.") from error


def _too_deep(max_depth: int) -> RefusedBody:
    return RefusedBody(f"The body is nested deeper than {max_depth} levels.")
