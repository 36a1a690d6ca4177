"""Copies of a program's own modules, for workers on machines that may not have them."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

LIMIT = 64 * 1024 * 1024
"""Packages up to this size, in bytes, travel with all their files; larger ones only with their Python code."""

FORGOTTEN_SECONDS = 7 * 24 * 3600
"""Copies that were not used for this time are removed."""

_DATE = (1980, 1, 1, 0, 0, 0)


class CopiedModules(Struct, frozen=True):
    """Modules from ``folders`` of the search path, in a zip file under the number of their folder."""

    folders: tuple[str, ...]
    archive: bytes

    def found(self, folders: Iterable[str]) -> tuple[str, ...]:
        """The folders to search on this machine: the copies come before folders that lack the same modules."""
        return tuple(path for folder in folders for path in (*self._copies(folder), folder))

    def _copies(self, folder: str) -> list[str]:
        if folder not in self.folders:
            return []
        number = f"{self.folders.index(folder)}/"
        with zipfile.ZipFile(io.BytesIO(self.archive)) as archive:
            names = [name for name in archive.namelist() if name.startswith(number)]
            if all(_content(Path(folder, name.removeprefix(number))) == archive.read(name) for name in names):
                return []
        return [str(self._unpacked() / number)]

    def _unpacked(self) -> Path:
        from compat.compiler.spark.task.epochs import private_folder

        root = Path(private_folder("modules"))
        place = root / hashlib.sha256(self.archive).hexdigest()[:32]
        if not place.exists():
            _remove_forgotten(root)
            fresh = root / f"{place.name}.{os.getpid()}.new"
            with zipfile.ZipFile(io.BytesIO(self.archive)) as archive:
                archive.extractall(fresh)
            try:
                fresh.rename(place)
            except OSError:
                shutil.rmtree(fresh)
                if not place.exists():  # nobody else was faster
                    raise
        with suppress(OSError):
            os.utime(place)
        return place


def copied_modules(folders: Sequence[str], whole: Sequence[str]) -> CopiedModules | None:
    """The modules that this process imported from ``folders``, and everything in the folders ``whole``; None if there
    are none.
    """
    files: dict[str, Path] = {}
    for number, folder in enumerate(folders):
        names = {name for name, path in _imported() if Path(path).parent == Path(folder)}
        if folder in whole:
            names |= _modules_in(Path(folder))
        for path in sorted(path for name in names for path in _files(Path(folder), name)):
            files[f"{number}/{path.relative_to(folder).as_posix()}"] = path
    if sum(path.stat().st_size for path in files.values()) > LIMIT:
        files = {name: path for name, path in files.items() if path.suffix == ".py"}
    if not files:
        return None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return CopiedModules(tuple(folders), packed.getvalue())


def _imported() -> Iterator[tuple[str, str]]:
    """The modules that are loaded and are in no package, with the file or folder of each."""
    for name, module in list(sys.modules.items()):
        if "." in name or name == "__main__":
            continue
        for path in getattr(module, "__path__", None) or [getattr(module, "__file__", None)]:
            if isinstance(path, str):
                yield name, os.path.abspath(path)


def _modules_in(folder: Path) -> set[str]:
    """The names of the modules and packages in a folder."""
    modules = {path.stem for path in folder.glob("*.py")}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    return {name for name in modules | packages if name.isidentifier()}


def _files(folder: Path, name: str) -> Iterator[Path]:
    module = folder / f"{name}.py"
    if module.is_file():
        yield module
    for path in (folder / name).rglob("*"):
        inside = path.relative_to(folder).parts
        if path.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in inside):
            yield path


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _remove_forgotten(root: Path) -> None:
    for place in root.iterdir():
        with suppress(OSError):
            if time.time() - place.stat().st_mtime > FORGOTTEN_SECONDS:
                shutil.rmtree(place)
