"""The file of properties that AWS's Managed Service for Apache Flink gives to programs in Python, for those that run elsewhere.

Programs name it by its path. Interpreters that may lack compat load this module too: it imports only the standard library, in
the syntax of Python 3.8.
"""

from __future__ import annotations

import os
from types import CodeType

PLACE = "/etc/flink/application_properties.json"
_NAME = os.path.basename(PLACE)


def served(code: CodeType, file: str) -> CodeType:
    """The code of a program with ``file`` in place of the service's; the same code for no file."""

    def given(constant: object) -> object:
        if isinstance(constant, CodeType):
            return served(constant, file)
        if isinstance(constant, tuple):
            return tuple(map(given, constant))
        return file if constant == PLACE else constant

    return code.replace(co_consts=tuple(map(given, code.co_consts))) if file else code


def wants(source: bytes) -> bool:
    """Whether a program names the service's file."""
    return PLACE.encode() in source


def beside(program: str) -> str | None:
    """The file that a project keeps beside its program for runs on a laptop, as it is typed; None for none."""
    found = os.path.join(os.path.dirname(program), _NAME)
    if not os.path.isfile(found):
        return None
    shown = os.path.relpath(found)
    return found if shown.startswith(os.pardir) else shown


def hint(program: str) -> str:
    """What to do about a program that was not given the file."""
    found = beside(program)
    given = "a file" if found is None else found
    return f"AWS's Managed Service for Apache Flink gives the program {PLACE}; --runtime-properties gives it {given} instead."
