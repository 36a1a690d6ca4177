"""The outcome for every pair, made once."""

from __future__ import annotations

import pytest

from tests.compat.pairs.judging import Judged, judge_all
from tests.compat.pairs.table import PAIRS


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judged]:
    return judge_all(PAIRS, tmp_path_factory.mktemp("pairs"))
