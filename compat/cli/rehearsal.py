"""The options of ``compat check`` for a rehearsal: whether OLD's real state is restored into NEW, and how much of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from compat.cli.spelled import Spelled
from compat.loader.inputs import Limit

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_LIMIT = "256MB"
_UNITS = {"": None, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_LIMIT = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT]?I?B)?", re.IGNORECASE)


def rehearsal_options(function: F) -> F:
    """The options ``--rehearse`` and ``--rehearse-limit``."""
    for option in (
        click.option(
            "--rehearse-limit",
            "limit",
            cls=Spelled,
            former=["--limit"],
            metavar="SIZE",
            help=f"How much state --rehearse restores: a size such as 1GB, or a number of entries (default {DEFAULT_LIMIT}).",
        ),
        click.option(
            "--rehearse",
            is_flag=True,
            help="Restore the real state of the savepoint OLD into NEW's operators, here, and read every value once.",
        ),
    ):
        function = option(function)
    return function


def limit_of(rehearse: bool, text: str | None) -> Limit | None:
    """How much state a command line wants restored: None for no rehearsal. Raises a usage error for an invalid amount."""
    if not rehearse:
        return None
    found = _LIMIT.fullmatch((text or DEFAULT_LIMIT).strip())
    unit = None if found is None else _UNITS[(found[2] or "").upper().replace("IB", "B")]
    if found is None or float(found[1]) <= 0 or (unit is None and "." in found[1]):
        raise click.BadParameter(
            f"{text!r} is neither a size such as 1GB nor a number of entries.", param_hint="'--rehearse-limit'"
        )
    return Limit(entries=int(found[1])) if unit is None else Limit(size=max(1, int(float(found[1]) * unit)))
