"""Describes a failed program within its own process: who is to blame, where it failed, and what it lacked."""

from __future__ import annotations

import dis
import os
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

from msgspec.structs import replace

from compat.compiler.datastream.served import Served, in_programs_words
from compat.compiler.own_code import (
    is_api_file,
    is_library,
    is_machinery,
    is_our_file,
    is_our_module,
    namesake,
    told_name,
)
from compat.compiler.versions import LATEST_FLINK
from compat.loader import main_module, world
from compat.loader.absent import watch
from compat.loader.absent.values import NotInstalled
from compat.loader.former import advice
from compat.loader.lacking import Ending, lack_of
from compat.loader.layout import Layout
from compat.loader.request import Crash, Frame, Lack, Lacking, clipped

_MOST = 20
MOST_OF_A_LINE = 500
_IN_API = "Check what is passed on this line. If PyFlink itself accepts it, please report that compat does not."


def crash_of(
    error: BaseException, show_path: Callable[[str], str], layout: Layout | None = None, flink: str = LATEST_FLINK
) -> Crash:
    """The crash of a program for a version of Flink. ``layout`` is where its modules were searched."""
    traceback = list(_entries(error.__traceback__))
    if _is_fault(traceback):
        return fault_of(error)
    frames = [
        Frame(file=show_path(file), line=line, function=function, text=clipped(_line(file, line), MOST_OF_A_LINE))
        for file, line, function in _own(traceback)
    ]
    if isinstance(error, SyntaxError) and error.filename is not None:
        text = clipped((error.text or "").rstrip("\n"), MOST_OF_A_LINE)
        frames.append(Frame(file=show_path(error.filename), line=error.lineno or 1, function="<module>", text=text))
    other, version_hint = _of_another_version(error, flink)
    return Crash(
        type=_type(error),
        message=clipped(in_programs_words(error, _message(error))),
        frames=tuple(frames[-_MOST:]),
        flink=other,
        hint=version_hint or _namesake_hint(error, show_path) or (_IN_API if _broke_in_api(traceback) else None),
        lacks=_lack(error, traceback, frames, show_path, layout),
    )


def fault_of(error: BaseException) -> Crash:
    """The crash for a bug of compat, with the lines of compat that led to it."""
    frames = []
    for frame, line in _entries(error.__traceback__):
        file = frame.f_code.co_filename
        frames.append(Frame(file=told_name(file), line=line, function=frame.f_code.co_name, text=""))
    return Crash(type=type(error).__name__, message=clipped(_text(error)), frames=tuple(frames[-_MOST:]), fault=True)


def _type(error: BaseException) -> str:
    return ModuleNotFoundError.__name__ if isinstance(error, NotInstalled) else type(error).__name__


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        code = error.code
        return f"The program called sys.exit({code!r})." if isinstance(code, int) else _text(code)
    return error.msg if isinstance(error, SyntaxError) else _text(error)


def _text(value: object) -> str:
    """What an object of the program says that it is; its own code may fail."""
    try:
        return str(value)
    except BaseException as error:
        return f"(it cannot be told: its __str__ raised {type(error).__name__})"


