"""The recorded pairs in Java and SQL, checked and migrated in JVMs that all tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.check.findings import Report
from compat.comparison import Comparison, compare
from compat.loader.inputs import FlinkJars, Limit, LoadOptions
from compat.loader.jvm.messages import NativeBackend
from compat.loader.jvm.warm import WarmJvms
from compat.migration.migrating import Migrated, Migration, migrate
from compat.migration.recipe import Recipe, Step
from compat.savepoint.load import read_names
from compat.savepoint.names import Names
from compat.state.flink import read_draft, read_metadata

JAVA = Path(__file__).parents[2] / "golden" / "java" / "2.3.0"


class Pairs:
    """The pairs of Flink 2.3.0; OLD tells names where that is asked for, and for queries."""

    def __init__(self, classpath: tuple[str, ...], jvms: WarmJvms) -> None:
        self._classpath, self._jvms = classpath, jvms

    def check(self, pair: str, *, names: bool = False) -> Report:
        """The report on a pair's savepoint and new version."""
        told = self._old(pair) if names or self._is_query(pair) else None
        (report,) = compare(self._check(pair, str(JAVA / pair / "savepoint"), told), jvms=self._jvms).outcomes
        assert isinstance(report, Report)
        return report

    def migrate(
        self, pair: str, folder: Path, *steps: Step, names: bool = False, native: NativeBackend | None = None
    ) -> Migrated:
        """The savepoint of a pair, migrated into a folder."""
        told = self._old(pair) if names or self._is_query(pair) else None
        out = str(folder / "out")
        check = self._check(pair, out)
        migration = Migration(
            draft=read_draft(read_metadata(JAVA / pair / "savepoint")),
            recipe=Recipe(steps=steps),
            names=Names() if told is None else read_names(told, check.load, None, jvms=self._jvms),
            check=check,
            old=told,
            native=native,
        )
        return migrate(migration, self._jvms)

    def upgrade(
        self,
        pair: str,
        folder: Path,
        *steps: Step,
        old_flink: FlinkJars | None = None,
        native: NativeBackend | None = None,
    ) -> Migrated:
        """The savepoint of Flink 1.20 of a pair, migrated for the new version, which is built for Flink 2.3."""
        saved = JAVA.parent / "1.20.0" / pair
        migration = Migration(
            draft=read_draft(read_metadata(saved / "savepoint")),
            recipe=Recipe(steps=steps),
            names=Names(),
            check=self._check(pair, str(folder / "out")),
            old=str(saved / "old.jar"),
            old_flink=old_flink or FlinkJars(version="1.20.0"),
            native=native,
            allow_unknown=True,
        )
        return migrate(migration, self._jvms)

    def go_back(self, pair: str, made: Path, folder: Path, *steps: Step) -> Migrated:
        """What was made of the savepoint of a pair, migrated into a folder for the program that wrote it."""
        jar = str(JAVA / pair / "new.jar")
        check = replace(self._check(pair, str(folder / "back")), new=self._old(pair))
        draft = read_draft(read_metadata(made))
        return migrate(
            Migration(draft=draft, recipe=Recipe(steps=steps), names=Names(), check=check, old=jar), self._jvms
        )

    def _check(self, pair: str, old: str, names: str | None = None) -> Comparison:
        main = None if self._is_query(pair) else "".join(word.title() for word in pair.split("_"))
        jars = FlinkJars(classpath=self._classpath, main_class=main)
        new = str(JAVA / pair / ("new.sql" if self._is_query(pair) else "new.jar"))
        limit = Limit(size=1 << 20)
        return Comparison(old=old, new=new, load=LoadOptions(jars=jars), names=names, rehearse=limit)

    @staticmethod
    def _is_query(pair: str) -> bool:
        return pair.startswith("q_")

    def _old(self, pair: str) -> str:
        return str(JAVA / pair / ("old.sql" if self._is_query(pair) else "old.jar"))


@pytest.fixture(scope="module")
def pairs(flink) -> Iterator[Pairs]:
    with WarmJvms() as jvms:
        yield Pairs(tuple(flink.classpath), jvms)
