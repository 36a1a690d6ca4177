"""Settings from ``[tool.compat]`` of a ``pyproject.toml``, or from a ``compat.toml``.

The command line wins over the file, key by key: :meth:`Settings.under`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from compat.check.findings import Level
from compat.compiler.versions import FLINK_VERSIONS
from compat.loader.inputs import FlinkJars, LoadOptions
from compat.loader.process import MOST_SECONDS
from compat.loader.request import clipped
from compat.report import NAMES as FORMAT_NAMES
from compat.state.safe_open import read_regular

if TYPE_CHECKING:
    from compat.check.ignores import IgnoredRule

OWN_FILE = "compat.toml"
PROJECT_FILE = "pyproject.toml"
PARALLELISM = "parallelism.default"
LARGEST = 10_000_000
"""A settings file has at most so many bytes."""

_SHOWN = 200


class SettingsError(ValueError):
    """A settings file that cannot be read, or a key of it that cannot be used; the message names both."""


class Output(Struct, frozen=True):
    """Where a report goes: a format, and a file or None for standard output."""

    format: str
    path: Path | None = None


class JobEntry(Struct, frozen=True, kw_only=True):
    """What the settings say of one job, at ``path`` below their folder.

    ``args`` are those that it is started with; one that is not to be checked may be gone, too.
    """

    path: str
    args: str = ""
    check: bool = True


class Settings(Struct, frozen=True, kw_only=True):
    """The settings that can be made; None where nothing was said. ``options`` are Flink options, as ``-D`` gives them.

    ``jobs`` are patterns of files below the folder of the settings, ``against`` is the revision that they are held against, and
    ``entries`` are jobs that more is said of.
    """

    fail_on: Level | None = None
    allow_unknown: bool | None = None
    allow_non_restored_state: bool | None = None
    flink: str | None = None
    timeout: float | None = None
    baseline: Path | None = None
    output: tuple[Output, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[IgnoredRule, ...] = ()
    no_open: bool | None = None
    jars: FlinkJars = field(default_factory=FlinkJars)
    exact: bool | None = None
    jobs: tuple[str, ...] | None = None
    against: str | None = None
    entries: tuple[JobEntry, ...] = ()
    pyfiles: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    strict_imports: bool | None = None
    path: Path | None = None

    def under(self, command_line: Settings) -> Settings:
        """These settings with those of the command line over them: options key by key, ignored rules added."""
        said = {name: value for name, value in asdict(command_line).items() if value is not None}
        said["options"] = MappingProxyType({**self.options, **command_line.options})
        said["environment"] = MappingProxyType({**self.environment, **command_line.environment})
        said["ignore"] = (*self.ignore, *command_line.ignore)
        said["entries"] = (*self.entries, *command_line.entries)
        said["jars"] = command_line.jars.over(self.jars)
        return replace(self, **said)

    def job_files(self) -> list[str]:
        """The files of the project's jobs, by their paths from the working directory. Raises SettingsError for none."""
        files: list[str] = []
        folder = Path() if self.path is None else self.path.absolute().parent
        for pattern in self.jobs or ():
            found = sorted(path for path in folder.glob(pattern) if path.is_file())
            if not found:
                raise SettingsError(f"{self.path}: jobs: there is no file {pattern!r} in {folder}")
            files += [os.path.relpath(path) for path in found]
        files += [os.path.relpath(folder / one.path) for one in self.entries if one.check]
        return list(dict.fromkeys(files))

    def entry(self, file: str) -> JobEntry | None:
        """What is said of the job in a file."""
        folder = Path() if self.path is None else self.path.absolute().parent
        return next((one for one in self.entries if os.path.abspath(file) == os.path.abspath(folder / one.path)), None)

    def load_options(self) -> LoadOptions:
        """How programs are loaded by these settings."""
        return LoadOptions.given(
            self.options,
            flink=self.flink,
            timeout=self.timeout,
            no_open=self.no_open,
            jars=self.jars,
            exact=self.exact,
            pyfiles=self.pyfiles,
            environment=self.environment,
            strict_imports=self.strict_imports,
        )


def parse_output(text: str, folder: Path | None = None) -> Output:
    """``FORMAT`` or ``FORMAT=PATH``; a relative path is below ``folder`` where one is given.

    Raises :class:`ValueError` with a sentence that says what is wrong.
    """
    name, equals, path = text.partition("=")
    if name not in FORMAT_NAMES:
        from difflib import get_close_matches

        near = get_close_matches(name, FORMAT_NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(FORMAT_NAMES)}"
        raise ValueError(f"there is no report format {name!r}; {hint}")
    if "\0" in path:
        raise ValueError(f"the name of the file for {name!r} holds the character NUL")
    if equals and not path:
        raise ValueError(f"{text!r} names no file after '='")
    return Output(name, ((folder or Path()) / path) if path else None)


