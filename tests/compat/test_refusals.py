"""A program that Flink refuses was compared with nothing: nothing makes that pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from tests.compat.pairs.identity import two
from tests.compat.pairs.programs import value

IGNORED = "  # compat: ignore[CMP105] they are alike"


@pytest.fixture
def versions(tmp_path: Path) -> tuple[str, str]:
    """OLD, and a NEW with one uid twice and an ignore comment on every line."""
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(value("L"))
    lines = two(('"second"', '"keep"')).split("\n")
    new.write_text("\n".join(line + IGNORED if ".key_by(" in line else line for line in lines))
    return str(old), str(new)


@pytest.mark.parametrize("options", [(), ("--baseline", "known.json")], ids=["comment", "baseline"])
def test_a_refusal_cannot_be_ignored(
    versions: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "compat.toml").write_text('ignore = ["CMP105"]\n')
    CliRunner().invoke(main, ["check", *versions, "--write-baseline", "--baseline", "known.json"])
    result = CliRunner().invoke(main, ["check", *versions, *options])
    assert result.exit_code == 1, result.output
    assert result.output.startswith("INCOMPATIBLE")
    assert "error CMP105" in result.output
