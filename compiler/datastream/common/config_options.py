"""Typed option keys. Flink: ``ConfigOptions`` and ``ConfigOption``."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")

__all__ = ["ConfigOption", "ConfigOptions"]


class ConfigOption(Generic[T]):
    """An option: its key, the type of its values and the default."""

    def __init__(self, key: str, value_type: type, default: T | None = None) -> None:
        self.key = key
        self.value_type = value_type
        self.default = default


class ConfigOptions:
    """Starts the definition of an option: ``ConfigOptions.key("k").int_type().default_value(1)``."""

    def __init__(self, option: ConfigOption[object] | None = None) -> None:
        self.option = option

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """The option of that key, to be given a type."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """An option that has a key."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """An option that has a key and a type."""

        def __init__(self, key: str, value_type: type[T]) -> None:
            self._key = key
            self._type = value_type

        def default_value(self, value: T) -> ConfigOption[T]:
            return ConfigOption(self._key, self._type, value)

        def no_default_value(self) -> ConfigOption[T]:
            return ConfigOption(self._key, self._type)
