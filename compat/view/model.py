"""Reports and plans as the plain values that the page shows: everything in them can be written as JSON.

A page is made from the JSON of a report (:mod:`compat.report.json_report`) and the two programs, whether the check was made
a moment ago or is kept by a service. Names, paths and texts of users are passed through
:func:`~compat.escaping.visible` here, once, so that no template or script has to think of control characters; markup
is escaped where it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compat.check.findings import Fate, Report
from compat.check.undecided import Undecided
from compat.escaping import code_line, no_command, visible
from compat.plan.facts import Program, SourceLine
from compat.plan.model import Plan, Refused
from compat.report import following, summary
from compat.report.context import ReportContext
from compat.report.json_report import as_dict
from compat.view.layers import Side, joint_layers
from compat.view.sides import Json, side_values, source_values

Places = Mapping[str, int]
"""The index of each operator of a program, by id."""

VERDICT_WORDS = {
    "compatible": "Compatible",
    "compatible-with-migration": "Compatible with migration",
    "incompatible": "Incompatible",
    "unknown": "Not known",
}
LEVEL_WORDS = {"unknown": "open question", "migrate": "migration"}
FATE_WORDS = {fate.name.lower().replace("_", "-"): summary.FATE_WORDS[fate] for fate in Fate}


def check_section(
    outcome: Report | Undecided,
    context: ReportContext,
    plans: tuple[Plan | Refused | None, Plan | Refused | None] = (None, None),
) -> Json:
    """One check as the page shows it. Without the plans, graphs are drawn from what the programs' facts tell."""
    document = as_dict(outcome)
    if isinstance(outcome, Undecided):
        return failure_section(document, following.next_step_undecided(outcome, context))
    old, new = (plan if isinstance(plan, Plan) else None for plan in plans)
    sides = Side(outcome.old, old), Side(outcome.new, new)
    return document_section(document, *sides, context, following.next_step(outcome, context))


def document_section(document: Json, old: Side, new: Side, context: ReportContext, next_step: str) -> Json:
    """One check as the page shows it, from the JSON of its report and the two programs."""
    places = tuple({op.id: index for index, op in enumerate(side.program.operators)} for side in (old, new))
    return {
        **_section("check", document["verdict"], VERDICT_WORDS[document["verdict"]]),
        "title": visible(f"{old.program.name} → {new.program.name}"),
        "sentence": _sentence(document),
        "tally": _tally(document["counts"]),
        "next": _next(next_step),
        "notes": [visible(note) for note in document["notes"]],
        "sides": {"old": side_values(old, context), "new": side_values(new, context)},
        "layers": joint_layers(old, new),
        "findings": [_finding(finding, context, places) for finding in document["findings"]],
        "suppressed": [
            {"rule": finding["rule"], "title": visible(finding["title"]), "reason": visible(finding["ignored"] or "")}
            for finding in document["suppressed"]
        ],
        "mapping": [_row(row, places) for row in document["mapping"]],
    }


def plan_section(program: Program, plan: Plan | None, context: ReportContext) -> Json:
    """One program as the page shows it: the same layers, one side."""
    side = Side(program, plan)
    values = side_values(side, context)
    return {
        **_section("plan", None, "Plan"),
        "title": visible(program.name),
        "sentence": visible(f"{program.job_name}: {values['summary']}, for Flink {program.flink}"),
        "sides": {"old": None, "new": values},
        "layers": joint_layers(None, side),
    }


def failure_section(document: Json, next_step: str) -> Json:
    """A check that could not be made, from the JSON of its report."""
    names = " → ".join(document[side]["name"] for side in ("old", "new") if document[side])
    failures = document["failures"]
    return {
        **_section("failure", "failed", "Not decided"),
        "title": visible(names or failures[0]["program"]),
        "sentence": _sentence(document),
        "next": _next(next_step),
        "failures": [
            {
                "rule": failure["rule"],
                "name": failure["name"],
                "program": visible(failure["program"]),
                "side": failure["side"],
                "message": [visible(line) for line in failure["message"].splitlines()],
                "place": _place(failure["source"]),
                "traceback": [no_command(code_line(line)) for line in (failure["traceback"] or "").splitlines()],
                "hint": visible(failure["hint"] or ""),
            }
            for failure in failures
        ],
    }


def _section(kind: str, verdict: str | None, words: str) -> Json:
    """The fields that all sections share."""
    lists = ("notes", "findings", "suppressed", "mapping", "failures")
    return {
        "kind": kind,
        "verdict": verdict,
        "verdict_words": words,
        "tally": "",
        "next": "",
        "sides": {"old": None, "new": None},
        "layers": {},
        **{name: [] for name in lists},
    }


def _sentence(document: Json) -> str:
    """The sentence without the verdict before it, which has a sign of its own."""
    return visible(document["sentence"].partition(": ")[2])


def _tally(counts: Mapping[str, int]) -> str:
    parts = [
        f"{count} {noun}" if count == 1 or level == "suppressed" else f"{count} {noun}s"
        for level, count in counts.items()
        if count and (noun := LEVEL_WORDS.get(level, level))
    ]
    return ", ".join(parts) or "no findings"


def _next(text: str) -> str:
    return visible(text.removeprefix("Next: "))


def _row(row: Json, places: Sequence[Places]) -> Json:
    return {
        "old": _index(row["old"], places[0]),
        "new": _index(row["new"], places[1]),
        "fate": row["fate"],
        "words": FATE_WORDS[row["fate"]],
        "by": visible(row["by"]),
        "note": visible(row["note"]),
    }


def _finding(finding: Json, context: ReportContext, places: Sequence[Places]) -> Json:
    return {
        "rule": finding["rule"],
        "name": finding["name"],
        "level": finding["level"],
        "level_words": LEVEL_WORDS.get(finding["level"], finding["level"]),
        "title": visible(finding["title"]),
        "consequence": visible(finding["consequence"]),
        "reason": [visible(line) for line in finding["reason"].splitlines()],
        "silent": finding["silent"],
        "state": None if finding["state"] is None else visible(finding["state"]),
        "old": _index(finding["old"], places[0]),
        "new": _index(finding["new"], places[1]),
        "old_source": source_values(_line(finding["old_line"]), context),
        "new_source": source_values(_line(finding["new_line"]), context),
        "related": [{"text": visible(item["text"]), "place": _place(item["line"])} for item in finding["related"]],
        "fixes": [_fix(fix, context) for fix in finding["fixes"]],
    }


def _fix(fix: Json, context: ReportContext) -> Json:
    code = fix["call"] or fix.get("code")
    return {
        "text": visible(fix["text"]),
        "call": None if code is None else visible(code),
        "source": source_values(_line(fix["at"]), context, fix["call"]),
    }


def _index(operator: Json | None, places: Places) -> int | None:
    return None if operator is None else places.get(operator["operator_id"])


def _line(line: Json | None) -> SourceLine | None:
    return None if line is None else SourceLine(line["file"], line["line"])


def _place(line: Json | None) -> str | None:
    return None if line is None else visible(str(_line(line)))
