"""Options by key. Flink: ``org.apache.flink.configuration.Configuration``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.compiler.configuration import normal_key, parse_boolean, parse_integer
from compat.compiler.datastream._versions import only
from compat.compiler.errors import illegal_argument


class Configuration:
    """Options, each a key and a text. Typed getters read the text, typed setters write it."""

    @only("2.3")
    @classmethod
    def from_dict(cls, map: dict[str, str]) -> Configuration:
        """The options of a dictionary."""
        configuration = cls()
        for key, value in map.items():
            configuration._options[normal_key(key)] = as_text(value)
        return configuration

    def __init__(self, other: Configuration | None = None) -> None:
        self._options: dict[str, str] = {} if other is None else dict(other._options)

    def get_string(self, key: str, default_value: str) -> str:
        return self._options.get(normal_key(key), default_value)

    def set_string(self, key: str, value: str) -> Configuration:
        return self._set(key, value)

    @only("1.20")
    @staticmethod
    def parse_jars_value(value: str, jvm: Any) -> list[str]:
        """The elements of a list that semicolons divide; ``jvm`` is not looked at."""
        return value.split(";")

    @only("2.3")
    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The elements of a list, written as ``[a, b]``, as lines that start with a dash, or as ``a;b``."""
        text = (value or "").strip()
        if not text:
            return []
        if text.startswith("[") and text.endswith("]"):
            items = text[1:-1].split(",")
        elif text.startswith("- "):
            items = [line.strip()[1:] for line in text.splitlines() if line.strip()]
        else:
            return text.split(";")
        return [item.strip().strip("'\"") for item in items if item.strip()]

    def get_integer(self, key: str, default_value: int) -> int:
        text = self._options.get(normal_key(key))
        return default_value if text is None else parse_integer(key, text)

    def set_integer(self, key: str, value: int) -> Configuration:
        return self._set(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        text = self._options.get(normal_key(key))
        return default_value if text is None else parse_boolean(key, text)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        return self._set(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        text = self._options.get(normal_key(key))
        if text is None:
            return float(default_value)
        try:
            return float(text)
        except ValueError:
            raise illegal_argument(f"Option {key!r} takes a number, not {text!r}.") from None

    def set_float(self, key: str, value: float) -> Configuration:
        return self._set(key, float(value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        text = self._options.get(normal_key(key))
        return bytearray(default_value) if text is None else bytearray.fromhex(text)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        return self._set(key, bytes(value).hex())

    def key_set(self) -> set[str]:
        return set(self._options)

    def add_all_to_dict(self, target_dict: dict[str, str]) -> None:
        """Put all options into ``target_dict``."""
        target_dict.update(self._options)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all options of ``other``, their keys behind ``prefix``."""
        for key, value in other._options.items():
            self._options[normal_key((prefix or "") + key)] = value
        return self

    def contains_key(self, key: str) -> bool:
        return normal_key(key) in self._options

    def to_dict(self) -> dict[str, str]:
        return dict(self._options)

    def remove_config(self, key: str) -> bool:
        """Remove an option; True if there was one."""
        return self._options.pop(normal_key(key), None) is not None

    def _set(self, key: str, value: Any) -> Configuration:
        if value is None:
            raise TypeError(f"Option {key!r} needs a value, not None.")
        self._options[normal_key(key)] = as_text(value)
        return self

    def __deepcopy__(self, memodict: dict[int, Any] | None = None) -> Configuration:
        return Configuration(self)

    def __hash__(self) -> int:
        return hash(frozenset(self._options.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._options == other._options

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key}={value}" for key, value in self._options.items()) + "}"


def as_text(value: object) -> str:
    """A value the way a configuration file has it: booleans in lower case, maps as ``k:v,k:v``, lists with ``;``."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case Mapping():
            return ",".join(f"{key}:{as_text(item)}" for key, item in value.items())
        case list() | tuple():
            return ";".join(as_text(item) for item in value)
    return str(value)
