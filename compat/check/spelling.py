"""Fixes in the language of the program that they are for: rules write them in PyFlink's spelling.

Flink's methods have one name in two spellings. A job in SQL has no calls; its ids are kept by a compiled plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from compat.check.findings import Finding, Fix
from compat.plan.model import Language

_CALL = re.compile(r"(?<=\.)[a-z]+(?:_[a-z]+)+(?=\b)")
_TYPE = re.compile(r"\bTypes\.([A-Z_]+)\(\)")
_PLAN = Fix(
    text="SQL gives operators no uids: run the job from a compiled plan (COMPILE PLAN 'job.json' FOR INSERT …, then EXECUTE "
    "PLAN 'job.json'), whose ids stay. A job that has state and no plan keeps its ids only while its statements stay.",
    code="COMPILE PLAN 'job.json' FOR INSERT INTO …;",
)


def spelled(findings: Iterable[Finding], language: Language | None) -> Iterator[Finding]:
    """The findings, with texts and fixes as people write them in the language of NEW."""
    for finding in findings:
        if language == "java":
            yield replace(
                finding,
                title=_camel(finding.title),
                consequence=_camel(finding.consequence),
                reason=_camel(finding.reason),
                fixes=tuple(_in_java(fix) for fix in finding.fixes),
            )
        elif language == "sql":
            yield replace(finding, fixes=tuple(dict.fromkeys(map(_in_sql, finding.fixes))))
        else:
            yield finding


def _in_java(fix: Fix) -> Fix:
    return replace(
        fix,
        text=_camel(fix.text),
        call=None if fix.call is None else _camel(fix.call),
        code=None if fix.code is None else _camel(fix.code),
    )


def _in_sql(fix: Fix) -> Fix:
    calls = (fix.call, fix.code)
    return _PLAN if any(call is not None and call.startswith(".") for call in calls) or ".set_uid" in fix.text else fix


def _camel(text: str) -> str:
    def joined(match: re.Match[str]) -> str:
        first, *rest = match[0].split("_")
        return first + "".join(word.capitalize() for word in rest)

    return _TYPE.sub(r"Types.\1", _CALL.sub(joined, text))
