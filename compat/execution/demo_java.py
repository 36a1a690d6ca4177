"""The story of ``compat demo --java``: a job in Java and one in SQL, each in two versions, built by Flink's own classes."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import compat.examples
from compat.execution.story import REFUSED, begin, command, heading, text

FLINK = ("--flink-version", "2.3.0")
_EXAMPLES = Path(compat.examples.__path__[0])
_FILES = {
    "payments_v1.jar": "payments/v1.jar",
    "payments_v2.jar": "payments/v2.jar",
    "revenue_v1.sql": "revenue/v1.sql",
    "revenue_v2.sql": "revenue/v2.sql",
}
_NEEDS_JVM = "The demo builds jobs in a JVM, and 'jpype' is not installed: pip install 'stream-compat[jvm]'."


def tell(folder: str) -> int:
    """Tell the story; gives the exit code."""
    if find_spec("jpype") is None:
        print(_NEEDS_JVM, file=sys.stderr)
        return REFUSED
    return begin(folder, {name: _EXAMPLES / source for name, source in _FILES.items()}, _story)


def _story(home: Path) -> None:
    heading("1. A job in Java: an amount became a double, and a filter came before an operator without a uid.")
    text(
        "Flink's own classes build both versions, and restore the old one's state into the new one. The first time, Flink"
    )
    text("is fetched from Maven Central.")
    jars = ("payments_v1.jar", "payments_v2.jar", *FLINK)
    command(home, "check", *jars, "--output", "concise", ends=1)
    text("The jars hold their ids and states; the sources of both are in compat/examples/payments.")
    command(home, "check", "payments_v1.jar", "payments_v1.jar", *FLINK, lines=1)

    heading("2. A job in SQL: SUM(amount) became MAX(amount). Flink would restore that, and go on from the sums.")
    command(home, "check", "revenue_v1.sql", "revenue_v2.sql", *FLINK, "--output", "concise", ends=1)

    heading(f"Where to look next, in {home}/")
    steps = (
        (f"compat check {' '.join(jars)}", "the whole report: lines, reasons, fixes"),
        (f"compat explain {' '.join(jars[:2])} 'last payment' {' '.join(FLINK)}", "why the id changed"),
        (f"compat plan payments_v1.jar {' '.join(FLINK)}", "the four graphs"),
    )
    text("\n".join(f"{call:<88} {what}" for call, what in steps))
