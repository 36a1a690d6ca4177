"""The report as data, for programs. Its schema is ``compat schema report``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import compat
from compat.check.findings import (
    Account,
    Assumption,
    Change,
    Difference,
    Finding,
    Fix,
    MappingRow,
    Passage,
    RehearsedOperator,
    Report,
)
from compat.check.undecided import Undecided
from compat.loader.failure import Failure
from compat.plan.facts import Program
from compat.report import summary
from compat.report.context import OfferedRecipe, ReportContext
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine
from compat.state.model.states import State

FORMAT = 1
"""Incremented when a field changes its meaning or is removed; new fields do not count."""


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """One object for one outcome; for several, an object whose ``reports`` lists them."""
    recipes = context.recipes or [None] * len(outcomes)
    documents = [as_dict(outcome, recipe) for outcome, recipe in zip(outcomes, recipes, strict=True)]
    document = documents[0] if len(documents) == 1 else {"format": FORMAT, "tool": _tool(), "reports": documents}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def as_dict(outcome: Report | Undecided, recipe: OfferedRecipe | None = None) -> dict[str, Any]:
    """The report as plain values, keys always in the same order; with the recipe that moves its state, if any."""
    if isinstance(outcome, Undecided):
        return _document(
            outcome,
            direction=outcome.direction,
            old=_unread(outcome.old),
            new=_unread(outcome.new),
            failures=[_failure(failure) for failure in outcome.failures],
        )
    explained: dict[str, Any] = {}
    if outcome.difference is not None:
        explained = {
            "story": [_passage(passage) for passage in outcome.story],
            "difference": _difference(outcome.difference),
        }
    if outcome.rehearsal is not None:
        explained["rehearsal"] = [_rehearsed(operator) for operator in outcome.rehearsal]
    if recipe is not None:
        explained["recipe"] = {"text": recipe.text, "run": recipe.run}
    return _document(
        outcome,
        direction=outcome.direction,
        allow_non_restored_state=outcome.allow_non_restored,
        old=_program(outcome.old),
        new=_program(outcome.new),
        counts={**summary.counts(outcome.findings), "suppressed": len(outcome.suppressed)},
        findings=[_finding(finding) for finding in summary.ordered(outcome.findings)],
        suppressed=[_finding(finding) for finding in outcome.suppressed],
        mapping=[_row(row) for row in outcome.mapping],
        accounts=[_account(account) for account in outcome.accounts],
        looked_at=summary.looked_at(outcome.accounts),
        assumptions=[_assumption(assumption) for assumption in outcome.assumptions],
        notes=list(outcome.notes),
        **explained,
    )


def _document(outcome: Report | Undecided, **fields: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "format": FORMAT,
        "tool": _tool(),
        "verdict": summary.verdict_of(outcome),
        "sentence": summary.sentence(outcome),
        "unchecked": outcome.unchecked if isinstance(outcome, Undecided) else None,
        "direction": "forward",
        "allow_non_restored_state": False,
        "old": None,
        "new": None,
        "counts": {**summary.counts(()), "suppressed": 0},
        "failures": [],
        "findings": [],
        "suppressed": [],
        "mapping": [],
        "accounts": [],
        "looked_at": "",
        "assumptions": [],
        "notes": [],
    }
    return document | fields


def _tool() -> dict[str, Any]:
    return {"name": "compat", "version": compat.__version__}


def _program(program: Program) -> dict[str, Any]:
    return {
        "name": program.name,
        "kind": program.kind,
        "job_name": program.job_name,
        "flink": program.flink,
        "operators": len(program.operators),
        "vertices": len(program.vertices),
        "source": _line(program.source),
        "all_have_state": program.all_have_state,
        "settings": plain(program.settings),
    }


def _unread(name: str | None) -> dict[str, Any] | None:
    if name is None:
        return None
    rest = ("kind", "job_name", "flink", "operators", "vertices", "source", "all_have_state", "settings")
    return {"name": name, **dict.fromkeys(rest)}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": summary.rule_name(finding.rule),
        "level": finding.level.value,
        "title": finding.title,
        "consequence": finding.consequence,
        "reason": finding.reason,
        "silent": finding.silent,
        "state": finding.state,
        "old": _operator(finding.old),
        "new": _operator(finding.new),
        "old_line": _line(summary.old_place(finding)),
        "new_line": _line(summary.new_place(finding)),
        "related": [{"text": text, "line": _line(line)} for text, line in finding.related],
        "fixes": [_fix(fix) for fix in finding.fixes],
        "fingerprint": finding.fingerprint,
        "ignored": finding.ignored,
        "cause": finding.cause,
    }


def _operator(operator: Operator | None) -> dict[str, Any] | None:
    if operator is None:
        return None
    return {
        "operator_id": operator.id,
        "user_hash": operator.user_hash,
        "uid": operator.uid,
        "name": operator.name,
        "kind": operator.kind,
        "parallelism": operator.parallelism,
        "parallelism_configured": operator.parallelism_configured,
        "max_parallelism": operator.max_parallelism,
        "max_parallelism_configured": operator.max_parallelism_configured,
        "vertex": operator.vertex,
        "node": operator.node,
        "position": operator.position,
        "chained_outputs": operator.chained_outputs,
        "inputs": list(operator.inputs),
        "source": _line(operator.source),
        "has_state": operator.has_state,
        "states": None if operator.states is None else [_state(state) for state in operator.states],
        "states_unknown": operator.states_unknown,
        "merged_uids": [{"uid": uid, "source": _line(line)} for uid, line in operator.merged_uids],
        "detail": plain(operator.detail),
    }


def _state(state: State) -> dict[str, Any]:
    return {
        "name": state.name,
        "kind": state.kind.value,
        "scope": state.scope.value,
        "type": state.type,
        "key_type": state.key_type,
        "namespace_type": state.namespace_type,
        "ttl": state.ttl,
        "built_in": state.built_in,
        "unstable": state.unstable,
        "keys": state.keys,
        "bytes": state.bytes,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {"text": fix.text, "call": fix.call, "at": _line(fix.at), "operator_id": fix.operator_id, "code": fix.code}


def _row(row: MappingRow) -> dict[str, Any]:
    return {
        "old": _operator(row.old),
        "new": _operator(row.new),
        "fate": row.fate.name.lower().replace("_", "-"),
        "by": row.by,
        "note": row.note,
        "successor": _operator(row.successor),
    }


def _account(account: Account) -> dict[str, Any]:
    evidence = account.evidence
    return {
        "old": account.old.id,
        "state": None if account.state is None else account.state.name,
        "scope": None if account.state is None else account.state.scope.value,
        "known": None if account.state is None or account.state.known is None else account.state.known.value,
        "new": None if account.new is None else account.new.id,
        "fate": account.fate.name.lower().replace("_", "-"),
        "compared": [] if evidence is None else list(evidence.compared),
        "witness": None if evidence is None else evidence.witness.name.lower(),
        "rule": account.rule or None,
        "gap": account.gap or None,
    }


def _assumption(assumption: Assumption) -> dict[str, Any]:
    return {
        "name": assumption.name,
        "value": assumption.value,
        "tried": list(assumption.tried),
        "differs": assumption.differs,
        "settle": assumption.settle,
        "sentence": summary.assumed(assumption),
    }


def _rehearsed(found: RehearsedOperator) -> dict[str, Any]:
    return {
        "operator": _operator(found.operator),
        "key_groups": found.key_groups,
        "key_groups_read": found.key_groups_read,
        "bytes": found.bytes,
        "bytes_read": found.bytes_read,
        "notes": list(found.notes),
        "states": [
            {
                "scope": state.scope,
                "name": state.name,
                "backend": state.backend,
                "read": state.read,
                "migrated": state.migrated,
                "fails_at": state.at,
                "key_group": state.key_group,
                "key": state.key,
                "reason": state.reason,
            }
            for state in found.states
        ],
    }


def _passage(passage: Passage) -> dict[str, Any]:
    return {
        "old": passage.old.id,
        "new": None if passage.new is None else passage.new.id,
        "fate": passage.fate.name.lower().replace("_", "-"),
        "sentences": list(passage.sentences),
        "way": list(passage.way),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "settings": [_change(change) for change in difference.settings],
        "operators": [
            {"old": item.old.id, "new": item.new.id, "changes": [_change(change) for change in item.changes]}
            for item in difference.operators
        ],
        "removed": [operator.id for operator in difference.removed],
        "added": [operator.id for operator in difference.added],
    }


def _change(change: Change) -> dict[str, Any]:
    return {"change": change.kind, "path": list(change.path), "was": plain(change.was), "now": plain(change.now)}


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "rule": failure.rule,
        "name": summary.rule_name(failure.rule),
        "side": None if failure.side is None else failure.side.value,
        "program": failure.name,
        "message": failure.message,
        "source": _line(failure.source),
        "traceback": failure.traceback,
        "hint": failure.hint,
    }


def _line(line: SourceLine | None) -> dict[str, Any] | None:
    return None if line is None else {"file": line.file, "line": line.line or None}


def plain(value: Any) -> Any:
    """``value`` in JSON's types: keys as text, sorted; sets sorted; anything else as its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in value]
    return str(value)
