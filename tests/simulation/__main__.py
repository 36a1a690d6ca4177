"""Replays schedules: ``python -m tests.simulation SEED [COUNT]``."""

import sys
import time

from tests.simulation.schedule import run


def main() -> None:
    """Run COUNT schedules from SEED on; tell those whose results are wrong."""
    first, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    began, failed = time.monotonic(), 0
    for seed in range(first, first + count):
        result = run(seed)
        if count == 1 or result.wrong:
            print(f"seed {seed}, {result.starts} starts of the driver")
            print(*(f"  {line}" for line in (*result.trace, *(f"WRONG: {line}" for line in result.wrong))), sep="\n")
        failed += bool(result.wrong)
    print(f"{failed} of {count} wrong, {count / (time.monotonic() - began) * 60:.0f} schedules a minute")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
