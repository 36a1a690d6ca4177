"""Reports a Java or SQL program without a job as the failure that commands show: exit code 2, with advice."""

from __future__ import annotations

import linecache
import re
import shlex
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from msgspec.structs import replace

from compat.loader import late
from compat.loader.advice import CAUGHT, advice_on_lack, command, option, several_variables, without_job
from compat.loader.failure import SAID, Failure, Side, Undecidable
from compat.loader.former import advice_on, is_passed_over, uses
from compat.loader.jvm import sql_errors
from compat.loader.jvm.classfile import ClassFile, ClassFileError
from compat.loader.jvm.compiled import minor_version
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.libraries import own_frames
from compat.loader.jvm.messages import CompiledPlan, Crash, JarProgram, JavaFrame, Program, PyFlinkProgram, SqlScript
from compat.loader.jvm.process import JvmOptions, JvmOutcome
from compat.loader.jvm.pyflink.environments import COMMAND
from compat.loader.mistakes import plain, remedy
from compat.loader.request import Lack, Lacking
from compat.state.model.source_line import SourceLine

_MAIN = ("main", "([Ljava/lang/String;)V")
_PUBLIC_STATIC = 0x0009
_LIBRARIES = ("META-INF/", "org/apache/", "scala/", "kotlin/", "kotlinx/", "module-info")
_LISTED = 5
_PARSER = "SqlParserException"
_PRINTED = re.compile(r"^(?:Caused by: )?((?:\w+\.)+\w*(?:Exception|Error)\b.*)$", re.MULTILINE)
"""The first line of a Java exception in a program's output."""
_NOTHING = re.compile(r"None|NullPointerException|\bnull\b")
"""What Python and Java say of a value that is not there."""
_MAIN_ATTRIBUTES = (b"\nMain-Class:", b"\nprogram-class:")


def check_jar(program: JarProgram) -> None:
    """Raises JvmError for a file that is not a jar, or that does not say which class to run."""
    try:
        with zipfile.ZipFile(program.path) as jar:
            if program.main_class is not None:
                return
            manifest = jar.read("META-INF/MANIFEST.MF") if "META-INF/MANIFEST.MF" in jar.namelist() else b""
            if any(name in b"\n" + manifest for name in _MAIN_ATTRIBUTES):
                return
            found = _classes_with_main(jar)
    except (zipfile.BadZipFile, OSError) as error:
        raise JvmError(f"{program.path} is not a jar: {error}.") from None
    hint = f"Write --main-class {found[0]}." if found else "Name the class that has the method main with --main-class."
    option = f"--main-class {shlex.quote(found[0])}" if found else None
    if len(found) > 1:
        hint = f"Name it with --main-class; {_with_main(found)}"
    raise JvmError("The jar does not say which class to run: its manifest has no Main-Class.", hint, option)


def _with_main(names: Sequence[str]) -> str:
    return f"these have a main: {', '.join(names[:_LISTED])}."


def _nearest(program: JarProgram) -> tuple[str, str | None]:
    """The classes with a ``main`` for one that the jar does not have, those with the most alike names first, and the option."""
    wanted = program.main_class or ""
    with zipfile.ZipFile(program.path) as jar:
        found = sorted(
            _classes_with_main(jar), key=lambda one: -SequenceMatcher(None, one.lower(), wanted.lower()).ratio()
        )
    hint = f"Look at --main-class: {Path(program.path).name} has no such class"
    return (f"{hint}; {_with_main(found)}", f"--main-class {shlex.quote(found[0])}") if found else (f"{hint}.", None)


def _classes_with_main(jar: zipfile.ZipFile) -> list[str]:
    return list(_started(jar))


