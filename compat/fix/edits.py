"""From the fixes of findings to edits of files, by place, and the refused fixes with reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from compat.check.findings import SAFE, Finding, Fix, Report
from compat.check.identity import hidden
from compat.state.model.operators import Operator
from compat.state.model.source_line import End

Settings = dict[str, tuple[str, Fix]]
"""Values in source text, by method, each with the fix that asks for it."""

_CALL = re.compile(r"(?P<env>env)?\.(?P<method>\w+)\((?P<value>.*)\)")


class Refusal(Struct, frozen=True):
    """A fix that is not written, and why."""

    fix: Fix
    reason: str

    def __str__(self) -> str:
        return f"{self.fix.text.rstrip('.')}: {self.reason}"


@dataclass(slots=True)
class Edits:
    """All edits that a check asks for.

    ``files`` holds, by file, the settings for the operator whose call ends at a place; ``environment`` those for the
    environment, in the file of NEW itself. Settings are values in source text, by method, each with its fix.
    """

    files: dict[str, dict[End, Settings]] = field(default_factory=dict)
    environment: Settings = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.files or self.environment)


def collect(checks: Iterable[tuple[int, Report, Iterable[Finding]]]) -> Edits:
    """The edits for some findings of each check of NEW, given with the number of the job in NEW.

    An edit changes every operator that its line creates, in all jobs, so it is refused unless all of them need exactly
    that edit.
    """
    wanted: dict[tuple[str, End, str], list[_Asked]] = {}
    edits = Edits()
    checks = list(checks)
    made = _operators_by_place(checks)
    for job, _, findings in checks:
        for fix in dict.fromkeys(fix for finding in findings for fix in finding.fixes):
            match = None if fix.call is None else _CALL.fullmatch(fix.call)
            if match is None:
                continue
            if match["method"] not in SAFE:
                edits.refused.append(Refusal(fix, f"{match['method']} changes how the job runs, so you have to decide"))
            elif match["env"]:
                _set(edits, match["method"], match["value"], fix)
            elif fix.at is None or fix.at.end is None:
                edits.refused.append(Refusal(fix, "the place of the call in the source is not known"))
            else:
                asked = _Asked(job, match["value"], fix)
                wanted.setdefault((fix.at.file, fix.at.end, match["method"]), []).append(asked)
    for (file, end, method), all_asked in wanted.items():
        reason = _ambiguous(made.get((file, end), {}), all_asked)
        if reason is None:
            first = all_asked[0]
            edits.files.setdefault(file, {}).setdefault(end, {})[method] = (first.value, first.fix)
        else:
            edits.refused += [Refusal(asked.fix, reason) for asked in all_asked]
    return edits


def has_edit(finding: Finding) -> bool:
    """Whether a finding has an edit that is safe to write."""
    return any(fix.safe for fix in finding.fixes)


class _Asked(Struct, frozen=True):
    """A value that a fix asks for, in one of the jobs."""

    job: int
    value: str
    fix: Fix


def _set(edits: Edits, method: str, value: str, fix: Fix) -> None:
    before, _ = edits.environment.setdefault(method, (value, fix))
    if before != value:
        edits.refused.append(Refusal(fix, f"another finding needs {method}({before}) there"))


_Made = dict[tuple[int, str], Operator]
"""Operators by the number of the job and their id."""


def _operators_by_place(checks: Iterable[tuple[int, Report, object]]) -> dict[tuple[str, End], _Made]:
    """The operators that each call of NEW creates."""
    made: dict[tuple[str, End], _Made] = {}
    for job, report, _ in checks:
        for operator in report.new.operators:
            if operator.source is not None and operator.source.end is not None and not hidden(operator):
                made.setdefault((operator.source.file, operator.source.end), {})[job, operator.id] = operator
    return made


def _ambiguous(made: _Made, asked: Sequence[_Asked]) -> str | None:
    """Why a call cannot be given one value: it creates several operators that need different values. One run of a call
    can create several operators, the parts of a sink; several operators of one kind come from several runs.
    """
    ids = {(one.job, one.fix.operator_id) for one in asked}
    kinds = {operator.kind for key, operator in made.items() if key in ids}
    alike = {key: operator for key, operator in made.items() if operator.kind in kinds}
    if len({one.value for one in asked}) == 1 and ids >= alike.keys():
        return None
    names = ", ".join(list(dict.fromkeys(operator.label for operator in alike.values()))[:3])
    return (
        f"that line makes {len(alike)} operators ({names}), which need different settings: give each a call of its own"
    )
