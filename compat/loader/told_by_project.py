"""What a program's project tells of how it is run: the arguments in its documents and scripts, and its files of variables."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from compat.loader.advice import installing, pip
from compat.loader.failure import Failure, Side
from compat.loader.layout import folders_of_project
from compat.loader.request import Lack, Lacking
from compat.loader.shown import typed
from compat.state.safe_open import open_regular

_TELLS = re.compile(r"README.*|.*\.(?:md|rst|sh|ya?ml)|Dockerfile.*|Makefile|Procfile|Justfile", re.IGNORECASE)
_REQUIREMENTS = re.compile(
    r"requirements[\w.-]*\.(?:txt|in)|pyproject\.toml|setup\.(?:py|cfg)|Pipfile|environment\.ya?ml|Dockerfile.*"
)
_ASKED = r"""^(?!\s*#)(?:\s*(?:-\s+)?|.*["']|.*\s)({})(?=\s*(?:[=<>~!;\[@"',\\]|$))"""
"""A line that asks for a package: of requirements, of a list, of a table, or of a command that installs it."""
_VARIABLES = re.compile(r"\.env(?:\..*)?|.*\.env")
_LISTED = re.compile(r"""["'](?:\s*,\s*["'][^"'\n]*["'])+""")
_TYPED = re.compile(r"(?:[^\S\n]+|[^\S\n]*\\?\n[^\S\n]+(?=-))([^\s\\`\"&|;<>]+)")
_OPTION = re.compile(r"--?[A-Za-z]")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_NOT_OF_SHELL = re.compile(r"^[^#\n=]*\s=|=[^\S\n]+\S|=[^'\"\s][^'\"\s]*[^\S\n]+[^#\s]", re.MULTILINE)
"""Lines of a file of variables that a shell reads otherwise."""
_GIVEN = r"""^\s*(?:export\s+)?{}=(?!\s|$|""|'')"""
_RUN, _BEFORE = re.compile(r"\bflink(?:\.sh)?[\"',\s]+run\b"), 300
_OF_FLINK = frozenset(
    {"-m", "--jobmanager", "-pyfs", "--pyFiles", "-pyreq", "--pyRequirements", "-pyarch", "--pyArchives", "-pyexec"}
    | {"--pyExecutable", "-pyclientexec", "--pyClientExecutable", "-j", "--jarfile", "-p", "--parallelism", "-s"}
    | {"--fromSavepoint", "-t", "--target", "-pym", "--pyModule"}
)
_FLAGS_OF_FLINK = frozenset({"-d", "--detached", "-n", "--allowNonRestoredState"})
_LARGEST, _MOST = 200_000, 300


class Call(Struct, frozen=True):
    """A file of a project that runs a program, and the arguments that it has there."""

    file: str
    arguments: tuple[str, ...]


class Required(Struct, frozen=True):
    """A package, and the file of a project that asks for it."""

    package: str
    file: str

    def __str__(self) -> str:
        return f"{self.file} asks for {self.package}."


def with_project(
    failure: Failure, lack: Lack | None, missed: Sequence[str], program: str, root: str | None = None
) -> Failure:
    """A failure for lack of arguments, variables or modules, with what the program's project has for it."""
    if lack is not None and lack.what is Lacking.VARIABLE:
        needed = [lack.name, *lack.others]
        missed = needed if file_with(needed, program, root) is not None else [lack.name]
    if missed and (file := file_with(missed, program, root)) is not None:
        shown = typed(file)
        command = f"set -a; . {shlex.quote(shown if os.sep in shown else f'./{shown}')}; set +a"
        return replace(failure, command=command, hint=f"{shown} has {' and '.join(missed)}.\n{failure.hint}")
    if lack is not None and lack.what is Lacking.MODULE and failure.command is None:
        asked = requirement_for(lack.name, program, root)
        return failure if asked is None else replace(failure, command=installing(asked.package, pip()), hint=str(asked))
    if lack is None or lack.what is not Lacking.ARGUMENTS or (call := call_of(program, root)) is None:
        return failure
    prefix = "old-" if failure.side is Side.OLD else ""
    arguments = shlex.join(call.arguments)
    told = f"{typed(call.file)} runs it with {arguments}."
    return replace(failure, option=f"--{prefix}args {shlex.quote(arguments)}", hint=f"{told}\n{failure.hint}")


def call_of(program: str, root: str | None = None) -> Call | None:
    """Where the project of a program runs it with arguments, the nearest file first; None for nowhere."""
    name = re.escape(os.path.basename(program))
    for file in _files(program, root, _TELLS):
        text = _text(file)
        for found in re.finditer(rf"(?:^|[\s/\"'=])(?P<name>{name})(?![\w.])", text):
            arguments = _arguments(text, found.end("name"))
            if _RUN.search(text, max(0, found.start() - _BEFORE), found.start()):
                arguments = tuple(_without_flinks(arguments))
            if arguments and _OPTION.match(arguments[0]) and "$" not in "".join(arguments):
                return Call(file, arguments)
    return None


def file_with(variables: Sequence[str], program: str, root: str | None = None) -> str | None:
    """The nearest file of the project of a program that gives all these variables a value; None for none."""
    for file in _files(program, root, _VARIABLES):
        text = _COMMENT.sub("", _text(file))
        if not _NOT_OF_SHELL.search(text) and all(
            re.search(_GIVEN.format(re.escape(one)), text, re.MULTILINE) for one in variables
        ):
            return file
    return None


def requirement_for(module: str, program: str, root: str | None = None) -> Required | None:
    """The package that the project of a program asks for under the name of a module, and the nearest file that does.

    A name in a sentence is none that is asked for, and PyFlink is no package of a project.
    """
    parts = [] if module.partition(".")[0] == "pyflink" else module.split(".")
    for count in range(len(parts), 0, -1):
        name = r"[-_.]".join(re.escape(one) for part in parts[:count] for one in re.split(r"[-_]", part))
        line = re.compile(_ASKED.format(name), re.IGNORECASE | re.MULTILINE)
        for file in _files(program, root, _REQUIREMENTS):
            if (found := line.search(_text(file))) is not None:
                return Required(found[1], typed(file))
    return None


def _arguments(text: str, place: int) -> tuple[str, ...]:
    """The arguments behind the name of a program: typed as in a shell, over lines that go on, or as a list of texts."""
    if (listed := _LISTED.match(text, place)) is not None:
        return tuple(re.findall(r"""["']([^"'\n]*)["']""", listed[0][1:]))
    found: list[str] = []
    while (word := _TYPED.match(text, place)) is not None and not word[1].startswith("#"):
        found.append(word[1])
        place = word.end()
    return tuple(found)


def _without_flinks(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments without the options of ``flink run``, which may stand behind the program, too."""
    rest = iter(arguments)
    for one in rest:
        if one in _OF_FLINK:
            next(rest, None)
        elif one not in _FLAGS_OF_FLINK:
            yield one


def _files(program: str, root: str | None, names: re.Pattern[str]) -> Iterator[str]:
    for folder in folders_of_project(program, root):
        try:
            with os.scandir(folder) as entries:
                fit = sorted(one.name for one in entries if names.fullmatch(one.name) and one.is_file())
        except OSError:
            continue
        yield from (os.path.join(folder, name) for name in fit[:_MOST])


def _text(path: str) -> str:
    try:
        with open_regular(path) as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
