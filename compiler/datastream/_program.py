"""State shared by all environments of one program: the counter of ids, and the settings that come from outside."""

from __future__ import annotations

import os
from collections.abc import Mapping

from compat.compiler.configuration import normal_key
from compat.compiler.transformations.pipeline import IdCounter

counter = IdCounter()
_default_parallelism: int | None = None
_default_options: dict[str, str] = {}


def set_default_parallelism(parallelism: int | None) -> None:
    """The parallelism where the program and its options set none; None for the number of processors."""
    global _default_parallelism
    _default_parallelism = parallelism


def default_parallelism() -> int:
    """The parallelism where the program and its options set none."""
    return _default_parallelism or os.cpu_count() or 1


def set_default_options(options: Mapping[str, str]) -> None:
    """The options that every environment starts with, as those of ``-D`` on a command line."""
    global _default_options
    _default_options = {normal_key(key): text for key, text in options.items()}


def default_options() -> dict[str, str]:
    """The options that every environment starts with."""
    return dict(_default_options)


def reset() -> None:
    """Start a new program: ids from 1, no settings from outside."""
    global counter
    counter = IdCounter()
    set_default_parallelism(None)
    set_default_options({})
