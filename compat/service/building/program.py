"""From the files of a program to its plan, in the confined process."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from compat.loader.inputs import InputError, LoadOptions, load, opened
from compat.loader.lines import carrying
from compat.plan.writing import encoded


class Sent(Struct, frozen=True, kw_only=True):
    """A program in the folder: its file, and how it is started. ``job`` is the wanted one of its jobs."""

    program: str
    job: str
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = {}
    flink: str | None = None
    seconds: float = 60.0


class NoPlan(ValueError):
    """A program without a plan of one job; the message says why."""


def built(asked: bytes) -> bytes:
    """The plan of a program, as JSON. Raises NoPlan."""
    sent = msgspec.json.decode(asked, type=Sent)
    options = LoadOptions.given(sent.options, flink=sent.flink, timeout=sent.seconds)
    try:
        with opened(sent.program, sent.arguments) as given:
            plans = load(given, options)
            named = [plan for plan in plans if plan.job_name == sent.job] if len(plans) > 1 else list(plans)
            if len(named) != 1:
                raise NoPlan(
                    f"{sent.program} submits {len(plans)} jobs, of which {len(named)} are called {sent.job!r}."
                )
            return encoded(carrying(named[0], given))
    except InputError as error:
        hint = f" {error.failure.hint}" if error.failure.hint else ""
        raise NoPlan(f"{error.failure.message}{hint}") from error
