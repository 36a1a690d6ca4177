"""Where a program's own modules are: beside it, in its project, and in what ``--pyfiles`` names.

A program runs as with ``python job.py``. If its file is part of a package, and its imports show that (relative, or by the
package's name), it runs as with ``python -m package.job``. Modules that are not found there or on PYTHONPATH are searched in
the folders from the program up to the project's root, each with its ``src``, and then among the installed packages: so each
side of a check finds its own modules.

The user's interpreters, which may lack compat, run this file too: it imports only the standard library, in the syntax of Python
3.8.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    Missing = Callable[[str], ModuleSpec | None]
    """Asked for the spec of a module that nothing has."""

_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "compat.toml")
_INSTALLED = ("site-packages", "dist-packages")
_NO_SOURCES = ("node_modules", "__pycache__", "site-packages")
_DEEP, _MANY = 4, 2_000
"""How far a folder is searched for modules before it counts as one that holds none."""
_RELATIVE = re.compile(rb"^[ \t]*from[ \t]+\.", re.MULTILINE)


class Layout(NamedTuple):
    """The places of a program's modules.

    ``folder`` is the program's own folder; ``roots`` are the folders above it, nearest first, up to ``root``, the project's;
    ``why`` says why this is the project's root (empty if nothing shows it). ``pyfiles`` are modules, folders and archives.
    If the program runs as part of a package, ``package`` is its name and ``top`` the folder that contains it. ``moved`` is a
    pair of folders for a program from a revision: searches below the first, the original one, go to the second, the exported
    one.
    """

    program: str
    folder: str
    roots: tuple[str, ...] = ()
    root: str = ""
    why: str = ""
    pyfiles: tuple[str, ...] = ()
    package: str | None = None
    top: str = ""
    moved: tuple[str, str] | None = None

    @property
    def first(self) -> str:
        """The folder that is searched first of all."""
        return self.folder if self.package is None else self.top

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders and archives among the ``pyfiles``."""
        return tuple(path for path in self.pyfiles if not path.endswith(".py"))

    @property
    def last(self) -> tuple[str, ...]:
        """Where a process that has no finder of its own may look last."""
        return (*self.roots, *(os.path.dirname(path) for path in self.pyfiles if path.endswith(".py")))

    def enter(self, missing: Missing | None = None) -> None:
        """From now on, imports of this process find the program's modules; ``missing`` is asked for what nothing has."""
        if self.moved is not None:
            _move(*self.moved)
        sys.path.insert(0, self.first)
        place = next((i for i, one in enumerate(sys.meta_path) if one is PathFinder), len(sys.meta_path))
        sys.meta_path.insert(place, OwnModules(self, missing))

    def described(self, show: Callable[[str], str]) -> str:
        """The places in the order in which they are searched, for people; ``show`` says what a path is called."""
        what = "the program's folder" if self.package is None else f"for python -m {self.module}"
        parts = [f"{show(self.first)} ({what})", *(f"{show(one)} (--pyfiles)" for one in self.pyfiles)]
        for root in self.roots:
            told = f" (the project's root, by {self.why})" if self.why and root == self.root else ""
            parts.append(show(root) + told)
        return ", ".join(parts)

    @property
    def module(self) -> str:
        """The dotted name of the program as a module of its package."""
        name = os.path.splitext(os.path.basename(self.program))[0]
        return (self.package or "") if name == "__main__" else f"{self.package}.{name}"


def find_layout(
    program: str,
    source: bytes,
    pyfiles: Sequence[str] = (),
    outermost: str | None = None,
    moved: tuple[str, str] | None = None,
) -> Layout:
    """The layout of the program in a file. ``outermost`` is its project's root where that is known; else it is found."""
    folder = os.path.dirname(os.path.abspath(program))
    root, why = (outermost, "") if outermost else _root(folder)
    package, top = _package(folder, source, outermost)
    roots = [
        os.path.normpath(os.path.join(above, below))
        for above in _upwards(folder, root)
        for below in ("", "src", *_source_folders(above))
    ]
    first = folder if package is None else top
    return Layout(
        program=program,
        folder=folder,
        roots=tuple(path for path in dict.fromkeys(roots) if path != first and os.path.isdir(path)),
        root=root,
        why=why,
        pyfiles=tuple(pyfiles),
        package=package,
        top=top,
        moved=moved,
    )


