"""Which cases of costly tests a run of the whole suite takes.

Each test function has ``BUDGET`` seconds, and a tenth of what it takes. Of one that takes longer, as many cases stay as it has
time for, chosen by the hashes of their names; the rest are marked ``slow``. A run that names files takes all of them.

``python -m tests.sampling JUNIT`` records how long the functions take that have no weight yet, from a run with
``--junit-xml=JUNIT``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from xml.etree import ElementTree

import pytest

BUDGET = 1.0
WEIGHTS = Path(__file__).with_name("weights.json")


def sample(items: Iterable[pytest.Item]) -> None:
    """Mark the cases that their functions have no time for."""
    weights = json.loads(WEIGHTS.read_text())
    for item in items:
        if not stays(item.nodeid, weights):
            item.add_marker(pytest.mark.slow)


def stays(case: str, weights: Mapping[str, float]) -> bool:
    """Whether a case runs by default. ``weights`` are the seconds of test functions."""
    place = int.from_bytes(blake2b(case.encode(), digest_size=4).digest()) / 2**32
    weight = weights.get(case.partition("[")[0], 0)
    return place * weight <= BUDGET + weight / 10


def recorded(junit: Path, root: Path) -> dict[str, float]:
    """The seconds of the functions that take more than ``BUDGET``, by the beginnings of their cases' names."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(junit).iter("testcase"):
        parts = case.attrib["classname"].split(".")
        for end in range(len(parts), 0, -1):
            path = "/".join(parts[:end]) + ".py"
            if (root / path).is_file():  # else it is gone
                function = "::".join([path, *parts[end:], case.attrib["name"].partition("[")[0]])
                seconds[function] += float(case.attrib["time"])
    return {name: round(taken, 1) for name, taken in sorted(seconds.items()) if taken > BUDGET}


if __name__ == "__main__":
    known = json.loads(WEIGHTS.read_text())
    weights = {**recorded(Path(sys.argv[1]), WEIGHTS.parents[1]), **known}
    WEIGHTS.write_text(json.dumps(weights, indent=0, sort_keys=True) + "\n")
