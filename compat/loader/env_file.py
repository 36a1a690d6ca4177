"""A replacement for ``python-dotenv``, for programs that run without it: reads variables from a file ``.env``.

It handles plain lines, ``NAME=VALUE``, whose meaning is certain; a file with other lines is left to the real package.
Interpreters without compat load this module too: it imports only the standard library, in the syntax of Python 3.8.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULE = "dotenv"

_LINE = re.compile(
    r"""\s*(?:export\s+)?(?P<name>(?!export\b)[A-Za-z_][\w.-]*)\s*=\s*"""
    r"""(?:(?:'(?P<single>[^'\\]*)'|"(?P<double>[^"\\]*)")\s*(?:\#.*)?|(?P<bare>(?:[^'"\s\#].*)?))"""
)
_END, _COMMENT, _OF_ANOTHER = re.compile(r"\r\n|\n|\r"), re.compile(r"\s+#.*"), "${"
_NAME = ".env"


class NotPlain(Exception):
    """A file of variables, or a call, whose meaning is left to ``python-dotenv``."""


def variables_in(text: str) -> dict[str, str]:
    """The variables of a file. Raises NotPlain."""
    found = OrderedDict()
    for line in _END.split(text):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = None if _OF_ANOTHER in line else _LINE.fullmatch(line)
        if match is None:
            raise NotPlain(line)
        quoted = match["double"] if match["single"] is None else match["single"]
        found[match["name"]] = _COMMENT.sub("", match["bare"]).rstrip() if quoted is None else quoted
    return found


def found_from(file: str) -> str:
    """The file of variables in the folder of a program's file, or the nearest one above it; empty if there is none."""
    return next((one for one in _places(os.path.dirname(os.path.abspath(file))) if os.path.isfile(one)), "")


def _places(folder: str) -> Iterator[str]:
    while True:
        yield os.path.join(folder, _NAME)
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def functions(caller: str) -> dict[str, Callable[..., object]]:
    """The functions that a program imports from ``dotenv``, for the file that calls them. They raise NotPlain."""

    def find_dotenv(filename: str = _NAME, raise_error_if_not_found: bool = False, usecwd: bool = False) -> str:
        if filename != _NAME or raise_error_if_not_found or usecwd:
            raise NotPlain("find_dotenv")
        return found_from(caller)

    def dotenv_values(dotenv_path: str | None = None, **named: object) -> dict[str, str]:
        if named:
            raise NotPlain("dotenv_values")
        path = os.fspath(dotenv_path) if dotenv_path else found_from(caller)
        if not os.path.isfile(path):
            return OrderedDict()
        with open(path, encoding="utf-8") as file:
            return variables_in(file.read())

    def load_dotenv(
        dotenv_path: str | None = None,
        stream: object = None,
        verbose: bool = False,
        override: bool = False,
        **named: object,
    ) -> bool:
        if stream is not None or named:
            raise NotPlain("load_dotenv")
        found = dotenv_values(dotenv_path)
        os.environ.update({name: value for name, value in found.items() if override or name not in os.environ})
        return bool(found)

    return {"load_dotenv": load_dotenv, "find_dotenv": find_dotenv, "dotenv_values": dotenv_values}