def find(*starts: Path) -> Settings:
    """The settings that hold for the first of ``starts`` (folders, or files in them) that has any above it.

    In each folder from there upwards ``compat.toml`` is looked for first, then a ``pyproject.toml`` with a table
    ``tool.compat``. Without a file, empty settings. Raises :class:`SettingsError`.
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
    """The settings in one file: its table ``tool.compat`` if it is a ``pyproject.toml``, else the whole of it.

    Paths in the file are relative to its folder. Raises :class:`SettingsError`.
    """
    return _of_document(path, _document(path))


def load_text(path: Path, text: bytes) -> Settings:
    """The settings that a file had when it held ``text``. Raises :class:`SettingsError`."""
    return _of_document(path, _parsed(path, text))


def _of_document(path: Path, document: dict[str, Any]) -> Settings:
    where = ""
    if path.name == PROJECT_FILE:
        tool = document.get("tool", {})
        document = tool.get("compat", {}) if isinstance(tool, dict) else {}
        where = "tool.compat."
        if not isinstance(document, dict):
            raise SettingsError(f"{path}: tool.compat must be a table, not {_kind(document)}")
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
    """A table of a settings file; knows how to complain."""

    path: Path
    prefix: str
    values: dict[str, Any]

    def error(self, key: str, expected: str, value: Any) -> SettingsError:
        return SettingsError(f"{self.path}: {self.prefix}{key} must be {expected}, not {_shown(value)}")

    def get(self, key: str, read: Callable[[Any], Any], expected: str) -> Any:
        """The value of ``key`` as ``read`` makes it, or None if it is not there. ``read`` raises ValueError."""
        if key not in self.values:
            return None
        value = self.values[key]
        try:
            return read(value)
        except ValueError as error:
            detail = f" ({error})" if str(error) else ""
            raise SettingsError(f"{self.error(key, expected, value)}{detail}") from None


KEYS = (
    "fail-on",
    "allow-unknown",
    "allow-non-restored-state",
    "flink",
    "timeout",
    "baseline",
    "output",
    "parallelism",
    "options",
    "ignore",
    "no-open",
    "classpath",
    "connectors",
    "flink-home",
    "flink-version",
    "main-class",
    "runtime-properties",
    "pyflink",
    "exact",
    "jobs",
    "job",
    "pyfiles",
    "env",
    "strict-imports",
)
"""The keys that a settings file may have."""


def _settings(table: _Table) -> Settings:
    for key in table.values:
        if key not in KEYS:
            from difflib import get_close_matches

            near = get_close_matches(key[:_SHOWN].replace("_", "-"), KEYS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KEYS)}"
            raise SettingsError(f"{table.path}: {table.prefix}{clipped(key, _SHOWN)} is no setting; {hint}")
    folder = table.path.absolute().parent
    versions = " or ".join(f'"{version}"' for version in FLINK_VERSIONS)
    options = table.get("options", _options, "a table of Flink options") or {}
    parallelism = table.get("parallelism", _positive, "a whole number above 0")
    if parallelism is not None:
        if PARALLELISM in options:
            raise SettingsError(
                f"{table.path}: {table.prefix}parallelism and the option {PARALLELISM} say the same; keep one"
            )
        options[PARALLELISM] = str(parallelism)
    return Settings(
        fail_on=table.get("fail-on", _level, '"error" or "warning"'),
        allow_unknown=table.get("allow-unknown", _flag, "true or false"),
        allow_non_restored_state=table.get("allow-non-restored-state", _flag, "true or false"),
        flink=table.get("flink", _version, f"{versions}, in quotes"),
        timeout=table.get("timeout", _seconds, "a number of seconds above 0"),
        baseline=table.get("baseline", lambda value: _findings_file(value, folder), _BASELINE),
        against=table.get("baseline", _revision, _BASELINE),
        entries=table.get("job", _entries, "a list of tables with path, args and check") or (),
        jobs=table.get("jobs", _patterns, "a path or a pattern below this folder, or a list of these"),
        output=table.get(
            "output", lambda value: _outputs(value, folder), '"FORMAT" or "FORMAT=PATH", or a list of these'
        ),
        options=MappingProxyType(options),
        ignore=table.get("ignore", _ignores, "a list of rule ids, or of tables with rule, uid and reason") or (),
        no_open=table.get("no-open", _flag, "true or false"),
        jars=FlinkJars(
            classpath=table.get("classpath", lambda value: _paths(value, folder), "a path, or a list of paths") or (),
            connectors=table.get("connectors", _texts, 'a name such as "kafka", or a list of names') or (),
            home=table.get("flink-home", lambda value: str(folder / _text(value)), "the path of a folder"),
            version=table.get("flink-version", _text, 'a version such as "2.3.0"'),
            main_class=table.get("main-class", _text, "the name of a class"),
            runtime_properties=table.get(
                "runtime-properties", lambda value: str(folder / _text(value)), "the path of a file"
            ),
            pyflink=table.get("pyflink", lambda value: _python(value, folder), "a Python interpreter"),
        ),
        exact=table.get("exact", _flag, "true or false"),
        pyfiles=table.get("pyfiles", lambda value: _paths(value, folder), "a path, or a list of paths"),
        environment=MappingProxyType(table.get("env", _variables, "a table of environment variables") or {}),
        strict_imports=table.get("strict-imports", _flag, "true or false"),
        path=table.path,
    )


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    if "\0" in value:
        raise ValueError("it holds the character NUL")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(one) for one in (value if isinstance(value, list) else [value]))


def _level(value: Any) -> Level:
    return {"error": Level.ERROR, "warning": Level.WARNING}[value] if value in ("error", "warning") else _refuse()


def _version(value: Any) -> str:
    return _text(value) if value in FLINK_VERSIONS else _refuse()


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError
    if value > MOST_SECONDS:
        raise ValueError(f"at most {MOST_SECONDS:,}")
    return float(value)


def _positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value


def _outputs(value: Any, folder: Path) -> tuple[Output, ...]:
    texts = value if isinstance(value, list) else [value]
    return tuple(parse_output(_text(text), folder) for text in texts)


_BASELINE = 'the path of a file with findings, "git:REVISION", or a list of both'


def _baselines(value: Any) -> tuple[list[str], list[str]]:
    """The revisions and the files that a baseline names, at most one of each."""
    texts = [_text(one) for one in (value if isinstance(value, list) else [value])]
    revisions = [text.removeprefix("git:") for text in texts if text.startswith("git:")]
    files = [text for text in texts if not text.startswith("git:")]
    if max(len(revisions), len(files)) > 1 or not all(revisions):
        raise ValueError
    return revisions, files


def _revision(value: Any) -> str | None:
    return next(iter(_baselines(value)[0]), None)


def _findings_file(value: Any, folder: Path) -> Path | None:
    return next((folder / file for file in _baselines(value)[1]), None)


def _patterns(value: Any) -> tuple[str, ...]:
    patterns = tuple(_text(one) for one in (value if isinstance(value, list) else [value]))
    if any(Path(one).is_absolute() or ".." in Path(one).parts for one in patterns):
        raise ValueError("they are below the folder of the settings")
    return patterns


def _entries(value: Any) -> tuple[JobEntry, ...]:
    if not isinstance(value, list):
        raise ValueError
    return tuple(_entry(one) for one in value)


def _entry(value: Any) -> JobEntry:
    if not isinstance(value, dict) or "path" not in value:
        raise ValueError("each has a path")
    strange = sorted(set(value) - {"path", "args", "check"})
    if strange:
        raise ValueError(f"{strange[0]!r} is no key of a job")
    (path,) = _patterns(value["path"])
    args = value.get("args", "")
    if not isinstance(args, str):
        raise ValueError("args is text, as in a shell")
    shlex.split(args)  # raises what is wrong with it
    return JobEntry(path=path, args=args, check=_flag(value.get("check", True)))


def _paths(value: Any, folder: Path) -> tuple[str, ...]:
    return tuple(str(folder / _text(path)) for path in (value if isinstance(value, list) else [value]))


def _variables(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    for name, text in value.items():
        if not isinstance(text, str):
            raise ValueError(f"{name} is {_kind(text)}; write its value as text, in quotes")
    return dict(value)


def _python(value: Any, folder: Path) -> str:
    """An interpreter by its path below the folder of the settings, or by its name."""
    text = _text(value)
    return str(folder / text) if "/" in text or (folder / text).exists() else text


def _options(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    options: dict[str, str] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            options |= {f"{key}.{inner}": text for inner, text in _options(item).items()}
        elif isinstance(item, bool):
            options[key] = "true" if item else "false"
        elif isinstance(item, str | int | float):
            options[key] = str(item)
        else:
            raise ValueError(f"{key} is {_kind(item)}, which no Flink option takes")
    return options


def _ignores(value: Any) -> tuple[IgnoredRule, ...]:
    if not isinstance(value, list):
        raise ValueError
    return tuple(_ignore(item) for item in value)


def _ignore(item: Any) -> IgnoredRule:
    entry = {"rule": item} if isinstance(item, str) else item
    if not isinstance(entry, dict) or not all(isinstance(text, str) for text in entry.values()):
        raise ValueError
    strange = set(entry) - {"rule", "uid", "reason"}
    if strange:
        raise ValueError(f"{sorted(strange)[0]!r} is no key of an ignored rule")
    from compat.check.catalogue import RULES
    from compat.check.ignores import IgnoredRule

    if entry.get("rule") not in RULES:
        raise ValueError(f"there is no rule {entry.get('rule')!r}; compat rules lists them")
    return IgnoredRule(entry["rule"], entry.get("uid"), entry.get("reason", ""))


def _refuse() -> Any:
    raise ValueError


def _kind(value: Any) -> str:
    names = {dict: "a table", list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "a date or time")


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return _kind(value)
    return clipped(repr(value), _SHOWN)