class OwnModules:
    """Finds the modules of a program, ahead of what is installed and behind the standard library."""

    def __init__(self, layout: Layout, missing: Missing | None = None) -> None:
        self._layout = layout
        self._missing = missing
        self._files = {
            os.path.splitext(os.path.basename(path))[0]: path for path in layout.pyfiles if path.endswith(".py")
        }
        self._folders = list(layout.folders)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of the program; None for a part of a package, and for what is found without this."""
        if path is not None or "." in name:
            return None
        early = _before_installed(sys.path)
        first, rest = early[:1], early[1:]
        found = _regular(name, first) or self._given(name) or _regular(name, rest)
        if found is not None:
            return found
        for root in self._layout.roots:
            found = _regular(name, [root])
            if found is not None:
                return found
        found = PathFinder.find_spec(name)
        if found is not None and found.loader is not None:
            return found
        places = [*sys.path, *self._folders, *self._layout.roots]
        portions = [folder for one in places if os.path.isdir(folder := os.path.join(one, name))]
        full = list(dict.fromkeys(one for one in portions if _holds_modules(one)))
        if full:
            return _namespace(name, full)
        return None if self._missing is None else self._missing(name)

    def _given(self, name: str) -> ModuleSpec | None:
        if name in self._files:
            return importlib.util.spec_from_file_location(name, self._files[name])
        return _regular(name, self._folders)


def run_name(layout: Layout, main: ModuleType) -> None:
    """Tell the module of a program which package it is in, as ``python -m`` does, and import that."""
    if layout.package is None:
        main.__package__ = None
        return
    main.__package__ = layout.package
    importlib.import_module(layout.package)
    main.__spec__ = ModuleSpec(layout.module, None, origin=layout.program)


def _regular(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    """The spec of a module, or of a package that has an ``__init__``."""
    found = PathFinder.find_spec(name, list(folders)) if folders else None
    return found if found is not None and found.loader is not None else None


def _namespace(name: str, folders: list[str]) -> ModuleSpec:
    found = ModuleSpec(name, None, is_package=True)
    found.submodule_search_locations = folders
    return found


def _holds_modules(folder: str) -> bool:
    """Whether a folder without ``__init__.py`` holds Python, and is not one of settings and data that has the same name."""
    seen = 0
    for here, folders, files in os.walk(folder):
        if any(file.endswith((".py", ".so", ".pyd")) for file in files):
            return True
        seen += len(files) + len(folders)
        deep = here[len(folder) :].count(os.sep)
        folders[:] = [one for one in folders if deep < _DEEP and one not in _NO_SOURCES and not one.startswith(".")]
        if seen > _MANY:
            return False
    return False


def _before_installed(path: Sequence[str]) -> list[str]:
    """The part of the search path ahead of installed packages: the program's own, PYTHONPATH, the standard library."""
    for place, one in enumerate(path):
        if os.path.basename(one) in _INSTALLED:
            return list(path[:place])
    return list(path)


def folders_of_project(program: str, outermost: str | None = None) -> Iterator[str]:
    """The folders of a program's project, from its own upwards; ``outermost`` is the root where that is known."""
    folder = os.path.dirname(os.path.abspath(program))
    return _upwards(folder, outermost or _root(folder)[0])


