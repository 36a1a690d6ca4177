"""JSON from anybody: read with limits, so that only plain values of a sane shape come in."""

from __future__ import annotations

import json
import math
from typing import Any


class RefusedBody(ValueError):
    """A body that is not taken. The message says why and what would be; ``pointer`` is where in it."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


def read_json(body: bytes, max_depth: int) -> Any:
    """The JSON value in ``body``: strict JSON in UTF-8, nested at most ``max_depth`` deep.

    Refused are NaN and infinities, numbers beyond 64 bits, a key that comes twice in one object, and text that is not
    Unicode (lone surrogates) or holds NUL, which databases cannot keep. Raises RefusedBody.
    """
    try:
        value = json.loads(
            body.decode("utf-8"), parse_constant=_no_constant, parse_int=_integer, object_pairs_hook=_object
        )
    except RefusedBody:
        raise
    except UnicodeDecodeError as error:
        raise RefusedBody(f"The body is not UTF-8 text (byte {error.start}).") from error
    except RecursionError as error:
        raise _too_deep(max_depth) from error
    except ValueError as error:
        raise RefusedBody(f"The body is not JSON: {error}.") from error
    _walk(value, max_depth)
    return value


def _no_constant(name: str) -> Any:
    raise RefusedBody(f"{name} is not JSON.")


def _integer(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**63:
        raise RefusedBody(f"The number {text[:24]}… does not fit 64 bits.")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise RefusedBody(f"The key {twice[:60]!r} comes twice in one object.")
    return found


def _walk(value: Any, max_depth: int) -> None:
    level, depth = [value], 0
    while level:
        if depth > max_depth:
            raise _too_deep(max_depth)
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_text(item)
            elif isinstance(item, dict):
                for key in item:
                    _check_text(key)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, float) and not math.isfinite(item):
                raise RefusedBody("A number of the body is too large.")
        level, depth = below, depth + 1


def _check_text(text: str) -> None:
    if "\0" in text:
        raise RefusedBody("A text of the body holds the character NUL.")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise RefusedBody("A text of the body is not Unicode: it holds half of a surrogate pair.") from error


def _too_deep(max_depth: int) -> RefusedBody:
    return RefusedBody(f"The body is nested deeper than {max_depth} levels.")
