"""Replays schedules: ``python -m tests.simulation SEED [COUNT] [--real] [--pauses]``.

``--real`` runs them on the libraries themselves, on no doubles; with ``--pauses`` there may be two drivers at once.
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.simulation.schedule import Result, run


def main() -> None:
    """Run COUNT schedules from SEED on, on all processors; tell those whose results are wrong."""
    given = [int(word) for word in sys.argv[1:] if not word.startswith("-")]
    first, count = given[0], given[1] if len(given) > 1 else 1
    replayed = partial(run, real="--real" in sys.argv, pauses="--pauses" in sys.argv)
    began, failed = time.monotonic(), 0
    if count == 1:
        failed = _tell(replayed(first), whole=True)
    else:
        with ProcessPoolExecutor() as pool:
            for result in pool.map(replayed, range(first, first + count), chunksize=5):
                failed += _tell(result, whole=False)
    print(f"{failed} of {count} wrong, {count / (time.monotonic() - began) * 60:.0f} schedules a minute")
    sys.exit(1 if failed else 0)


def _tell(result: Result, *, whole: bool) -> bool:
    if whole or result.wrong:
        print(f"seed {result.seed}, {result.starts} starts of the driver")
        print(*(f"  {line}" for line in (*result.trace, *(f"WRONG: {line}" for line in result.wrong))), sep="\n")
    return bool(result.wrong)


if __name__ == "__main__":
    main()
