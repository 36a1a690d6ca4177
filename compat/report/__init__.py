"""Reports of a check, one module a format.

:data:`FORMATS` maps a format's name to the function that renders one report; :func:`render` does the same for several
outcomes in one document, failures among them. A format's module is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from compat.check.undecided import Undecided
from compat.loader.failure import Failure
from compat.loader.revisions import short_revisions
from compat.report.context import ReportContext

if TYPE_CHECKING:
    from compat.check.findings import Report

    Outcome = Report | Undecided
    Renderer = Callable[[Report | Undecided, ReportContext], str]

__all__ = ["FORMATS", "Failure", "ReportContext", "Undecided", "UnknownFormatError", "prepare", "render"]

NAMES = ("text", "concise", "json", "github", "sarif", "junit", "markdown", "html")
"""The formats, in the order in which help shows them."""
_OF_DATA = {"json"}
"""The formats that programs read: they show the ids of commits in full."""


class UnknownFormatError(ValueError):
    """There is no report format of that name; the message lists the known ones."""

    def __init__(self, name: str) -> None:
        super().__init__(f"unknown report format {name!r}; known are {', '.join(NAMES)}")
        self.name = name


def render(name: str, outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """One document in the format ``name`` with all ``outcomes``; it ends with a newline unless it is empty.

    Raises :class:`UnknownFormatError`.
    """
    if name not in NAMES:
        raise UnknownFormatError(name)
    document: str = _module(name).render(outcomes, context)
    return document if name in _OF_DATA else short_revisions(document)


def prepare(names: Sequence[str]) -> None:
    """Import the modules of some formats ahead of their use."""
    for name in names:
        if name in NAMES:
            _module(name)


def _module(name: str) -> Any:
    return import_module(f"compat.report.{name if name != 'json' else 'json_report'}")


class _Formats(Mapping[str, "Renderer"]):
    """Renderers by name, each importing its module when first called."""

    def __getitem__(self, name: str) -> Renderer:
        if name not in NAMES:
            raise KeyError(name)
        return lambda outcome, context: render(name, [outcome], context)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


FORMATS: Mapping[str, Renderer] = _Formats()
"""The renderer of each format: ``FORMATS["text"](report, context)``. Takes an :class:`Undecided` as well."""
