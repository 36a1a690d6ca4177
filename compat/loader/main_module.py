"""The one way in which a program's file is run in this process, as ``python FILE ARGUMENTS`` would run it.

:func:`prepare` says who takes the jobs that it submits: one who plans them, runs them on Spark, or restores state into them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from msgspec import Struct

from compat.compiler.own_code import is_our_folder
from compat.compiler.versions import LATEST_FLINK
from compat.loader.layout import Layout, find_layout, run_name
from compat.loader.runtime_file import served

if TYPE_CHECKING:
    from compat.compiler.datastream.program import Program
    from compat.compiler.job import Executor
    from compat.loader.layout import Missing


class Ran(Struct, frozen=True, kw_only=True):
    """A program that was run to its end: its code, and the modules that it was the first to import."""

    code: CodeType
    imported: tuple[ModuleType, ...]


def prepare(
    executor: Executor,
    options: Mapping[str, str],
    parallelism: int | None = None,
    flink: str = LATEST_FLINK,
    *,
    planning: bool = False,
) -> Program:
    """Make this process one that programs can run in, and give their jobs to ``executor``; gives the program that runs there.

    ``options`` are Flink's; they and ``parallelism`` are defaults for the program. ``flink`` is the version of Flink whose
    PyFlink it finds. ``planning`` says that the executor runs no jobs.
    """
    from compat.compiler.datastream.program import Program, start
    from compat.loader.imports import prepare_for_programs

    prepare_for_programs(flink)
    program = Program(executor, options=options, parallelism=parallelism, flink=flink, planning=planning)
    start(program)
    return program


def layout_of(
    path: str,
    pyfiles: Sequence[str] = (),
    outermost: str | None = None,
    moved: tuple[str, str] | None = None,
) -> Layout:
    """Where the modules of the program in a file are; folders of ours are none of them. Raises OSError."""
    with open(path, "rb") as file:
        layout = find_layout(path, file.read(), pyfiles, outermost, moved)
    return layout._replace(roots=tuple(root for root in layout.roots if not is_our_folder(root)))


def run_as_main(
    layout: Layout,
    arguments: Sequence[str],
    called: str | None = None,
    missing: Missing | None = None,
    argv: Callable[[list[str]], list[str]] = list,
    properties: str = "",
) -> Ran:
    """Run a program's file as the module ``__main__``; ``called`` is ``sys.argv[0]``, if that is not its path.

    ``missing`` provides modules that are not found, and ``argv`` makes ``sys.argv``. ``properties`` is the file of
    :mod:`compat.loader.runtime_file`. All exceptions of the program pass through, SystemExit included.
    """
    path = layout.program
    with open(path, "rb") as file:
        source = file.read()
    main = ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    sys.argv = argv([called or path, *arguments])
    layout.enter(missing)
    code = served(compile(source, path, "exec", dont_inherit=True), properties)
    before = set(sys.modules)
    run_name(layout, main)
    exec(code, main.__dict__)
    return Ran(code=code, imported=tuple(sys.modules[name] for name in set(sys.modules) - before))
