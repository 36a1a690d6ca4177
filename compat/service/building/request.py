"""A program sent by a client: its files, the one to start, and how."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from compat.compiler.versions import FLINK_VERSIONS
from compat.service.requests import LONGEST_LABEL, image_digest
from compat.service.untrusted import RefusedBody, read_json

MOST_FILES, MOST_ARGUMENTS = 1000, 100
LARGEST = 8 * 1024 * 1024
"""Bytes of the largest program."""

_DEEPEST = 8
_PART = r"[A-Za-z0-9_+@][A-Za-z0-9_.+@ -]{0,100}"
_PATH = re.compile(rf"{_PART}(/{_PART}){{0,20}}")
_ENDINGS = (".py", ".json")


class ProgramRequest(Struct, frozen=True, kw_only=True):
    """Build ``program``, one of ``files``, which are texts by their paths below the project's root."""

    program: str
    files: dict[str, str]
    arguments: tuple[str, ...]
    options: dict[str, str]
    flink: str | None
    commit: str | None
    author: str | None
    image: str | None


def program_request(body: bytes) -> ProgramRequest:
    """The request in a body. Raises RefusedBody."""
    value = read_json(body, _DEEPEST)
    known = ProgramRequest.__struct_fields__
    if not isinstance(value, dict) or set(value) - set(known):
        raise RefusedBody(f"Must be an object with no fields but {', '.join(known)}.")
    files = _texts(value.get("files"), "files", MOST_FILES, LARGEST)
    for place in files:
        if not _PATH.fullmatch(place):
            raise RefusedBody(f"{place[:100]!r} is no place below the root of a project.", "files")
    program, flink, image = (_text(value, name) for name in ("program", "flink", "image"))
    if program is None or program not in files or not program.endswith(_ENDINGS):
        raise RefusedBody("Name the one of the files that is started: a program in Python, or a topology.", "program")
    if flink not in (None, *FLINK_VERSIONS):
        raise RefusedBody(f"Must be one of {', '.join(FLINK_VERSIONS)}.", "flink")
    arguments = value.get("arguments") or []
    if (
        not isinstance(arguments, list)
        or len(arguments) > MOST_ARGUMENTS
        or any(type(one) is not str for one in arguments)
    ):
        raise RefusedBody(f"A list of at most {MOST_ARGUMENTS} texts.", "arguments")
    return ProgramRequest(
        program=program,
        files=files,
        arguments=tuple(arguments),
        options=_texts(value.get("options") or {}, "options", MOST_ARGUMENTS, LARGEST),
        flink=flink,
        commit=_text(value, "commit"),
        author=_text(value, "author"),
        image=None if image is None else image_digest(image),
    )


def _text(value: dict[str, Any], name: str) -> str | None:
    text = value.get(name)
    if text is not None and (not isinstance(text, str) or len(text) > LONGEST_LABEL):
        raise RefusedBody(f"Must be text of at most {LONGEST_LABEL} characters.", name)
    return text


def _texts(value: Any, where: str, most: int, largest: int) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > most or any(type(text) is not str for text in value.values()):
        raise RefusedBody(f"An object of at most {most} texts.", where)
    if sum(map(len, value.values())) > largest:
        raise RefusedBody(f"At most {largest} characters in all.", where)
    return value
