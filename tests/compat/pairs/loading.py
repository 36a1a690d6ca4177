"""CMP9xx: programs that give nothing to check, and comments that ignore findings."""

from __future__ import annotations

from tests.compat.pairs.model import BROKEN, OK, UNKNOWN, Pair, pair, under
from tests.compat.pairs.programs import KEYED, value

_LISTENS = "env.register_job_listener(None)"
_OURS = "it is about the check, and not about a restore"


def with_line(line: str) -> str:
    """A counter with a line before its graph."""
    return value("L", graph=f"{line}\n{KEYED}")


def ignoring(comment: str, *, state: str = "t") -> str:
    """A counter whose state may have another name, with a comment on the line that makes it."""
    return value("L", state=state, graph=f"{KEYED}  # {comment}")


def _checked(name: str, old: str, new: str, verdict: str, *rules: str) -> Pair:
    return under(pair(name, old, new, verdict, *rules, unrecorded=_OURS), whole=True, timeout=2.0)


LOADING = [
    _checked("program_fails", value("L"), with_line("words = {}['none']"), UNKNOWN, "CMP901"),
    _checked("program_does_not_fail", value("L"), with_line("words = {}.get('none')"), OK),
    _checked("program_waits_for_long", value("L"), with_line("time.sleep(60)"), UNKNOWN, "CMP902"),
    _checked("program_waits", value("L"), with_line("time.sleep(0)"), OK),
    _checked("beyond_pyflink", value("L"), with_line(_LISTENS), BROKEN, "CMP907"),
    _checked("beyond_pyflink_on_spark", value("L"), with_line(f"import compat.pyflink\n{_LISTENS}"), OK),
    _checked("no_job", value("L"), value("L").replace("env.execute(", "str("), UNKNOWN, "CMP903"),
    _checked("a_job", value("L"), value("L"), OK),
    _checked("ignored_finding", value("L"), ignoring("compat: ignore[CMP402] may start again"), OK),
    _checked(
        "ignored_nothing", value("L"), ignoring("compat: ignore[CMP402] may start again", state="s"), OK, "CMP904"
    ),
    _checked(
        "ignored_without_a_rule", value("L"), ignoring("compat: ignore may start again"), BROKEN, "CMP402", "CMP905"
    ),
]
