"""Chooses the PyFlink that builds a program: the given one, this environment's, or one that ``compat setup pyflink`` made.

Others on this machine are found by their files and only suggested: no interpreter runs unless the user chose it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from compat.compiler.versions import standing_for
from compat.loader.inputs import Input, LoadOptions
from compat.loader.jvm.distribution import parsed
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.pyflink.environments import COMMAND, Environment, fitting, made, pyflink_in
from compat.loader.jvm.pyflink.installed import PyFlink, find_pyflink, named
from compat.loader.layout import folders_of_project

_IN_PROJECT = (".venv", "venv", "env")
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")


def choose(given: Input, load: LoadOptions) -> tuple[PyFlink, str]:
    """The PyFlink for a program, and a note on the choice. Raises JvmError if there is none."""
    prepared = fitting(made(), load.flink, load.flink_assumed)
    if (python := named(load.jars.pyflink)) is not None and not (prepared and _fits_better(prepared[0], python, load)):
        return find_pyflink(load.jars.pyflink), ""
    if prepared and not _is_own_better(prepared[0], load.flink):
        chosen = prepared[0]
        return find_pyflink(str(chosen.folder)), f"Built by PyFlink {chosen.version}, in the environment of {COMMAND}."
    try:
        return find_pyflink(), ""
    except JvmError as error:
        raise JvmError(str(error), *_advice(given, load)) from error


def may_be_of(flink: str, load: LoadOptions) -> bool:
    """Whether another PyFlink can build a program, of a version that it turned out to need: none was named for it, and one
    is there if COMPAT_PYFLINK names one for all programs.
    """
    prepared = any(parsed(one.version) == parsed(flink) for one in made())
    return not load.jars.pyflink and (prepared or named(None) is None)


def unlike_pin(load: LoadOptions, version: str) -> tuple[str, str] | None:
    """What tells that a project pins another version than the PyFlink that builds its program, and the command that makes
    one of its version; None if it does not.
    """
    if not load.flink_pin or standing_for(version) == load.flink:
        return None
    return f"{load.flink_pin}, and PyFlink {version} builds the program.", f"{COMMAND} {load.flink}"


def _fits_better(prepared: Environment, python: str, load: LoadOptions) -> bool:
    """Whether a prepared environment is of the version that is wanted, and the one that COMPAT_PYFLINK names is not."""
    if load.jars.pyflink or load.flink_assumed or parsed(prepared.version) != parsed(load.flink):
        return False
    folder = Path(python) if os.path.isdir(python) else Path(python).absolute().parents[1]
    there = pyflink_in(folder)
    return there is not None and standing_for(there.version) != load.flink


def _is_own_better(prepared: Environment, flink: str) -> bool:
    """Whether this environment has a PyFlink that fits as well as one that was prepared."""
    try:
        own = version("apache-flink")
    except PackageNotFoundError:
        return False
    return parsed(own) == parsed(flink) or parsed(prepared.version) != parsed(flink)


def _advice(given: Input, load: LoadOptions) -> tuple[str, str | None, str | None]:
    """How a program gets a PyFlink, and the option for that where another Python of this machine has it, else the command."""
    command = f"{COMMAND} {load.flink}"
    makes = f"{command} makes an environment for it, once."
    near = fitting(_near(given), load.flink, load.flink_assumed)
    if not near:
        return f"{makes} Give an existing one with --pyflink PYTHON.", None, command
    option = f"--pyflink {_shown(near[0].folder)}"
    return f"PyFlink {near[0].version} is in {_shown(near[0].folder)}: give {option}. Or: {makes}", option, None


def _near(given: Input) -> Iterator[Environment]:
    """The environments with PyFlink of a program's project, of this shell, and of this user, in this order."""
    return (found for one in dict.fromkeys(_places(given)) if (found := pyflink_in(one)) is not None)


def _places(given: Input) -> Iterator[Path]:
    projects = [*folders_of_project(given.path, given.root or None), *filter(None, [given.taken_from])]
    yield from (Path(folder, name) for folder in projects for name in _IN_PROJECT)
    yield from (Path(active) for name in _ACTIVE if (active := os.environ.get(name)))
    home = Path.home()
    with suppress(OSError):
        yield from map(Path, (home / ".conda" / "environments.txt").read_text("utf-8", "replace").split("\n"))
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    roots = (Path(os.environ.get("PYENV_ROOT") or home / ".pyenv", "versions"), data / "uv" / "python")
    yield from (one for root in roots for one in sorted(root.glob("*"), reverse=True))


def _shown(folder: Path) -> str:
    """A folder as it is typed: from the working directory on, where it is below it."""
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)
