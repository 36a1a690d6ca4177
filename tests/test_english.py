"""The patterns of inverted English find the sentences that they are for, and no plain ones."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "english.py"


def english() -> ModuleType:
    spec = spec_from_file_location("english", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "sentence",
    [
        "What cannot be told does not fail the check.",
        "Nothing stands for a module that is not installed.",
        "It does not tell of what classes behind\nKryo consisted.",
        "Whose the savepoint is: 'claim' removes it.",
        "Of which classes it makes objects.",
        "A plan. That of a job follows.",
        "That many hours.",
        "Files that are told of.",
        "Empty where the source is not to be had.",
        "Findings in this file are let pass.",
        "The answer hangs on the default parallelism.",
        "An option which nobody told.",
        "What became of a subtask.",
        "The new graph is held against the old one.",
        "A plan in the place of a program.",
        "The uid; None where there\nis none.",
        "Raises an error for what is none.",
        "It fails for want of memory.",
        "Flink drops it without a word.",
        "Raises ValueError for what is no folder.",
        "The state has no type, so that nothing tells how long it is.",
        "The variables that it asked for in vain.",
        "A job, be it of a store or of a cluster.",
        "Names are told by another rule.",
        "What stands for a module.",
        "What is to be said of it.",
        "Calls that PyFlink has no more, and that change nothing.",
        'Check the versions, and record the "\n    "check.',
    ],
)
def test_an_inverted_sentence_is_found(sentence: str) -> None:
    assert list(english().faults(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "Open questions do not fail the check.",
        "What happened to the savepoint?",
        "Who owns the savepoint: 'claim' removes it.",
        "The job hangs on shutdown.",
        "The answer depends on the default parallelism, which was not given.",
        "The classes that it makes objects of.",
        "The place of a call, where a statement becomes one of a job; None if there is none.",
        "A lock is held, against all rules.",
        "What are the numbers for? It has no more than two.",
        "It may be it or another one, as the user told Bycatch.",
        'The table is `"OPERATOR"."STATE"`, and "a" or "b" is its key.',
    ],
)
def test_a_plain_sentence_is_not_found(sentence: str) -> None:
    assert not list(english().faults(sentence))


def test_a_place_is_told_with_its_line(tmp_path: Path) -> None:
    for folder in ("compat", "compiler", "state"):
        (tmp_path / folder).mkdir()
    (tmp_path / "compat" / "a.py").write_text('"""Fine."""\n\nX = "What cannot be read fails."\n', encoding="utf-8")
    (tmp_path / "README.md").write_text("# A\n\nFine.\n\nFiles that\nare told of.\n", encoding="utf-8")
    module = english()
    found = [place for place, text in module.texts(tmp_path) if list(module.faults(text))]
    assert found == ["compat/a.py:3", "README.md:5"]


def test_this_repository_has_none() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
