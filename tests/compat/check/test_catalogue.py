"""The catalogue is complete, and the commands that show it work."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.check import rules as package
from compat.check.catalogue import RULES, find
from compat.check.findings import Fate, Level
from compat.check.rule import Family, Rule
from compat.cli.rules import rule as rule_command
from compat.cli.rules import rules as rules_command
from compat.cli.schema import schema as schema_command
from compat.loader.failure import Undecidable

ROOT = Path(__file__).parents[3]
FILES = sorted(
    (path for path in Path(package.__path__[0]).glob("*/*.py") if path.stem != "__init__"), key=lambda path: path.stem
)
FOLDERS = {
    Family.IDENTITY: "identity",
    Family.SHAPE: "shape",
    Family.SCALING: "scaling",
    Family.STATES: "types",
    Family.SNAPSHOTS: "snapshots",
    Family.SETTINGS: "settings",
    Family.SQL: "sql",
    Family.CONNECTORS: "connectors",
    Family.RUNNING: "running",
}


def test_ids_and_names_are_unique_and_in_order() -> None:
    assert list(RULES) == sorted(RULES)
    assert len({rule.name for rule in RULES.values()}) == len(RULES)


def test_each_file_is_one_rule_and_is_named_for_it() -> None:
    wanted = [f"{FOLDERS[rule.family]}/{rule.id.lower()}_{rule.name.replace('-', '_')}" for rule in RULES.values()]
    assert [f"{path.parent.name}/{path.stem}" for path in FILES] == wanted


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_each_rule_has_all_texts(rule: Rule) -> None:
    assert re.fullmatch(r"CMP\d{3}", rule.id)
    assert rule.family in Family
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert all([rule.old, rule.new])
    for text in (rule.summary, rule.why, rule.fix):
        assert text[0].isupper()
        assert text.endswith(".")


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_each_rule_says_what_it_means_for_the_state(rule: Rule) -> None:
    worst = min([rule.level, *rule.other_levels], key=lambda level: level.rank)
    harmless = rule.fate in (Fate.RESTORED, Fate.EMPTY)
    assert harmless == (worst.rank > Level.MIGRATE.rank)
    assert bool(rule.when) == bool(rule.other_levels)
    assert not (rule.failure and rule.find)


def test_a_finding_has_a_level_of_its_rule() -> None:
    rule = RULES["CMP101"]
    assert (rule.level_of(None), rule.level_of(Level.WARNING)) == (Level.ERROR, Level.WARNING)
    with pytest.raises(ValueError, match="CMP101 has no findings of level note"):
        rule.level_of(Level.NOTE)


@pytest.mark.parametrize("file", FILES, ids=[path.stem for path in FILES])
def test_a_rules_id_is_spelled_once(file: Path) -> None:
    """In its file, or, where the loader tells it, among the failures of the loader."""
    text = file.read_text(encoding="utf-8")
    id = file.stem[:6].upper()
    told_by_the_loader = id in set(Undecidable)
    assert re.findall(r"""["'](CMP\d{3})["']""", text) == ([] if told_by_the_loader else [id])


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))], ids=str)
def test_tables_of_rules_in_the_documentation_agree(path: Path) -> None:
    for id, name in re.findall(r"^\|\s*`?(CMP\d{3})`?\s*\|\s*`?([a-z-]+)`?\s*\|", path.read_text(), re.MULTILINE):
        assert RULES[id].name == name


def test_nothing_names_a_rule_but_by_its_object() -> None:
    """But for the catalogue of Flink's exceptions, which is loaded without the rules; a test of its own holds its ids."""
    homes = {
        ROOT / "compat" / "check" / "rules",
        ROOT / "compat" / "loader" / "failure.py",
        ROOT / "compat" / "diagnosis",
    }
    outside = [path for path in (ROOT / "compat").rglob("*.py") if not homes & {path, path.parent.parent}]
    assert not [path for path in outside if re.search(r"""["']CMP\d{3}["']""", path.read_text(encoding="utf-8"))]


def test_the_code_of_a_fix_is_one_line() -> None:
    """It stands in brackets behind its text, where a line break would be an escape."""
    codes = [
        keyword.value
        for path in FILES
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Fix"
        for keyword in call.keywords
        if keyword.arg == "code"
    ]
    constants = [part.value for code in codes for part in ast.walk(code) if isinstance(part, ast.Constant)]
    assert constants
    assert not [text for text in constants if "\n" in str(text)]


@pytest.mark.parametrize("text", ["CMP101", "cmp101", " state-without-operator "])
def test_rules_are_found_by_id_and_name(text: str) -> None:
    assert find(text) is RULES["CMP101"]


def test_rules_lists_all() -> None:
    text = CliRunner().invoke(rules_command).output
    assert all(f"{rule.id}  {rule.level_text}" in text for rule in RULES.values())
    listed = json.loads(CliRunner().invoke(rules_command, ["--format", "json"]).output)
    assert [rule["id"] for rule in listed["rules"]] == list(RULES)


@pytest.mark.parametrize("id", RULES)
def test_a_rule_is_explained(id: str) -> None:
    text = CliRunner().invoke(rule_command, [id]).output
    assert text.startswith(f"{id} {RULES[id].name}\n")
    assert "What to do: " in text
    assert json.loads(CliRunner().invoke(rule_command, [id, "--format", "json"]).output)["id"] == id


@pytest.mark.parametrize(
    ("typed", "near"), [("CMP1O1", "CMP101"), ("state-dropt", "state-dropped"), ("?", "compat rules")]
)
def test_an_unknown_rule_is_a_usage_error(typed: str, near: str) -> None:
    result = CliRunner().invoke(rule_command, [typed])
    assert result.exit_code == 2
    assert near in result.output


def test_the_schema_is_printed() -> None:
    printed = CliRunner().invoke(schema_command, ["report"]).output
    assert json.loads(printed)["title"] == "Report of compat check"
    assert CliRunner().invoke(schema_command, ["other"]).exit_code == 2
