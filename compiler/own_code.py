"""Tells compat's code from the program's, for tracebacks, source lines, pickling and the search for a program's own modules.

The examples that ship with the package are programs like any user's, and so are not ours in this sense.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""The folder of the package ``compat``, with a separator at its end."""

ROOT = os.path.dirname(os.path.dirname(PACKAGE))
"""The folder that ``compat`` is imported from: site-packages, or a checkout."""

_NAME = os.path.basename(os.path.dirname(PACKAGE))
_STANDARD = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
_INSTALLED = ("site-packages", "dist-packages")
_API = PACKAGE + "compiler" + os.sep
_EXAMPLES = PACKAGE + "examples" + os.sep


def is_our_file(path: str) -> bool:
    """True for the path of a source file of this package, as it stands in code objects and tracebacks."""
    return path.startswith(PACKAGE) and not path.startswith(_EXAMPLES)


def told_name(path: str) -> str:
    """The name of a source file in error reports: ours from the package on (``compat/plan/encode.py``), others by
    their last name. Neither says where they lie."""
    return f"{_NAME}/{path.removeprefix(PACKAGE).replace(os.sep, '/')}" if is_our_file(path) else os.path.basename(path)


def is_api_file(path: str) -> bool:
    """True for a source file of the API that programs call in place of PyFlink."""
    return path.startswith((_API + "datastream" + os.sep, _API + "transformations" + os.sep))


def is_our_module(name: str) -> bool:
    """True for the dotted name of a module of this package, also for those that programs know by PyFlink's names."""
    top = name.partition(".")[0]
    return top in (_NAME, "pyflink") and not name.startswith(_NAME + ".examples")


def is_our_folder(path: str) -> bool:
    """True for a folder of this package, and for a checkout of it, where other things stand by short names."""
    path = os.path.realpath(path)
    return is_our_file(path + os.sep) or (_is_checkout() and path == os.path.realpath(ROOT))


def is_machinery(path: str) -> bool:
    """True for code that a traceback of a program leaves out: ours, and Python's import system."""
    return path.startswith("<frozen") or is_our_file(path)


def is_library(path: str) -> bool:
    """True for code of Python and of what is installed, which is not the program's own."""
    return path.startswith(_STANDARD) or any(f"{os.sep}{part}{os.sep}" in path for part in _INSTALLED)


def hide_checkout() -> None:
    """Take the root of a checkout off the search path, once ``compat`` is imported and finds its modules by itself.

    In a checkout, ``compiler`` and ``state`` stand beside ``compat``; a program that imports such names means others.
    """
    if _is_checkout():
        root = os.path.realpath(ROOT)
        sys.path[:] = [path for path in sys.path if os.path.realpath(path) != root]


def _is_checkout() -> bool:
    return os.path.isdir(os.path.join(ROOT, "compiler")) and os.path.isdir(os.path.join(ROOT, "state"))


def namesake(folders: Iterable[str]) -> str | None:
    """The first module or folder in ``folders`` that has the name of this package and is not it; None if none has."""
    ours = os.path.realpath(PACKAGE)
    for folder in folders:
        path = os.path.join(folder, _NAME)
        if os.path.isdir(path) and os.path.realpath(path) != ours:
            return path
        if os.path.isfile(path + ".py"):
            return path + ".py"
    return None