def _upwards(folder: str, root: str) -> Iterator[str]:
    """A folder and those above it, up to ``root``."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if folder == root or above == folder or not _is_below(folder, root):
            return
        folder = above


def _source_folders(folder: str) -> list[str]:
    """The folders that the ``pyproject.toml`` of a folder takes packages from, as poetry and setuptools read it."""
    try:
        import tomllib

        with open(os.path.join(folder, "pyproject.toml"), "rb") as file:
            tool = tomllib.load(file).get("tool", {})
    except (ImportError, OSError, ValueError, RecursionError):
        return []
    found: list[object] = []
    with suppress(AttributeError, TypeError):
        found += [one.get("from") for one in tool.get("poetry", {}).get("packages", [])]
    with suppress(AttributeError, TypeError):
        found += tool.get("setuptools", {}).get("package-dir", {}).values()
    with suppress(AttributeError, TypeError):
        found += tool.get("setuptools", {}).get("packages", {}).get("find", {}).get("where", [])
    return list(dict.fromkeys(one for one in found if isinstance(one, str)))


def _is_below(folder: str, root: str) -> bool:
    return folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)


def _root(folder: str) -> tuple[str, str]:
    """The root of the project that a folder is in, and what tells it; the folder itself where nothing does."""
    home = os.path.realpath(os.path.expanduser("~"))
    nearest: tuple[str, str] | None = None
    here = folder
    while os.path.dirname(here) != here and os.path.realpath(here) != home:
        if os.path.exists(os.path.join(here, ".git")):
            return here, "its .git"
        mark = next((one for one in _PROJECT if os.path.isfile(os.path.join(here, one))), None)
        if nearest is None and mark is not None:
            nearest = here, f"its {mark}"
        here = os.path.dirname(here)
    if nearest is not None:
        return nearest
    cwd = os.getcwd()
    if folder != cwd and _is_below(folder, cwd) and os.path.dirname(cwd) != cwd:
        return cwd, "where compat was called"
    return _above_packages(folder), ""


def _above_packages(folder: str) -> str:
    """The nearest folder that is not in a package."""
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _package(folder: str, source: bytes, outermost: str | None) -> tuple[str | None, str]:
    """The package that a program is run in, and the folder that has it; None for one that is run as a script."""
    top = _above_packages(folder)
    parts = os.path.relpath(folder, top).split(os.sep) if top != folder else []
    levels, names = _imports(source) if parts or _RELATIVE.search(source) else (0, set())
    if levels == 0 and not (parts and parts[0] in names):
        return None, folder
    while len(parts) < levels and top not in (outermost, os.path.dirname(top)):
        parts.insert(0, os.path.basename(top))
        top = os.path.dirname(top)
    if len(parts) < max(levels, 1) or not all(part.isidentifier() for part in parts):
        return None, folder
    return ".".join(parts), top


def _imports(source: bytes) -> tuple[int, set[str]]:
    """How far up the relative imports of a program reach, and the first names of its absolute ones."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0, set()
    levels, names = 0, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            levels = max(levels, node.level)
            if node.level == 0 and node.module:
                names.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
    return levels, names


def _move(before: str, after: str) -> None:
    """Search below ``after`` what is searched below ``before``, a project that one revision was taken out of."""
    before = os.path.realpath(before)
    path = []
    for one in sys.path:
        real = os.path.realpath(one) if one else os.getcwd()
        if _is_below(real, before) and not any(part in _INSTALLED for part in real.split(os.sep)):
            one = os.path.join(after, os.path.relpath(real, before)) if real != before else after
            if not os.path.exists(one):
                continue
        path.append(one)
    sys.path[:] = path
    sys.meta_path[:] = [one for one in sys.meta_path if not _is_editable(one, before)]


def _is_editable(finder: object, folder: str) -> bool:
    """True for what an editable installation of a project in ``folder`` finds modules by."""
    name = getattr(finder, "__module__", "")
    if not isinstance(name, str) or not name.startswith("__editable__"):
        return False
    mapping = getattr(sys.modules.get(name), "MAPPING", {})
    return any(_is_below(os.path.realpath(str(path)), folder) for path in mapping.values())
