"""Fixes in the language of the program that they are for: rules write them in PyFlink's spelling.

Flink's methods have one name in two spellings. Operators that a query made have no calls; a compiled plan keeps their ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from compat.check.findings import Finding, Fix
from compat.plan.facts import Program
from compat.plan.queries import of_query

_CALL = re.compile(r"(?<=\.)[a-z]+(?:_[a-z]+)+(?=\b)")
_TYPE = re.compile(r"\bTypes\.([A-Z_]+)\(\)")
_PLAN = Fix(
    text="SQL gives operators no uids: run the job from a compiled plan (COMPILE PLAN 'job.json' FOR INSERT …, then EXECUTE "
    "PLAN 'job.json'), whose ids stay. A job that has state and no plan keeps its ids only while its statements stay.",
    code="COMPILE PLAN 'job.json' FOR INSERT INTO …;",
)
_TABLE_PLAN = Fix(
    text="The Table API gives operators no uids: run the job from a compiled plan (.compile_plan() of its pipeline, statement "
    "set or SQL, then .load_plan() in the job), whose ids stay. A job that has state and no plan keeps its ids only while its "
    "queries stay.",
    code='t.compile_plan_sql("INSERT INTO …").write_to_file("job.json")',
)


def spelled(findings: Iterable[Finding], new: Program) -> Iterator[Finding]:
    """The findings, with texts and fixes as people write them in the language of NEW."""
    for found in findings:
        finding = found if new.language == "sql" else replace(found, fixes=_of_tables(found, new))
        if new.language == "java":
            yield replace(
                finding,
                title=_camel(finding.title),
                consequence=_camel(finding.consequence),
                reason=_camel(finding.reason),
                fixes=tuple(_in_java(fix) for fix in finding.fixes),
            )
        elif new.language == "sql":
            yield replace(finding, fixes=_planned(finding.fixes))
        else:
            yield finding


def _in_java(fix: Fix) -> Fix:
    if fix.moves:
        return fix
    return replace(
        fix,
        text=_camel(fix.text),
        call=None if fix.call is None else _camel(fix.call),
        code=None if fix.code is None else _camel(fix.code),
    )


def _planned(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Fixes for a job in SQL."""
    return tuple(dict.fromkeys(_PLAN if _gives_id(fix) else fix for fix in fixes))


def _of_tables(finding: Finding, new: Program) -> tuple[Fix, ...]:
    """The fixes of a finding, with others for the operators that the Table API made."""

    def fit(fix: Fix) -> Fix:
        operator = finding.new if fix.operator_id is None else new.by_id.get(fix.operator_id)
        return _TABLE_PLAN if operator is not None and _gives_id(fix) and of_query(operator) else fix

    return tuple(dict.fromkeys(map(fit, finding.fixes)))


def _gives_id(fix: Fix) -> bool:
    calls = (fix.call, fix.code)
    return any(call is not None and call.startswith(".") for call in calls) or ".set_uid" in fix.text


def _camel(text: str) -> str:
    def joined(match: re.Match[str]) -> str:
        first, *rest = match[0].split("_")
        return first + "".join(word.capitalize() for word in rest)

    return _TYPE.sub(r"Types.\1", _CALL.sub(joined, text))
