"""The digest of the program behind a plan: the same files give the same digest, wherever they are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256

from compat.loader.layout import Layout

_INSTALLED = ("site-packages", "dist-packages")
_SERVED = ("compat", "pyflink")
"""Modules that compat provides, which never belong to the program."""

_PART = 1024 * 1024


def of_file(path: str) -> str | None:
    """The digest of a file: a jar, an SQL script, a topology. None if it cannot be read or is not a file."""
    digest = sha256()
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            while part := file.read(_PART):
                digest.update(part)
    except (OSError, ValueError):
        return None
    return f"sha256:{digest.hexdigest()}"


def of_python(program: str, layout: Layout) -> str | None:
    """The digest of a Python program: of its file and of its own modules that are loaded by now.

    It is computed from a list of them, sorted by their paths relative to the program's folder, without the program's
    own name.
    None if one of them cannot be read.
    """
    files = {"": program, **_modules(program, layout)}
    digest = sha256()
    for name, path in sorted(files.items()):
        content = of_file(path)
        if content is None:
            return None
        digest.update(f"{name}\0{content}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{digest.hexdigest()}"


def _modules(program: str, layout: Layout) -> Mapping[str, str]:
    """The files of the program's own modules, by their place."""
    folder = os.path.realpath(layout.folder)
    tops = [os.path.realpath(top) for top in (layout.folder, layout.root, *layout.roots, *layout.pyfiles) if top]
    found = {}
    for path in _loaded():
        own = any(path == top or path.startswith(top + os.sep) for top in tops)
        inner = path.split(os.sep)
        if own and path != os.path.realpath(program) and not any(each in inner for each in _INSTALLED):
            found[os.path.relpath(path, folder)] = path
    return found


def _loaded() -> Iterator[str]:
    """The files of all modules that are loaded, or the archives that they are in."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name.partition(".")[0] in _SERVED:
            continue
        while file and not os.path.exists(file) and file != os.path.dirname(file):
            file = os.path.dirname(file)
        if os.path.isfile(file):
            yield os.path.realpath(file)
