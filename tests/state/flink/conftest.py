"""Where the savepoints that Flink wrote are, and what Flink itself says about each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
if str(ROOT) not in sys.path:  # so that helpers can be imported however pytest was started
    sys.path.insert(0, str(ROOT))

GOLDEN = ROOT / "tests" / "golden" / "savepoints"


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of the savepoints that Flink wrote."""
    return GOLDEN


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `saved` runs once for each savepoint that Flink wrote."""
    if "saved" in metafunc.fixturenames:
        cases = [json.loads(file.read_text()) for file in sorted(GOLDEN.glob("*.json"))]
        metafunc.parametrize("saved", [_with_path(case) for case in cases], ids=[c["name"] for c in cases])


def _with_path(case: dict[str, Any]) -> dict[str, Any]:
    return case | {"path": GOLDEN / case["folder"]}
