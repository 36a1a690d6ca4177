"""Files of variables, read as ``python-dotenv`` reads them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compat.loader.env_file import NotPlain, found_from, functions, variables_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=1", {"A": "1"}),
        ("export A = 1 2 # three\r\nB='4 # 5' # six\rC=\"7\"\n", {"A": "1 2", "B": "4 # 5", "C": "7"}),
        ("# none\n\n  \n", {}),
        ("A=a#b\nA=c", {"A": "c"}),
        ("A=", {"A": ""}),
        ("A=x=y$z\\n\nB.C=''", {"A": "x=y$z\\n", "B.C": ""}),
    ],
)
def test_plain_lines(text: str, found: dict[str, str]) -> None:
    assert dict(variables_in(text)) == found


@pytest.mark.parametrize(
    "text",
    ["A", "A=${B}", "A='1\n2'", 'A="a\\tb"', "'A'=1", "A= # none", "A='1' 2", "export=1", 'A="1', "ä=1"],
)
def test_other_lines_are_left_to_the_real_one(text: str) -> None:
    with pytest.raises(NotPlain):
        variables_in(text)


def test_the_nearest_file_above_the_program_counts(tmp_path: Path) -> None:
    (tmp_path / "a b" / "jobs").mkdir(parents=True)
    (tmp_path / ".env").write_text("A=1")
    job = str(tmp_path / "a b" / "jobs" / "job.py")
    assert found_from(job) == str(tmp_path / ".env")
    (tmp_path / "a b" / ".env").write_text("A=2")
    assert found_from(job) == str(tmp_path / "a b" / ".env")
    assert functions(job)["find_dotenv"]() == str(tmp_path / "a b" / ".env")


def test_what_is_set_stays_unless_it_is_to_be_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET", "before")
    monkeypatch.setenv("UNSET", "")
    monkeypatch.delenv("UNSET")
    file = tmp_path / "my.env"
    file.write_text("SET=file\nUNSET=file\n")
    served = functions(str(tmp_path / "job.py"))
    assert served["load_dotenv"](file) is True
    assert (os.environ["SET"], os.environ["UNSET"]) == ("before", "file")
    assert served["load_dotenv"](str(file), override=True) is True
    assert os.environ["SET"] == "file"
    assert served["load_dotenv"](tmp_path / "none.env") is False
    assert served["dotenv_values"](file) == {"SET": "file", "UNSET": "file"}
