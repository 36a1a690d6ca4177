"""Replacements for inputs that a jar's job gets where it runs, and that affect neither ids nor states.

Stand-ins replace settings that the program passes to its connectors as a whole, and the streams that Decodable gives to a job.
A note reports each.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.spark.driver.java import cache_folder
from compat.loader.jvm.messages import JarProgram
from compat.loader.jvm.process import JvmOutcome
from compat.state.model.job import Assumed

_ADDRESS = "localhost:9092"
_SETTINGS = f"bootstrap.servers={_ADDRESS}\n"
"""The settings without which Kafka's connectors cannot be created."""
_STREAM = re.compile(r"No topic name could be determined for stream with (name|id) '([^'\n]+)'")
"""What the SDK of Decodable throws for a stream that the platform does not give."""
_VARIABLE = "DECODABLE_STREAM_CONFIG_{}"
_OF_STREAM = {
    "properties.bootstrap.servers": _ADDRESS,
    "scan.startup.mode": "earliest-offset",
    "sink.delivery-guarantee": "exactly-once",
    "sink.transactional-id-prefix": "stand-in",
}
"""What ``co.decodable.sdk.pipeline.testing.TestEnvironment`` says of a stream."""


class StandIn(Struct, frozen=True, kw_only=True):
    """A program with stand-ins for its missing inputs, the notes about them, and the assumptions of its plans."""

    program: JarProgram
    note: str
    assumed: tuple[Assumed, ...] = ()


def stand_in(program: JarProgram, outcome: JvmOutcome) -> StandIn | None:
    """The program with replacements for missing inputs; None for any other failure."""
    crash = outcome.crash
    if crash is not None and crash.settings and not program.after:
        return _with_settings(program, crash.settings)
    found = _STREAM.search(outcome.said if crash is None else crash.message)
    return None if found is None or outcome.jobs else _with_stream(program, *found.groups())


def _with_settings(program: JarProgram, files: tuple[str, ...]) -> StandIn:
    """The program with files of settings that say nothing but an address."""
    names = " and ".join(files)
    note = (
        f"{names}: not on the class path. The program hands these settings to its connectors as a whole, so that the job is "
        "built with an address in their place. What else they say, such as a group, is not known: name their folder with "
        "--classpath."
    )
    return StandIn(
        program=replace(program, after=(str(_folder_with(files)),)),
        note=note,
        assumed=tuple(Assumed(what="settings", name=name) for name in files),
    )


def _folder_with(files: tuple[str, ...]) -> Path:
    """A folder in the cache that has these files."""
    folder = cache_folder() / "settings" / hashlib.sha256("\n".join((_SETTINGS, *files)).encode()).hexdigest()[:12]
    for name in files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        fresh.write_text(_SETTINGS, encoding="ascii")
        os.replace(fresh, file)
    return folder


def _with_stream(program: JarProgram, kind: str, stream: str) -> StandIn | None:
    """The program with a stream of Decodable's, whose topic has its name; None if it has that and fails nevertheless."""
    variable = _VARIABLE.format(stream)
    if variable in program.environment:
        return None
    given = json.dumps({"name": stream, "properties": {"topic": stream, **_OF_STREAM}})
    note = (
        f"Decodable gives the program the stream {stream!r}, which is not here: the job is built as by the SDK's own "
        f'TestEnvironment, with a topic of that name. Give it with --env \'{variable}={{"name": …, "properties": …}}\'.'
    )
    return StandIn(
        program=replace(program, environment={**program.environment, variable: given}),
        note=note,
    )
