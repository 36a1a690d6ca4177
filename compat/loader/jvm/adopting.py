"""The missing parts of a program's class path that are added: parts of Flink's distribution, and connectors of Python
programs.

A Python script names a connector by its SQL name, and the jar is where the job runs. A jar brings its dependencies, so
only parts of Flink's own distribution are added to it.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from compat.loader.jvm.connector_jars import (
    connector_jars,
    coordinates,
    distributed,
    in_release_of,
    named_by,
    without_factory,
)
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.messages import Program, PyFlinkProgram
from compat.loader.jvm.process import JvmOutcome
from compat.state.model.job import Assumed

_OF_FLINK = "The program needs a part of Flink {} that is not on every class path: --connector {} was added."
_CONNECTOR = (
    "No jar of the connector {0} was on the class path: {1} was downloaded. Give the one that the job runs "
    "with by --connector {0}:RELEASE or --classpath JAR."
)


class Adopted(Struct, frozen=True, kw_only=True):
    """Added jars, the notes on them, and the assumptions that they bring into plans."""

    jars: tuple[Path, ...]
    note: str
    assumed: tuple[Assumed, ...] = ()


def lacked(outcome: JvmOutcome, program: Program, fetched: bool) -> str | None:
    """The missing connector that is added; None for none. ``fetched`` says that its Flink was downloaded."""
    option = None if outcome.crash is None else outcome.crash.option
    if isinstance(program, PyFlinkProgram):
        return without_factory(outcome.said) if outcome.crash is None else named_by(option)
    return distributed(option) if fetched else None


def adopted(name: str, program: Program, flink: str) -> Adopted | None:
    """The jars of a connector for a program; None if they cannot be obtained."""
    try:
        if not isinstance(program, PyFlinkProgram):
            return Adopted(jars=connector_jars([name], flink)[0], note=_OF_FLINK.format(flink, name))
        wanted = in_release_of(Path(program.path).read_text("utf-8", "replace"), name, flink)
        jars, _ = connector_jars([wanted], flink)
        taken = coordinates(wanted, flink)
    except JvmError:
        return None
    return Adopted(jars=jars, note=_CONNECTOR.format(name, taken), assumed=(Assumed(what="connector", name=taken),))
