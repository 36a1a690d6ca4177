"""Names that NEW uses and PyFlink lacks: with PyFlink it fails."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.model.job import Beyond


def _find(check: Check) -> Iterator[Finding]:
    for each in check.new.beyond:
        found = check.finding(
            RULE,
            f"{each.name}, which NEW uses, is not part of PyFlink {check.new.flink}",
            consequence=_consequence(each),
            reason="It is an addition of compat, for jobs on Spark.",
            fixes=(_FIX,),
            subject=each.name,
        )
        yield replace(found, new_line=each.source)


def _consequence(each: Beyond) -> str:
    error = "a ModuleNotFoundError" if each.name.startswith("pyflink.") else "an AttributeError"
    match each.when:
        case "built":
            return f"With PyFlink the program ends with {error} there, and submits no job: no state is restored."
        case "run":
            return f"With PyFlink the job fails with {error} whenever it gets there."
        case "ended":
            return f"With PyFlink the program fails with {error} there, after its last job."


_FIX = Fix(
    text="Leave it out, or, for a job that runs on Spark, begin the program with import compat.pyflink.",
    code="import compat.pyflink",
)
RULE = Rule(
    id="CMP907",
    name="beyond-pyflink",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="A program uses a name that PyFlink of its version lacks.",
    why="Some names of the DataStream API are additions of compat, most of them known from Flink's Java API: evictors, "
    "listeners of jobs, operators with many inputs, loops, the distributed cache in functions, connectors for "
    "sockets, generated records and Delta. Jobs on Spark have them; with PyFlink the program ends before it submits "
    "a job, or the job fails when a function uses the name.",
    old="keyed.window(assigner)",
    new="keyed.window(assigner).evictor(CountEvictor.of(3))",
    fix="Leave it out, or, for a job that runs on Spark, write import compat.pyflink as the program's first line.",
    only_in_flink=True,
    find=_find,
)
