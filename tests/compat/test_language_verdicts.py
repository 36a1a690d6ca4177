"""Every golden pair in Scala and Kotlin: the verdict says what Flink did, from two programs and from OLD's savepoint.

The programs use Flink's API for Java, and that of Flink 1.20 for Scala. The libraries of the languages stand on the class path.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from tests import needs
from tests.compat.language_pairs.model import LANGUAGES, PAIRS, language_of, names, records, savepoint
from tests.compat.loader.jvm.support import flink_of
from tests.compat.verdicts import Pair, plan, verdict, wrong
from tests.needs import Need

CASES = [(version, one.name) for one in LANGUAGES.values() for version in one.versions]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def case(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def pairs(case: tuple[str, str], java: Any) -> dict[str, Pair]:
    """The pairs of a language, built by one version of Flink in one JVM, as the command builds both versions of a job."""
    from compat.loader.jvm.answers import answers_of
    from compat.loader.jvm.errors import JvmError
    from compat.loader.jvm.messages import JarProgram, Restore
    from compat.loader.jvm.process import JvmOptions, JvmProcess, Setup

    version, name = case
    language = LANGUAGES[name]
    flink = flink_of(version)
    try:
        flink = replace(flink, jars=(*flink.jars, *language.libraries()))
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    found = {}
    with JvmProcess(Setup(flink, java, JvmOptions(options={}))) as jvm:

        def built(pair: str, side: str) -> Any:
            return jvm.build(JarProgram(path=str(PAIRS / pair / f"{side}.jar"), main_class=language.main_class))

        for pair in [pair for pair in names() if language_of(pair) == language]:
            folder = savepoint(version, pair)
            old, building = built(pair, "old").outcome(), built(pair, "new")
            building.restore(Restore(metadata=old.jobs[-1].savepoint))
            building.restore(Restore(metadata=(folder / "_metadata").read_bytes(), folder=str(folder)))
            new = building.outcome()
            nodes = {node.id: node for job in new.jobs for node in job.nodes}
            answers = {
                mode: answers_of(one, nodes) for mode, one in zip(("programs", "savepoint"), new.restored, strict=True)
            }
            found[pair] = Pair(plan(old, "old.jar"), plan(new, "new.jar"), answers)
    return found


@pytest.mark.parametrize("mode", ["programs", "savepoint", "savepoint and names"])
def test_the_verdict_says_what_flink_did(pairs: dict[str, Pair], case: tuple[str, str], mode: str) -> None:
    version, _ = case
    found = []
    for name, pair in pairs.items():
        for attempt, record in records()[version, name]["attempts"].items():
            report = verdict(pair, mode, savepoint(version, name), attempt)
            how = wrong(report, record, mode)
            if how:
                rules = sorted({finding.rule for finding in report.findings})
                found.append(f"{name} ({attempt}): {how}; we say {report.verdict.value} {rules}")
    assert not found, "\n".join(["", *found])


def test_what_a_compiler_drew_is_in_no_message(pairs: dict[str, Pair], case: tuple[str, str]) -> None:
    version, _ = case
    for name, pair in pairs.items():
        for finding in verdict(pair, "programs", savepoint(version, name), "hashmap").findings:
            assert "$" not in f"{finding.title} {finding.reason} {finding.consequence}", finding
            for line in (finding.old_line, finding.new_line):
                assert line is None or line.file in ("Main.scala", "Main.kt", "Lab.java"), finding


def test_changes_that_matter_are_found_by_name(pairs: dict[str, Pair], case: tuple[str, str]) -> None:
    version, _ = case
    for end, rule, reason in (
        ("case_class_field_added", "", "currency|2 fields became 3"),
        ("fields_exchanged", "CMP415", "that of count is read as total"),
        ("enum_reordered", "", "is read as|stand in another order"),
        ("reduce_replaced", "CMP421", r"shop\.Main(Kt)?\.main is another one"),
        ("case_object_same", "CMP428", "High, Low are singletons"),
        ("collections_same", "CMP428", "Nil is a singleton"),
        ("pojo_to_data_class", "CMP404", "PojoSerializer became KryoSerializer"),
    ):
        for name, pair in pairs.items():
            if name.endswith(end) and not name.startswith(("flinkscala_coll", "kotlin_pojo_enum")):
                findings = verdict(pair, "programs", savepoint(version, name), "hashmap").findings
                told = " ".join(finding.reason for finding in findings if rule in finding.rule)
                assert re.search(reason, told), (name, told)
