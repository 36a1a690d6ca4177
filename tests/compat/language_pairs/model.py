"""Programs in Scala and Kotlin in two versions, and what Flink did with them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from compat.loader.jvm.maven import Artifact, fetch

PAIRS = Path(__file__).parents[2] / "golden" / "java" / "languages"


class Language(Struct, frozen=True, kw_only=True):
    """A language: its compiler, the library that its programs need beside Flink, and the Flinks they ran on."""

    name: str
    compiler: Artifact
    compiler_class: str
    library: tuple[Artifact, ...]
    main_class: str = "shop.Main"
    suffix: str = "scala"
    options: tuple[str, ...] = ("-nowarn",)
    versions: tuple[str, ...] = ("2.3.0", "1.20.0")

    def libraries(self) -> tuple[Path, ...]:
        """The jars that a program needs beside Flink's. Raises JvmError where they cannot be fetched."""
        return fetch(f"library-{self.name}", self.library)


def _scala(name: str, version: str, *libraries: Artifact, **more: Any) -> Language:
    return Language(
        name=name,
        compiler=Artifact(group="org.scala-lang", name="scala-compiler", version=version),
        compiler_class="scala.tools.nsc.Main",
        library=(Artifact(group="org.scala-lang", name="scala-library", version=version), *libraries),
        **more,
    )


LANGUAGES = {
    one.name: one
    for one in (
        _scala("scala213", "2.13.16"),
        Language(
            name="scala3",
            compiler=Artifact(group="org.scala-lang", name="scala3-compiler_3", version="3.3.6"),
            compiler_class="dotty.tools.dotc.Main",
            library=(Artifact(group="org.scala-lang", name="scala3-library_3", version="3.3.6"),),
        ),
        Language(
            name="kotlin",
            compiler=Artifact(group="org.jetbrains.kotlin", name="kotlin-compiler-embeddable", version="2.1.21"),
            compiler_class="org.jetbrains.kotlin.cli.jvm.K2JVMCompiler",
            library=(Artifact(group="org.jetbrains.kotlin", name="kotlin-stdlib", version="2.1.21"),),
            main_class="shop.MainKt",
            suffix="kt",
            options=("-no-stdlib", "-no-reflect", "-jvm-target", "11", "-nowarn"),
        ),
        _scala(
            "flinkscala",
            "2.12.20",
            Artifact(group="org.scala-lang", name="scala-compiler", version="2.12.20"),
            Artifact(group="org.apache.flink", name="flink-streaming-scala_2.12", version="1.20.0"),
            versions=("1.20.0",),
        ),
    )
}


@cache
def names() -> tuple[str, ...]:
    """The pairs, by name."""
    return tuple(sorted(folder.name for folder in PAIRS.iterdir() if folder.is_dir() and folder.name != "lab"))


def language_of(name: str) -> Language:
    """The language of a pair: the first word of its name."""
    return LANGUAGES[name.partition("_")[0]]


def source(name: str, side: str) -> Path:
    """The program of one side."""
    suffix = language_of(name).suffix
    return PAIRS / name / side / f"Main.{suffix}"


def savepoint(version: str, name: str) -> Path:
    """The folder of the savepoint that the old program left on a version of Flink."""
    return PAIRS / name / f"savepoint-{version}"


@cache
def records() -> dict[tuple[str, str], dict[str, Any]]:
    """What Flink did, by version and name."""
    with open(PAIRS / "results.jsonl", encoding="utf-8") as file:
        return {(one["version"], one["name"]): one for one in map(json.loads, file)}
