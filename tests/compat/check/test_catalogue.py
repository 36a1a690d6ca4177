"""The catalogue is complete, and the commands that show it work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.check.rules.catalogue import FAMILIES, RULES, RuleInfo, find
from compat.check.rules.texts import identity, running, scaling, settings, snapshots, states, topology
from compat.cli.rules import rule as rule_command
from compat.cli.rules import rules as rules_command
from compat.cli.schema import schema as schema_command

ROOT = Path(__file__).parents[3]
FAMILY_MODULES = (identity, topology, scaling, states, snapshots, settings, running)


def test_ids_and_names_are_unique_and_in_order() -> None:
    every = [rule for module in FAMILY_MODULES for rule in module.RULES]
    assert len(every) == len(RULES)
    assert list(RULES) == sorted(RULES)
    assert len({rule.name for rule in every}) == len(every)


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_each_rule_has_all_texts(rule: RuleInfo) -> None:
    assert re.fullmatch(r"CMP\d{3}", rule.id)
    assert rule.id[3] in FAMILIES
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert all([rule.old, rule.new])
    for text in (rule.summary, rule.why, rule.fix):
        assert text[0].isupper()
        assert text.endswith(".")


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))], ids=str)
def test_tables_of_rules_in_the_documentation_agree(path: Path) -> None:
    if not path.exists():
        pytest.skip("not written")
    for id, name in re.findall(r"^\|\s*`?(CMP\d{3})`?\s*\|\s*`?([a-z-]+)`?\s*\|", path.read_text(), re.MULTILINE):
        assert RULES[id].name == name


def test_each_rule_that_findings_name_is_in_the_catalogue() -> None:
    named = {id for path in (ROOT / "compat").rglob("*.py") for id in re.findall(r'"(CMP\d{3})"', path.read_text())}
    assert named <= set(RULES)


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