def _started(jar: zipfile.ZipFile) -> Iterator[str]:
    """The classes that Java can start: the one of an ``object`` of Scala has a ``main`` that is not static."""
    for name in jar.namelist():
        if not name.endswith(".class") or name.startswith(_LIBRARIES):
            continue
        data = jar.read(name)
        if not all(part.encode() in data for part in _MAIN):
            continue
        try:
            main = ClassFile(data).by_signature.get(_MAIN)
        except ClassFileError:
            continue
        if main is not None and main.access & _PUBLIC_STATIC == _PUBLIC_STATIC:
            yield name.removesuffix(".class").replace("/", ".")


def refused(error: JvmError, name: str, side: Side | None = None) -> Failure:
    """Flink, Java or the jar is missing."""
    return Failure(
        rule=Undecidable.PROGRAM_FAILED,
        message=str(error),
        name=name,
        side=side,
        hint=error.hint or None,
        option=error.option,
        command=error.command,
    )


def failed(
    outcome: JvmOutcome,
    program: Program,
    options: JvmOptions,
    name: str,
    side: Side | None = None,
    show_path: Callable[[str], str] = str,
) -> Failure | None:
    """Why a program gave no job that can be checked; None if it did. ``show_path`` gives the name of a file in reports."""
    if outcome.timed_out:
        own = own_frames(outcome.stuck)
        frame = (own or outcome.stuck or (None,))[0]
        waits = f", in {outcome.waits}" if outcome.waits else ""
        where = "" if frame is None else f" It was at {_shown(frame, show_path)}{waits}."
        line = "" if frame is None else linecache.getline(frame.file, frame.line)
        hint, more = late.advice(options.timeout, any(map(late.is_waiting_call, (outcome.waits, line))))
        return Failure(
            rule=Undecidable.PROGRAM_TIMEOUT,
            message=f"The program did not end within {options.timeout:g} seconds.{where}",
            name=name,
            side=side,
            source=None if frame is None else _line(frame, show_path),
            hint=hint,
            option=more,
        )
    if outcome.crash is not None:
        crash = outcome.crash
        if isinstance(program, JarProgram) and crash.without_main:
            hint, option = _nearest(program)
            crash = replace(crash, hint=hint, option=option)
        failure = _crashed(crash, name, side, show_path, outcome.said)
        return (
            failure
            if failure.hint not in (None, CAUGHT) or _is_of_another_kind(program, failure)
            else _with_variables(failure, outcome.missed, show_path)
        )
    if not outcome.jobs:
        what = "Call env.execute(); arguments follow --args."
        if isinstance(program, PyFlinkProgram):
            what = "Call env.execute(), execute_insert() or execute_sql('INSERT …'); arguments follow --args."
        if isinstance(program, SqlScript | CompiledPlan):
            what = "Write an INSERT INTO, or a statement set."
        failure = _without_job(outcome.said, what, name, side, in_python=isinstance(program, PyFlinkProgram))
        return failure if _is_of_another_kind(program, failure) else _with_variables(failure, outcome.missed, show_path)
    return None


def _is_of_another_kind(program: Program, failure: Failure) -> bool:
    """Whether a variable that a program in Python lacks is no reason for its failure: then it has None in place of it."""
    return isinstance(program, PyFlinkProgram) and _NOTHING.search(failure.message) is None


def _with_variables(
    failure: Failure, missed: Mapping[str, JavaFrame], show_path: Callable[[str], str] = str
) -> Failure:
    """A failure with the missing environment variables that the program asked for; only those that its message names, if it
    names any."""
    named = {name: frame for name, frame in missed.items() if re.search(rf"\b{re.escape(name)}\b", failure.message)}
    told = named or missed
    if not told:
        return failure
    at = {name: _shown(frame, show_path) for name, frame in told.items()}
    read = [f"{name} ({frame.file}:{frame.line})" for name, frame in at.items()]
    listed = " and ".join(filter(None, [", ".join(read[:-1]), read[-1]]))
    variables = [Lack(what=Lacking.VARIABLE, name=name) for name in told]
    options = [one for one in (option(lack, failure.side) for lack in variables) if one is not None]
    given = advice_on_lack(variables[0], failure.side, "") if len(told) == 1 else several_variables(failure.side)
    has_none = "has no such variable" if len(told) == 1 else "has none of them"
    return replace(
        failure,
        hint="\n".join(
            filter(None, [f"The program reads {listed} from its environment, which {has_none}. {given}", failure.hint])
        ),
        option=" ".join(options) or None,
    )


