"""A file that is put among the rules is a rule: nothing else has to know of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RULE = '''
"""Programs whose job got another name."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        yield check.finding(
            RULE,
            f"{pair.new.label} is haunted",
            consequence="It will be lost at midnight.",
            reason="A test says so.",
            old=pair.old,
            new=pair.new,
        )


RULE = Rule(
    id="CMP399",
    name="haunted-operator",
    level=Level.ERROR,
    fate=Fate.LOST,
    summary="An operator is haunted.",
    why="Ghosts keep no state.",
    old="keyed.process(Count())",
    new="keyed.process(Ghost())",
    fix="Open a window.",
    find=_find,
)
'''

WITH_THE_RULE = """
import sys
import compat.check.rules
compat.check.rules.__path__.append(sys.argv.pop(1))
"""

COMMAND = WITH_THE_RULE + "from compat.__main__ import main; main()"

SERVICE = (
    WITH_THE_RULE
    + """
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from compat.service.api.catalogue import ROUTES

app = Starlette(routes=[Route(path, endpoint, methods=[method]) for method, path, endpoint in ROUTES])
print(TestClient(app).get(sys.argv[1]).text)
"""
)

PROGRAM = """
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, context):
        yield value


env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1], Types.LONG()).key_by(lambda value: value, Types.LONG()).process(Count()).uid("count").print()
env.execute()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rules of somebody else, and a program."""
    (tmp_path / "more" / "haunted").mkdir(parents=True)
    (tmp_path / "more" / "haunted" / "__init__.py").touch()
    (tmp_path / "more" / "haunted" / "cmp399.py").write_text(RULE.lstrip(), encoding="utf-8")
    (tmp_path / "job.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def ran(folder: Path, code: str, *arguments: str) -> str:
    """What Python prints that runs ``code`` where the rule more is found."""
    command = [sys.executable, "-c", code, str(folder / "more"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8").stdout


def test_the_catalogue_has_it_in_its_place(folder: Path) -> None:
    listed = json.loads(ran(folder, COMMAND, "rules", "--format", "json"))["rules"]
    ids = [rule["id"] for rule in listed]
    assert ids == sorted(ids)
    rule = listed[ids.index("CMP399")]
    assert (rule["name"], rule["family"]) == ("haunted-operator", "Parallelism and key groups")
    assert "  CMP399  error    haunted-operator" in ran(folder, COMMAND, "rules")
    assert "What to do: Open a window." in ran(folder, COMMAND, "rule", "haunted-operator")


def test_the_service_has_it(folder: Path) -> None:
    assert "CMP399" in [rule["id"] for rule in json.loads(ran(folder, SERVICE, "/rules"))["rules"]]
    assert json.loads(ran(folder, SERVICE, "/rules/cmp399"))["summary"] == "An operator is haunted."


def test_every_report_tells_it(folder: Path) -> None:
    outputs = [f"--output={form}={folder / form}" for form in ("text", "json", "sarif", "html")]
    ran(folder, COMMAND, "check", "job.py", "job.py", *outputs)
    text = (folder / "text").read_text(encoding="utf-8")
    assert "error CMP399 haunted-operator: " in text
    assert "lost" in text
    report = json.loads((folder / "json").read_text(encoding="utf-8"))
    assert [row["fate"] for row in report["mapping"] if row["note"] == "CMP399"] == ["lost"]
    (run,) = json.loads((folder / "sarif").read_text(encoding="utf-8"))["runs"]
    told = next(rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "CMP399")
    assert (told["name"], told["defaultConfiguration"]) == ("haunted-operator", {"level": "error"})
    assert "is haunted" in (folder / "html").read_text(encoding="utf-8")


def test_an_ignore_knows_it(folder: Path) -> None:
    program = PROGRAM.replace(".print()", ".print()  # compat: ignore[CMP399] we like ghosts")
    (folder / "job.py").write_text(program, encoding="utf-8")
    report = json.loads(ran(folder, COMMAND, "check", "job.py", "job.py", "--output", "json"))
    assert [finding["rule"] for finding in report["suppressed"]] == ["CMP399"]
