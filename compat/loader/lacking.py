"""What a program was not given, by how it failed: the same for programs that run here and under PyFlink."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from compat.loader.request import Lack, Lacking

_PARSERS = frozenset({"argparse", "click", "optparse", "typer", "docopt", "absl", "fire", "getopt"})
_ITEM = re.compile(r"\bargv\[(\d+)\]")
_VARIABLE = re.compile(r"""\bos\.environ\[\s*["'](\w+)["']\s*\](?!\s*=[^=])""")
"""A variable of the environment that a program cannot do without."""
_SAMPLES = (".example", ".sample", ".template", ".dist")
"""The endings of files that a project keeps in place of those that are not committed."""
_TAKES_ARGUMENTS = re.compile(rf"\bargv\b|^\s*(?:import|from)\s+(?:{'|'.join(sorted(_PARSERS))})\b", re.MULTILINE)


class Ending(Struct, frozen=True, kw_only=True):
    """How a program in Python ended: the exception, and where it was.

    ``value`` is the key or the file of the exception, ``modules`` the packages of the code in its trace, outermost first,
    ``line`` the text of the program's last line, ``arguments`` the number of the program's arguments, ``given`` the
    variables that it has.
    """

    type: str
    message: str
    program: str
    arguments: int
    value: str | None = None
    modules: tuple[str, ...] = ()
    line: str = ""
    given: frozenset[str] = frozenset()


def lack_of(ending: Ending) -> Lack | None:
    """What the program was not given, where that is what it failed of."""
    match ending:
        case Ending(type="SystemExit", arguments=arguments, modules=modules):
            asked = not _PARSERS.isdisjoint(modules) or not arguments
            return Lack(what=Lacking.ARGUMENTS) if asked else None
        case Ending(type="IndexError", line=line) if "argv" in line:
            return Lack(what=Lacking.ARGUMENTS, name=_items(_text(ending.program)))
        case Ending(type="KeyError", value=str(name), modules=(*_, "os")):
            read = _VARIABLE.findall(_text(ending.program))
            others = tuple(one for one in dict.fromkeys(read) if one not in ending.given and one != name)
            return Lack(what=Lacking.VARIABLE, name=name, others=others)
        case Ending(type="FileNotFoundError", value=str(name)):
            return _lacking_file(name, ending.program)
        case Ending(type="EOFError") if "reading a line" in ending.message:
            return Lack(what=Lacking.INPUT)
        case Ending(arguments=0, line=line) if line.startswith("raise ") and _takes_arguments(ending.program):
            return Lack(what=Lacking.PERHAPS_ARGUMENTS)
        case _:
            return None


def _items(source: str) -> str:
    """The arguments that a program reads by their numbers."""
    last = max(map(int, _ITEM.findall(source)), default=0)
    return "" if last == 0 else "sys.argv[1]" if last == 1 else f"sys.argv[1] to sys.argv[{last}]"


def _takes_arguments(program: str) -> bool:
    return _TAKES_ARGUMENTS.search(_text(program)) is not None


def _text(program: str) -> str:
    try:
        return Path(program).read_text("utf-8", "replace")
    except OSError:
        return ""


def _lacking_file(name: str, program: str) -> Lack:
    """A file that is not there, and the folder of the program where it is there."""
    beside = os.path.join(os.path.dirname(os.path.abspath(program)), name)
    is_beside = not os.path.isabs(name) and os.path.exists(beside)
    samples = () if is_beside else tuple(f"{name}{one}" for one in _SAMPLES if os.path.isfile(f"{name}{one}"))
    return Lack(what=Lacking.FILE, name=name, places=os.path.dirname(beside) if is_beside else "", others=samples[:1])
