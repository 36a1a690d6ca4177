"""Settings from ``[tool.compat]`` of a ``pyproject.toml``, or from a ``compat.toml``."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from compat.loader.inputs import FlinkJars
from compat.loader.request import clipped
from compat.settings.keys import JOB, JOB_KEYS, KEYS, PARALLELISM, Key
from compat.settings.kinds import kind_of
from compat.settings.model import JobEntry, Settings, SettingsError
from compat.state.safe_open import read_regular

OWN_FILE = "compat.toml"
PROJECT_FILE = "pyproject.toml"
LARGEST = 10_000_000
"""The largest size of a settings file, in bytes."""
_SHOWN = 200


def find(*starts: Path) -> Settings:
    """The settings for the first of ``starts`` (folders, or files in them) that has a settings file in or above it.

    Looks in each folder from there upwards, first for ``compat.toml``, then for a ``pyproject.toml`` with a table
    ``tool.compat``. Without a file, the settings are empty. Raises :class:`SettingsError`.
    """
    for start in starts:
        folder = start.absolute()
        for parent in (folder, *folder.parents):
            settings = _in_folder(parent)
            if settings is not None:
                return settings
    return Settings()


def _in_folder(folder: Path) -> Settings | None:
    own, project = folder / OWN_FILE, folder / PROJECT_FILE
    if own.is_file():
        return load(own)
    if project.is_file() and b"compat" in _bytes(project):
        document = _document(project)
        tool = document.get("tool")
        if isinstance(tool, dict) and "compat" in tool:
            return load(project)
    return None


def load(path: Path) -> Settings:
    """The settings in one file: its table ``tool.compat`` if it is a ``pyproject.toml``, else the whole file.

    Paths in the file are relative to its folder. Raises :class:`SettingsError`.
    """
    return _of_document(path, _document(path))


def load_text(path: Path, text: bytes) -> Settings:
    """The settings in the ``text`` of a settings file. Raises :class:`SettingsError`."""
    return _of_document(path, _parsed(path, text))


def _of_document(path: Path, document: dict[str, Any]) -> Settings:
    where = ""
    if path.name == PROJECT_FILE:
        tool = document.get("tool", {})
        document = tool.get("compat", {}) if isinstance(tool, dict) else {}
        where = "tool.compat."
        if not isinstance(document, dict):
            raise SettingsError(f"{path}: tool.compat must be a table, not {kind_of(document)}")
    return _settings(_Table(path, where, document))


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path, LARGEST)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from error


def _document(path: Path) -> dict[str, Any]:
    return _parsed(path, _bytes(path))


def _parsed(path: Path, text: bytes) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"{path}: not valid TOML: nested too deeply") from error


class _Table(Struct, frozen=True):
    """A table of a settings file, with its place for error messages."""

    path: Path
    prefix: str
    values: dict[str, Any]

    def read(self, keys: tuple[Key, ...], what: str) -> dict[str, Any]:
        """The values of the keys that are there, by key. Raises SettingsError for an unknown key or an invalid value."""
        known = {key.name: key for key in keys}
        found = {}
        for name, value in self.values.items():
            if name not in known:
                raise self._unknown(name, list(known), what)
            try:
                found[name] = known[name].kind.read(value, self.path.absolute().parent)
            except ValueError as error:
                detail = f" ({error})" if str(error) else ""
                raise self.error(name, known[name].kind.expected, value, detail) from None
        return found

    def error(self, key: str, expected: str, value: Any, detail: str = "") -> SettingsError:
        """The error for a wrong value of a key."""
        said = kind_of(value) if isinstance(value, dict | list) else clipped(repr(value), _SHOWN)
        return SettingsError(f"{self.path}: {self.prefix}{key} must be {expected}, not {said}{detail}")

    def _unknown(self, name: str, known: list[str], what: str) -> SettingsError:
        from difflib import get_close_matches

        near = get_close_matches(name[:_SHOWN].replace("_", "-"), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
        return SettingsError(f"{self.path}: {self.prefix}{clipped(name, _SHOWN)} is not a {what}; {hint}")


def _settings(table: _Table) -> Settings:
    """The settings in the table of a file."""
    jobs = table.values.get(JOB, [])
    if not isinstance(jobs, list) or not all(isinstance(one, dict) for one in jobs):
        raise table.error(JOB, "a list of tables with path, args and others", jobs)
    given = _Table(table.path, table.prefix, {name: value for name, value in table.values.items() if name != JOB})
    entries = tuple(_entry(_Table(table.path, f"{table.prefix}{JOB}.", one)) for one in jobs)
    return _made(given, given.read(KEYS, "setting"), entries)


def _entry(table: _Table) -> JobEntry:
    """The entry from the table of a job."""
    found = table.read(JOB_KEYS, "key of a job")
    if "path" not in found:
        raise SettingsError(f"{table.path}: {table.prefix}path is missing: each job has a path")
    given = _made(table, found, ())
    return JobEntry(
        path=found["path"],
        args=found.get("args", ""),
        check=found.get("check", True),
        settings=given if found.keys() - {"path", "args", "check"} else None,
    )


def _made(table: _Table, found: dict[str, Any], entries: tuple[JobEntry, ...]) -> Settings:
    """The settings from the values of a table."""
    fields = {key.field: found[key.name] for key in KEYS if key.field and key.name in found}
    of_jars = {name.partition(".")[2]: value for name, value in fields.items() if name.startswith("jars.")}
    options = found.get("options", {})
    if "parallelism" in found:
        if PARALLELISM in options:
            raise SettingsError(
                f"{table.path}: {table.prefix}parallelism and the option {PARALLELISM} say the same; keep one"
            )
        options = {**options, PARALLELISM: str(found["parallelism"])}
    baseline, against = found.get("baseline", (None, None))
    return Settings(
        **{name: value for name, value in fields.items() if not name.startswith("jars.")},
        jars=FlinkJars(**of_jars),
        options=MappingProxyType(options),
        baseline=baseline,
        against=against,
        entries=entries,
        path=table.path,
    )
