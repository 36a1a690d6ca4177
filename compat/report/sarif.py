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
    """One log with one run: services keep one run per category, and close the alerts that are no longer in it. The
    category is therefore the same for every revision, and all jobs are in one run.
    """
    rules = _index(rule for outcome in outcomes for rule in _rules_of(outcome))
    results, notifications = [], []
    several = len(set(map(summary.pair, outcomes))) > 1
    for outcome in outcomes:
        own = _results(outcome, rules, context)
        if several:
            for result in own:
                _tell_which(result, outcome)
        if isinstance(outcome, Undecided) and outcome.unchecked is None:
            notifications += [
                {"level": "error", "message": one["message"], "descriptor": {"id": one["ruleId"]}} for one in own
            ]
        results += own
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(outcomes, rules, results, notifications)]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _rules_of(outcome: Report | Undecided) -> list[str]:
    if isinstance(outcome, Undecided):
        return [failure.rule for failure in outcome.failures]
    return [finding.rule for finding in (*outcome.findings, *outcome.suppressed)]


def _results(outcome: Report | Undecided, index: dict[str, int], context: ReportContext) -> list[dict[str, Any]]:
    if isinstance(outcome, Undecided):
        return [_failure(failure, outcome, index, context) for failure in outcome.failures]
    results = [_result(finding, index, context) for finding in summary.ordered(outcome.findings)]
    if not results and outcome.verdict in (Verdict.INCOMPATIBLE, Verdict.UNKNOWN):
        results.append({"level": "error", "message": {"text": visible(summary.sentence(outcome))}})
    return results + [_suppressed(finding, index, context) for finding in outcome.suppressed]


def _tell_which(result: dict[str, Any], outcome: Report | Undecided) -> None:
    """Distinguish two jobs that share the line of a finding, as one may be repaired while the other is not."""
    result["message"]["text"] += f"\nThe check: {visible(summary.pair(outcome))}"
    prints = result.get("partialFingerprints", {})
    sides = "|".join(_without_revision(name or "") for name in summary.names(outcome))
    for name, digest in prints.items():
        prints[name] = _digest(f"{digest}|{outcome.direction}|{sides}")


def _without_revision(name: str) -> str:
    """``git:REF:path`` without the revision, so that a fingerprint stays the same one commit later."""
    return name.split(":", 2)[-1] if name.startswith("git:") else name


def _run(
    outcomes: Sequence[Report | Undecided],
    index: dict[str, int],
    results: list[dict[str, Any]],
    notifications: list[dict[str, Any]],
) -> dict[str, Any]:
    invocation: dict[str, Any] = {"executionSuccessful": not notifications}
    if notifications:
        invocation |= {"exitCode": 2, "toolExecutionNotifications": notifications}
    checks = [
        {
            "check": visible(summary.pair(outcome)),
            "verdict": summary.verdict_of(outcome),
            "sentence": summary.sentence(outcome),
            "lookedAt": summary.looked_at(outcome.accounts) if isinstance(outcome, Report) else "",
        }
        for outcome in outcomes
    ]
    return {
        "automationDetails": {"id": "compat/"},
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
        "properties": {"summary": visible(summary.together(outcomes)), "checks": checks},
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
    parts = [] if outcome.unchecked else [summary.sentence(outcome)]
    parts += [*failure.message.splitlines(), *(failure.hint or "").splitlines()]
    result: dict[str, Any] = {
        "ruleId": failure.rule,
        "ruleIndex": index[failure.rule],
        "level": "error" if outcome.unchecked is None else "note",
        "message": {"text": "\n".join(visible(part) for part in parts if part)},
        "locations": [_location(failure.source or SourceLine(failure.name, 1), context)],
        "partialFingerprints": {"compat/v1": _digest(f"{failure.rule}|{_without_revision(failure.name)}")},
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