def _without_job(said: str, hint: str, name: str, side: Side | None, in_python: bool) -> Failure:
    """The failure of a program that ended and submitted nothing: one that caught what went wrong has printed it.

    What a program in Python prints of an exception need not have its type, so that all that it said is told.
    """
    message, printed = "The program submits no job.", _PRINTED.findall(said)
    if printed:
        message += f" It printed: {printed[-1]}"
        hint = "Give it the missing input: arguments with --args, variables with --env."
    elif in_python and said:
        last = said.splitlines()[-1]
        message, hint = f"{message} The last that it says: {last}", without_job(last, hint)
    return Failure(
        rule=Undecidable.NO_JOB,
        message=message,
        name=name,
        side=side,
        traceback="\n".join(_as_said(said)) if said and (printed or in_python) else None,
        hint=hint,
    )


def _as_said(said: str) -> list[str]:
    return [SAID, *(f"  {line}" for line in said.splitlines())]


def _crashed(crash: Crash, name: str, side: Side | None, show_path: Callable[[str], str], said: str) -> Failure:
    short, first = crash.type.rpartition(".")[2], 1 if crash.statement is None else crash.statement.line
    frame = next(iter(own_frames(crash.frames) or crash.frames), None)
    source = None if frame is None else _line(frame, show_path)
    of_sql = crash.statement is not None or short == _PARSER
    told = sql_errors.told(crash.message, first) if of_sql else plain(crash.message)
    lines = [f"{crash.type}: {told}"]
    if crash.statement is None:
        message = f"The program failed: {short}: {told}"
        lines += [f"    at {_shown(one, show_path)}" for one in crash.frames]
    else:
        source = SourceLine(name, first)
        message = f"The statement at line {first} failed: {told}"
        lines += [f"  {line}" for line in crash.statement.text.splitlines()]
    if crash.lacks is not None and said:
        lines += _as_said(said)
    advice = sql_errors.advice(crash.message) if of_sql else advice_on_lack(crash.lacks, side, said)
    return Failure(
        rule=Undecidable.PROGRAM_FAILED,
        message=message,
        name=name,
        side=side,
        source=source,
        traceback="\n".join(lines),
        hint=crash.hint or advice or remedy(short, told),
        option=crash.option or option(crash.lacks, side),
        command=crash.command or command(crash.lacks),
    )


def of_another_version(failure: Failure, flink: str, source: bytes) -> Failure:
    """The failure of a program that the PyFlink of a version of Flink ran, with a version that has the missing names.
    If the text of the program, its ``source``, has names that no supported version has, these are reported instead.
    """
    other, said = advice_on(failure.message, minor_version(flink))
    if said is None:
        return failure
    ended = [use for use in uses(source) if use.former.had_by is None] if other is not None else []
    if hopeless := [use for use in ended if not is_passed_over(use.former)]:
        told = dict.fromkeys(f"line {use.line}: {use.former}" for use in hopeless)
        return replace(failure, hint="\n".join(list(told)[:_LISTED]), option=None)
    if other is None:
        return replace(failure, hint=said, option=None)
    command = f"{COMMAND} {other}"
    makes = f"{said} {command} makes an environment with that version."
    return replace(failure, flink=other, hint=makes, option=None, command=command)


def _shown(frame: JavaFrame, show_path: Callable[[str], str]) -> JavaFrame:
    """A frame with the name that reports have for its file, where that is one of Python's."""
    return frame if frame.class_name or not frame.file else replace(frame, file=show_path(frame.file))


def _line(frame: JavaFrame, show_path: Callable[[str], str]) -> SourceLine:
    return SourceLine(
        frame.file if frame.class_name and frame.file else show_path(frame.file) or frame.class_name, frame.line
    )
