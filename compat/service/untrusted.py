"""Reads untrusted JSON with limits, and accepts only plain values of a sane shape.

The size of a body, its number of values and its depth are limited before it is parsed. This limits the time and memory of
parsing, too.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

import msgspec

from compat.compiler.gc_policy import collection_paused

MOST_VALUES = 6_000_000
"""A body has at most this many values; two plans of 10,000 operators have three million. Made, each takes up to 200 bytes."""

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_EXPLAINED = 64 * 1024
"""Up to so many bytes are read a second time to say better what is wrong."""


class RefusedBody(ValueError):
    """A refused body. The message says why, and what would be accepted; ``pointer`` is the place in it."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message, pointer)
        self.pointer = pointer

    def __str__(self) -> str:
        return str(self.args[0])


_ODD_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
"""NUL and halves of surrogate pairs as JSON escapes them; whole pairs and escaped backslashes match too."""

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19
"""The digits of a number that may not fit 64 bits, after all digits became zeros."""

_STRING = re.compile(rb'"[^"]*+(?:"|\Z)')
_BRACKETS = b"[]{}"
_NEITHER = bytes(byte for byte in range(256) if byte not in b'[]{}"')
"""What is neither a bracket nor a quote."""
_STEPS = bytes.maketrans(_BRACKETS, bytes((1, 255, 1, 255)))
"""An opening bracket goes one level down, a closing one (as a signed byte) up again."""

_RAW = msgspec.json.Decoder(msgspec.Raw)
_FIELDS: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])


def fields_of(text: bytes | msgspec.Raw, where: str = "") -> dict[str, msgspec.Raw]:
    """The fields of a JSON object, each as unparsed text. Raises RefusedBody, naming ``where``."""
    try:
        return _FIELDS.decode(text)
    except msgspec.ValidationError:
        raise RefusedBody("Must be an object.", where) from None
    except RecursionError:
        raise RefusedBody("The body is nested too deeply.") from None
    except ValueError as error:
        raise _not_json(bytes(text), error) from None


@collection_paused()
def read_json(body: bytes, max_depth: int) -> Any:
    """The JSON value in ``body``: strict JSON in UTF-8, nested at most ``max_depth`` deep.

    NaN, infinities and numbers beyond 64 bits are refused. So is text that is not Unicode (lone surrogates) or holds NUL, which
    databases cannot keep. If a key comes twice in an object, the last one counts, here and for all later readers. Raises
    RefusedBody.
    """
    if most_values(body) > MOST_VALUES:
        raise RefusedBody(f"The body holds more than {MOST_VALUES} values.")
    try:
        _RAW.decode(body)  # visits all values without making objects; absurd depth fails here
        if nesting(body) > max_depth:
            raise _too_deep(max_depth)
        value = msgspec.json.decode(body)
    except RefusedBody:
        raise
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    except msgspec.ValidationError as error:
        raise RefusedBody("A number of the body is too large.") from error
    except ValueError as error:
        raise _not_json(body, error) from error
    if _LONG_NUMBER in body.translate(_DIGITS):
        _check_numbers(value)
    if _ODD_ESCAPE.search(body):
        _check_texts(value)
    return value


def most_values(body: bytes) -> int:
    """An upper bound for the number of values in a JSON text, from its bytes: a value begins it, or follows a bracket or a
    comma."""
    return 1 + body.count(b",") + body.count(b"[") + body.count(b"{")


def nesting(body: bytes) -> int:
    """The depth of the lists and objects of a JSON text, from its brackets, before it is parsed."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    quoted = body.translate(None, _NEITHER).replace(
        b'""', b""
    )  # two quotes in a row change no bracket's being in a text
    steps = _STRING.sub(b"", quoted).translate(_STEPS, b'"')
    return max(accumulate(memoryview(steps).cast("b")), default=0)


def _not_json(body: bytes, error: ValueError) -> RefusedBody:
    try:
        body.decode("utf-8")  # the error of the JSON reader differs from version to version
    except UnicodeDecodeError as wrong:
        return RefusedBody(f"The body is not UTF-8 text: {wrong.reason}.")
    if _ODD_ESCAPE.search(body) and "surrogate" in f"{error} {_told(body)}":
        return RefusedBody("A text of the body is not Unicode: it holds half of a surrogate pair.")
    return RefusedBody(f"The body is not JSON: {_told(body) or error}.")


def _told(body: bytes) -> str:
    """What is wrong with a small body, in the words of Python's own reader; nothing for a large one."""
    if len(body) > _EXPLAINED:
        return ""
    try:
        json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return str(error)
    return "half of a surrogate pair"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is none of its values")


def _check_numbers(value: Any) -> None:
    """Refuse whole numbers that are too large."""
    level = [value]
    while level:
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict:
                below += [inner for inner in item.values() if type(inner) is not str]
            elif kind is list:
                below += [inner for inner in item if type(inner) is not str]
            elif kind is int and not _SMALLEST <= item <= _LARGEST:
                raise RefusedBody("A whole number of the body does not fit 64 bits.")
        level = below


def _check_texts(value: Any) -> None:
    """Refuse text that cannot be kept; the value is known not to be deep."""
    if isinstance(value, str):
        if "\0" in value:
            raise RefusedBody("A text of the body holds the character NUL.")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_texts(key)
            _check_texts(item)
    elif isinstance(value, list):
        for item in value:
            _check_texts(item)


def _too_deep(max_depth: int) -> RefusedBody:
    return RefusedBody(f"The body is nested deeper than {max_depth} levels.")