def _entries(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


_FOR_THE_PROGRAM = (main_module.__file__, world.__file__, watch.__file__)
"""Code of compat that reads, compiles and imports for the program, and gives it arguments and variables."""


def _is_fault(traceback: list[tuple[FrameType, int]]) -> bool:
    """Whether code of ours broke that works on what the program has built, when no code of the program ran within it.

    What breaks in a call of the API may be the program's, which passed what PyFlink does not take either.
    """
    ours = _innermost(traceback)
    if not ours or ours[-1].f_code.co_filename in _FOR_THE_PROGRAM:
        return False
    return any(not is_api_file(frame.f_code.co_filename) for frame in ours) and not _raises(ours[-1])


def _broke_in_api(traceback: list[tuple[FrameType, int]]) -> bool:
    ours = _innermost(traceback)
    return bool(ours) and is_api_file(ours[-1].f_code.co_filename) and not _raises(ours[-1])


def _innermost(traceback: list[tuple[FrameType, int]]) -> list[FrameType]:
    """The frames of ours that an exception came out of, behind the last line of the program."""
    found: list[FrameType] = []
    for frame, _ in reversed(traceback):
        file = frame.f_code.co_filename
        if is_our_file(file):
            found.insert(0, frame)
        elif not is_machinery(file) and not is_library(file):
            break
    return found


def _raises(frame: FrameType) -> bool:
    """Whether a frame that an exception left is at a statement that raises, or that hands on what was raised within it."""
    here = [one.opname for one in dis.get_instructions(frame.f_code) if one.offset == frame.f_lasti]
    return here[:1] in (["RAISE_VARARGS"], ["RERAISE"])


def _own(traceback: list[tuple[FrameType, int]]) -> list[tuple[str, int, str]]:
    """The frames of the program; where it has none, those of libraries."""
    found = [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in traceback]
    found = [one for one in found if not is_machinery(one[0])]
    return [one for one in found if not is_library(one[0])] or found


def _lack(
    error: BaseException,
    traceback: list[tuple[FrameType, int]],
    frames: list[Frame],
    show_path: Callable[[str], str],
    layout: Layout | None,
) -> Lack | None:
    """What the program was not given, where that is what it failed of."""
    match error:
        case NotInstalled():
            return Lack(what=Lacking.MODULE, name=error.module, places=_places(layout, show_path))
        case ModuleNotFoundError() if not is_our_module(error.name or "") and not _is_pyflinks(error.name or ""):
            return Lack(what=Lacking.MODULE, name=error.name or "", places=_places(layout, show_path))
        case SystemExit(code=None | 0):
            return None
        case _:
            found = lack_of(_ending(error, traceback, frames))
            return found and replace(found, places=show_path(found.places) if found.places else "")


def _ending(error: BaseException, traceback: list[tuple[FrameType, int]], frames: list[Frame]) -> Ending:
    match error:
        case FileNotFoundError(filename=str(file)):
            value: str | None = file
        case KeyError(args=[str(key), *_]):
            value = key
        case _:
            value = None
    return Ending(
        type=type(error).__name__,
        message=_text(error),
        program=sys.argv[0],
        arguments=len(sys.argv) - 1,
        value=value,
        modules=tuple(str(frame.f_globals.get("__name__", "")).partition(".")[0] for frame, _ in traceback),
        line=frames[-1].text if frames else "",
        given=frozenset(os.environ),
    )


def _places(layout: Layout | None, show_path: Callable[[str], str]) -> str:
    return "" if layout is None else layout.described(show_path)


def _namesake_hint(error: BaseException, show_path: Callable[[str], str]) -> str | None:
    """Advice for a program that looks for its own ``compat`` and finds ours."""
    if isinstance(error, ImportError):
        concerned = is_our_module(error.name or "")
    else:
        concerned = isinstance(error, AttributeError) and error.obj is sys.modules["compat"]
    path = namesake(sys.path) if concerned else None
    if path is None:
        return None
    return f"Rename {show_path(path)}, or move it into a package: in a program that compat loads, 'compat' is its own package."


def _of_another_version(error: BaseException, flink: str) -> tuple[str | None, str | None]:
    """The version whose PyFlink has what a program lacks, with advice; for what none has, advice alone."""
    module, name = _lacked(error)
    if isinstance(error, AttributeError):
        owner = error.obj if isinstance(error.obj, type) else type(error.obj)
        if _is_pyflinks(owner.__module__) and "--flink" not in str(error):
            return advice(owner.__name__, error.name or "", flink)
    return advice(module, name, flink) if _is_pyflinks(module) else (None, None)


def _is_pyflinks(module: str) -> bool:
    return module.partition(".")[0] == "pyflink"


def _lacked(error: BaseException) -> tuple[str, str]:
    """The module that is not there, or does not have a name, and that name; empty for any other error."""
    if isinstance(error, AttributeError) and isinstance(error.obj, Served):
        return error.obj.__name__, error.name or ""
    if not isinstance(error, ImportError):
        return "", ""
    name = re.search(r"cannot import name '(\w+)'", str(error))
    return error.name or "", name[1] if name else ""


def _line(file: str, line: int) -> str:
    import linecache

    return linecache.getline(file, line).strip()
