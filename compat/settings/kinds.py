"""The kinds of values in settings: how each is read, the error for a wrong one, and its JSON schema."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from compat.check.findings import Level
from compat.compiler.versions import FLINK_VERSIONS
from compat.loader.late import MOST_SECONDS
from compat.report import NAMES as FORMAT_NAMES
from compat.settings.model import Output

if TYPE_CHECKING:
    from compat.check.ignores import IgnoredRule


class Kind(Struct, frozen=True):
    """A kind of value. ``read`` takes a value and the folder that paths are relative to, and raises ValueError otherwise."""

    read: Callable[[Any, Path], Any]
    expected: str
    schema: Mapping[str, Any]


def parse_output(text: str, folder: Path | None = None) -> Output:
    """``FORMAT`` or ``FORMAT=PATH``; a relative path is below ``folder`` if that is given.

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
    """One text, or a list of texts."""
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
    return tuple(parse_output(text, folder) for text in _texts(value))


def _baselines(value: Any) -> tuple[list[str], list[str]]:
    """The revisions and the files that a baseline names, at most one of each."""
    texts = _texts(value)
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
    patterns = _texts(value)
    if any(Path(one).is_absolute() or ".." in Path(one).parts for one in patterns):
        raise ValueError("they are below the folder of the settings")
    return patterns


def _paths(value: Any, folder: Path) -> tuple[str, ...]:
    return tuple(str(folder / path) for path in _texts(value))


def _variables(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    for name, text in value.items():
        if not isinstance(text, str):
            raise ValueError(f"{name} is {kind_of(text)}; write its value as text, in quotes")
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
            raise ValueError(f"{key} is {kind_of(item)}, which no Flink option takes")
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
        raise ValueError(f"{sorted(strange)[0]!r} is not a key of an ignored rule")
    from compat.check.catalogue import RULES
    from compat.check.ignores import IgnoredRule

    if entry.get("rule") not in RULES:
        raise ValueError(f"there is no rule {entry.get('rule')!r}; compat rules lists them")
    return IgnoredRule(entry["rule"], entry.get("uid"), entry.get("reason", ""))


def _arguments(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    shlex.split(value)  # raises what is wrong with it
    return value


def _job_path(value: Any) -> str:
    (path,) = _patterns(_text(value))
    return path


def _refuse() -> Any:
    raise ValueError


def kind_of(value: Any) -> str:
    """The kind of a TOML value, in words."""
    names = {dict: "a table", list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "a date or time")


def _plain(read: Callable[[Any], Any]) -> Callable[[Any, Path], Any]:
    return lambda value, _: read(value)


_STRING: Mapping[str, Any] = {"type": "string", "minLength": 1}
_STRINGS: Mapping[str, Any] = {"anyOf": [_STRING, {"type": "array", "items": _STRING}]}
_VERSIONS = " or ".join(f'"{version}"' for version in FLINK_VERSIONS)

FLAG = Kind(_plain(_flag), "true or false", {"type": "boolean"})
LEVEL = Kind(_plain(_level), '"error" or "warning"', {"enum": ["error", "warning"]})
FLINK = Kind(_plain(_version), f"{_VERSIONS}, in quotes", {"enum": list(FLINK_VERSIONS)})
SECONDS = Kind(
    _plain(_seconds),
    "a number of seconds above 0",
    {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_SECONDS},
)
COUNT = Kind(_plain(_positive), "a whole number above 0", {"type": "integer", "minimum": 1})
BASELINE = Kind(
    lambda value, folder: (_findings_file(value, folder), _revision(value)),
    'the path of a file with findings, "git:REVISION", or a list of both',
    _STRINGS,
)
OUTPUTS = Kind(_outputs, '"FORMAT" or "FORMAT=PATH", or a list of these', _STRINGS)
OPTIONS = Kind(_plain(_options), "a table of Flink options", {"type": "object"})
IGNORES = Kind(
    _plain(_ignores),
    "a list of rule ids, or of tables with rule, uid and reason",
    {
        "type": "array",
        "items": {
            "anyOf": [
                _STRING,
                {
                    "type": "object",
                    "properties": {"rule": _STRING, "uid": {"type": "string"}, "reason": {"type": "string"}},
                    "required": ["rule"],
                    "additionalProperties": False,
                },
            ]
        },
    },
)
PATHS = Kind(_paths, "a path, or a list of paths", _STRINGS)
PATTERNS = Kind(_plain(_patterns), "a path or a pattern below this folder, or a list of these", _STRINGS)
CONNECTORS = Kind(_plain(_texts), 'a name such as "kafka", or a list of names', _STRINGS)
FOLDER = Kind(lambda value, folder: str(folder / _text(value)), "the path of a folder", _STRING)
FILE = Kind(lambda value, folder: str(folder / _text(value)), "the path of a file", _STRING)
VERSION = Kind(_plain(_text), 'a version such as "2.3.0"', _STRING)
CLASS = Kind(_plain(_text), "the name of a class", _STRING)
PYTHON = Kind(_python, "a Python interpreter", _STRING)
VARIABLES = Kind(
    _plain(_variables),
    "a table of environment variables",
    {"type": "object", "additionalProperties": {"type": "string"}},
)
ARGUMENTS = Kind(_plain(_arguments), "text, as in a shell", {"type": "string"})
JOB_PATH = Kind(_plain(_job_path), "a path or a pattern below this folder", _STRING)
