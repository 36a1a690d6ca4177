"""How long `compat check` takes as a whole process, against a Python that only imports click.

    python tests/benchmarks/bench_check.py [ROUNDS]

Needs an installed `compat` (byte-compiled, as pip leaves it) beside the running interpreter. The two commands take turns; the
ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "compat" / "examples" / "word_count"
CHECK = [str(Path(sys.executable).parent / "compat"), "check", str(EXAMPLES / "v1.py"), str(EXAMPLES / "v2.py")]
CLICK = [sys.executable, "-c", "import click"]


def seconds(command: list[str]) -> float:
    """The wall time of one run."""
    started = time.perf_counter()
    subprocess.run(command, cwd="/", stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    pairs = [(seconds(CLICK), seconds(CHECK)) for _ in range(rounds + 1)][1:]
    click, check = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
    ratio = statistics.median(check / click for click, check in pairs)
    print(f"import click {click:.0f} ms, compat check {check:.0f} ms, ratio {ratio:.1f} (medians of {rounds} rounds)")


if __name__ == "__main__":
    main()
