"""SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import compat
from compat.check.catalogue import RULES
from compat.check.findings import Finding, Level, Report, Verdict
from compat.check.undecided import Undecided
from compat.escaping import visible
from compat.loader.failure import Failure
from compat.report import summary
from compat.report.context import ReportContext
from compat.report.locations import uri
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {
    Level.ERROR: "error",
    Level.UNKNOWN: "error",
    Level.MIGRATE: "note",
    Level.WARNING: "warning",
    Level.NOTE: "note",
}


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """One log with one run an outcome."""
    runs = [_run(outcome, context) for outcome in outcomes]
    if len(set(map(summary.pair, outcomes))) > 1:
        # Services keep one analysis a category: runs of several pairs would replace each other.
        for run, outcome in zip(runs, outcomes, strict=True):
            run["automationDetails"] = {"id": f"compat/{visible(summary.pair(outcome))}"}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _run(outcome: Report | Undecided, context: ReportContext) -> dict[str, Any]:
    invocation: dict[str, Any] = {"executionSuccessful": isinstance(outcome, Report)}
    if isinstance(outcome, Report):
        found = [*summary.ordered(outcome.findings), *outcome.suppressed]
        index = _index(finding.rule for finding in found)
        results = [_result(finding, index, context) for finding in summary.ordered(outcome.findings)]
        if not results and outcome.verdict in (Verdict.INCOMPATIBLE, Verdict.UNKNOWN):
            results.append({"level": "error", "message": {"text": visible(summary.sentence(outcome))}})
        results += [_suppressed(finding, index, context) for finding in outcome.suppressed]
    else:
        index = _index(failure.rule for failure in outcome.failures)
        results = [_failure(failure, outcome, index, context) for failure in outcome.failures]
        invocation["exitCode"] = 2
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": result["message"], "descriptor": {"id": result["ruleId"]}}
            for result in results
        ]
    return {
        "tool": {
            "driver": {
                "name": "compat",
                "version": compat.__version__,
                "semanticVersion": compat.__version__,
                "rules": [_rule(rule) for rule in index],
            }
        },
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {
            "verdict": outcome.verdict.value,
            "sentence": summary.sentence(outcome),
            "lookedAt": summary.looked_at(outcome.accounts) if isinstance(outcome, Report) else "",
        },
    }


def _index(rules: Iterable[str]) -> dict[str, int]:
    return {rule: number for number, rule in enumerate(sorted(set(rules)))}


def _rule(rule: str) -> dict[str, Any]:
    known = RULES.get(rule)
    if known is None:
        return {"id": rule}
    return {
        "id": rule,
        "name": known.name,
        "shortDescription": {"text": known.summary},
        "fullDescription": {"text": known.why},
        "help": {"text": f"{known.why}\n\nWhat to do: {known.fix}"},
        "defaultConfiguration": {"level": LEVELS[known.level]},
    }


def _result(finding: Finding, index: dict[str, int], context: ReportContext) -> dict[str, Any]:
    old, new = summary.old_place(finding), summary.new_place(finding)
    main = new or old
    others = [("in OLD", old)] if new is not None and old is not None else []
    related = [*others, *finding.related]
    level = "warning" if finding.level is Level.UNKNOWN and context.allow_unknown else LEVELS[finding.level]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": level,
        "message": {"text": _message(finding)},
    }
    if main is not None:
        result["locations"] = [_location(main, context, finding.new or finding.old)]
    if related:
        result["relatedLocations"] = [
            {"id": number, **_location(line, context), "message": {"text": visible(text)}}
            for number, (text, line) in enumerate(related, 1)
        ]
    result["partialFingerprints"] = {"compat/v1": _digest(finding.fingerprint)}
    result["properties"] = {
        "state": finding.state,
        "silent": finding.silent,
        "fixes": [
            {"text": fix.text, "call": fix.call, "code": fix.code, "at": str(fix.at) if fix.at else None}
            for fix in finding.fixes
        ],
    }
    return result


def _suppressed(finding: Finding, index: dict[str, int], context: ReportContext) -> dict[str, Any]:
    suppression = {"kind": "external", "justification": visible(finding.ignored or "no reason given")}
    return _result(finding, index, context) | {"suppressions": [suppression]}


def _message(finding: Finding) -> str:
    parts = [finding.title, finding.consequence, finding.reason]
    parts += [
        f"Fix: {fix.text}" + (f" ({fix.call or fix.code})" if fix.call or fix.code else "") for fix in finding.fixes
    ]
    return "\n".join(visible(part) for part in parts if part)


def _failure(failure: Failure, outcome: Undecided, index: dict[str, int], context: ReportContext) -> dict[str, Any]:
    parts = [summary.sentence(outcome), failure.message, failure.hint or ""]
    result: dict[str, Any] = {
        "ruleId": failure.rule,
        "ruleIndex": index[failure.rule],
        "level": "error",
        "message": {"text": "\n".join(visible(part) for part in parts if part)},
        "locations": [_location(failure.source or SourceLine(failure.name, 1), context)],
        "partialFingerprints": {"compat/v1": _digest(f"{failure.rule}|{failure.name}")},
    }
    return result


def _location(place: SourceLine, context: ReportContext, operator: Operator | None = None) -> dict[str, Any]:
    address, relative = uri(place.file, context)
    artifact = {"uri": address} | ({"uriBaseId": "%SRCROOT%"} if relative else {})
    region = {"region": {"startLine": place.line}} if place.line > 0 else {}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, **region}}
    if operator is not None:
        location["logicalLocations"] = [{"name": visible(summary.label(operator)), "kind": "member"}]
    return location


def _digest(fingerprint: str) -> str:
    return hashlib.sha256(fingerprint.encode("utf-8", "surrogatepass")).hexdigest()[:32]
