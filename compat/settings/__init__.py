"""A project's settings, from ``[tool.compat]`` of a ``pyproject.toml`` or from a ``compat.toml``.

The command line wins over the file, key by key: :meth:`Settings.under`. ``keys`` is the table of all keys, ``kinds``
defines the values that they take.
"""

from compat.settings.files import find, load, load_text
from compat.settings.kinds import parse_output
from compat.settings.model import JobEntry, Output, Settings, SettingsError, matcher

__all__ = ["JobEntry", "Output", "Settings", "SettingsError", "find", "load", "load_text", "matcher", "parse_output"]
