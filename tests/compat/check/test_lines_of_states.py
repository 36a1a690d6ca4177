"""Findings about a state point at the line that asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import compat
from compat.cli import main
from tests.compat.fix.programs import program

OLD = program("numbers.COUNTED.uid('c').name('c')")
NEW = OLD.replace('ValueStateDescriptor("count", L)', 'ValueStateDescriptor("count", Types.STRING())')
EXAMPLE = [str(Path(compat.__file__).parent / "examples" / "enrichment" / f"v{number}.py") for number in (1, 2)]
ASKED = '        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.STRING()))'
MADE = "numbers.key_by(identity, L).process(Count(), L).uid('c').name('c')"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def concise(new: str) -> str:
    Path("old.py").write_text(OLD, encoding="utf-8")
    Path("new.py").write_text(new, encoding="utf-8")
    return CliRunner().invoke(main, ["check", "old.py", "new.py", "--output", "concise"]).stdout


def test_the_line_of_the_descriptor() -> None:
    assert concise(NEW).startswith(f"new.py:{NEW.splitlines().index(ASKED) + 1}: CMP404 error ")


@pytest.mark.parametrize("line", [ASKED, MADE])
def test_a_comment_there_or_at_the_operator_lets_it_pass(line: str) -> None:
    assert concise(NEW.replace(line, f"{line}  # compat: ignore[CMP404] starts anew")) == ""


def test_a_comment_elsewhere_does_not() -> None:
    assert "CMP404 error" in concise(
        NEW.replace("env.execute()", "env.execute()  # compat: ignore[CMP404] starts anew")
    )


def test_a_descriptor_that_is_made_elsewhere_is_what_is_pointed_at() -> None:
    at_top = "COUNT = ValueStateDescriptor('count', {})\n\n\nclass Count"
    asked = 'runtime_context.get_state(ValueStateDescriptor("count", L))'
    old, new = (
        OLD.replace("class Count", at_top.format(kind)).replace(asked, "runtime_context.get_state(COUNT)")
        for kind in ("L", "Types.STRING()")
    )
    Path("old.py").write_text(old, encoding="utf-8")
    Path("new.py").write_text(new, encoding="utf-8")
    told = CliRunner().invoke(main, ["check", "old.py", "new.py", "--output", "concise"]).stdout
    line = new.splitlines().index("COUNT = ValueStateDescriptor('count', Types.STRING())") + 1
    assert told.startswith(f"new.py:{line}: CMP404 error ")


def test_a_broadcast_state_has_the_line_of_its_descriptor() -> None:
    told = CliRunner().invoke(main, ["check", *EXAMPLE, "--output", "concise"]).stdout
    assert "v2.py:9: CMP404 error the state 'products'" in told
