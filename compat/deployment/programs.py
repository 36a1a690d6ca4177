"""Finds the program of a resource of Flink's operator on this machine, as its path is that in an image."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from compat.deployment.resources import Deployment

YAML = (".yaml", ".yml")
_PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
"""Flink's class that runs a Python program, which is one of its arguments."""
_SCRIPT = ("-py", "--python")
_BUILT = ("target", "build/libs", "usrlib", "src", ".")
"""The folders where Maven, Gradle and people put files for an image."""
_LEVELS = 3
"""The number of folders above the resource in which its project may begin."""


class NoProgram(ValueError):
    """The program of a resource is not on this machine; the message says which one, and where it was searched."""


class Runs(Struct, frozen=True, kw_only=True):
    """The program of a resource: the file, its class and its arguments."""

    file: Path
    main_class: str | None
    arguments: tuple[str, ...]


def program_of(deployment: Deployment, resource: Path) -> Runs:
    """The program of a resource, found by name: beside the file of the resource, or in build folders.

    Raises NoProgram."""
    job = deployment.job
    if job is None or not (job.jar or job.args):
        raise NoProgram(f"{resource} runs no job.")
    arguments, main_class = tuple(job.args or ()), job.entry_class
    there = job.jar or ""
    if main_class == _PYTHON_DRIVER:
        there, arguments, main_class = *_script(arguments, resource), None
    name = posixpath.basename(urlsplit(there).path)
    for folder in _folders(resource):
        if name and (folder / name).is_file():
            return Runs(file=folder / name, main_class=main_class, arguments=arguments)
    raise NoProgram(
        f"{resource} runs {there}, and no {name} is beside it or in the target or build/libs of its project."
    )


def _script(arguments: tuple[str, ...], resource: Path) -> tuple[str, tuple[str, ...]]:
    """The script among the arguments of Flink's driver for Python, and those of its own, which stand behind it."""
    for option in _SCRIPT:
        if option in arguments[:-1]:
            at = arguments.index(option)
            return arguments[at + 1], arguments[at + 2 :]
    raise NoProgram(
        f"{resource} runs a program in Python, and does not say which with -py: modules are named on the command line."
    )


def _folders(resource: Path) -> Iterator[Path]:
    here = resource.absolute().parent
    for folder in (here, *list(here.parents)[:_LEVELS]):
        for name in _BUILT:
            yield folder / name
