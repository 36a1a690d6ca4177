"""Reports and plans as the plain values that the page shows: everything in them can be written as JSON.

A page is made from the JSON of a report (:mod:`compat.report.json_report`) and the two programs, whether the check was just
made or comes from a service. Names, paths and texts of users pass through :func:`~compat.escaping.visible` here, once, so
templates and scripts need not handle control characters; they escape markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from compat.check.findings import Fate, Report, Witness
from compat.check.undecided import Undecided
from compat.escaping import code_line, no_command, visible
from compat.plan.facts import Program
from compat.report import following, summary
from compat.report.context import OfferedRecipe, ReportContext
from compat.report.json_report import as_dict
from compat.state.model.job import Plan, Refused
from compat.state.model.source_line import SourceLine
from compat.view.changes import changed_boxes
from compat.view.layers import Side, joint_layers
from compat.view.names import shortened
from compat.view.order import ranks, rows_in_order
from compat.view.sides import Json, side_values
from compat.view.sources import Sources

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
    recipe: OfferedRecipe | None = None,
) -> Json:
    """One check for the page. Without the plans, graphs are drawn from the programs' facts."""
    document = as_dict(outcome, recipe)
    if isinstance(outcome, Undecided):
        return failure_section(document, "" if outcome.unchecked else following.next_step_undecided(outcome, context))
    old, new = (plan if isinstance(plan, Plan) else None for plan in plans)
    sides = Side(outcome.old, old), Side(outcome.new, new)
    return document_section(document, *sides, context, following.next_step(outcome, context))


def document_section(document: Json, old: Side, new: Side, context: ReportContext, next_step: str) -> Json:
    """One check for the page, from the JSON of its report and the two programs."""
    places = tuple({op.id: index for index, op in enumerate(side.program.operators)} for side in (old, new))
    groups = _by_cause(document)
    layers = joint_layers(old, new)
    sources = Sources(old, context), Sources(new, context)
    return {
        **_section("check", document["verdict"], VERDICT_WORDS[document["verdict"]]),
        "title": visible(f"{old.program.name} → {new.program.name}"),
        **_sentence(document),
        "tally": _tally(groups, document["counts"]["suppressed"]),
        "next": _next(next_step),
        "notes": [visible(note) for note in document["notes"]],
        "sides": {
            "old": side_values(old, sources[0], ranks(document, "old")),
            "new": side_values(new, sources[1], ranks(document, "new")),
        },
        "layers": layers,
        "changed": changed_boxes(document, layers["stream"], old, new),
        "findings": [_finding(group, sources, places) for group in groups],
        "suppressed": [
            {"rule": finding["rule"], "title": visible(finding["title"]), "reason": visible(finding["ignored"] or "")}
            for finding in document["suppressed"]
        ],
        "mapping": [_row(row, places) for row in rows_in_order(document["mapping"])],
        "accounts": [_account(account, places) for account in rows_in_order(document.get("accounts", ()))],
        "looked_at": visible(document.get("looked_at", "")),
        "assumptions": [visible(one["sentence"]) for one in document.get("assumptions", ())],
        "recipe": _recipe(document.get("recipe")),
    }


def plan_section(program: Program, plan: Plan | None, context: ReportContext) -> Json:
    """One program for the page: the same layers, one side."""
    side = Side(program, plan)
    values = side_values(side, Sources(side, context))
    return {
        **_section("plan", None, "Plan"),
        "title": visible(program.name),
        **dict.fromkeys(
            ("sentence", "told"), visible(f"{program.job_name}: {values['summary']}, for Flink {program.flink}")
        ),
        "sides": {"old": None, "new": values},
        "layers": joint_layers(None, side),
    }


def failure_section(document: Json, next_step: str) -> Json:
    """A check that could not be made, from the JSON of its report."""
    names = " → ".join(document[side]["name"] for side in ("old", "new") if document[side])
    failures = document["failures"]
    passed_over = document.get("unchecked") is not None
    return {
        **_section("failure", *(("unchecked", "Not checked") if passed_over else ("failed", "Not decided"))),
        "title": visible(names or failures[0]["program"]),
        **_sentence(document),
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
    lists = ("notes", "findings", "suppressed", "mapping", "accounts", "assumptions", "failures", "changed")
    return {
        "kind": kind,
        "verdict": verdict,
        "verdict_words": words,
        "tally": "",
        "next": "",
        "looked_at": "",
        "recipe": None,
        "sides": {"old": None, "new": None},
        "layers": {},
        **{name: [] for name in lists},
    }


def _sentence(document: Json) -> Json:
    """The sentence without the verdict before it, which has a sign of its own: with short names, and as it was told."""
    text = document["sentence"].partition(": ")[2]
    short = text
    for name in sorted({document[side]["name"] for side in ("old", "new") if document[side]}, key=len, reverse=True):
        short = short.replace(name, shortened(name))
    return {"sentence": visible(short), "told": visible(text)}


def _by_cause(document: Json) -> list[list[Json]]:
    """The findings as a person reads them: those of one cause together, unless an explanation was asked for."""

    def cause(finding: Json) -> tuple[object, ...] | None:
        return None if document.get("story") else (finding["rule"], finding["level"], finding.get("cause"))

    return summary.of_one_cause(document["findings"], cause)


def _tally(groups: Sequence[Sequence[Json]], suppressed: int) -> str:
    counts = Counter(str(group[0]["level"]) for group in groups) + Counter(suppressed=suppressed)
    parts = [
        f"{count} {noun}" if count == 1 or level == "suppressed" else f"{count} {noun}s"
        for level, count in counts.items()
        if (noun := LEVEL_WORDS.get(level, level))
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


def _account(account: Json, places: Sequence[Places]) -> Json:
    """An account of the ledger; reports that were kept before there was one have none."""
    witness = account["witness"]
    proof = summary.proof(account["compared"], Witness[witness.upper()]) if witness else ""
    name = account["state"]
    return {
        "state": visible(summary.BESIDES if name is None else name),
        "named": name is not None,
        "old": places[0].get(account["old"]),
        "new": places[1].get(account["new"]),
        "fate": account["fate"],
        "words": FATE_WORDS[account["fate"]],
        "evidence": visible(proof or account["rule"] or account["gap"] or ""),
    }


def _finding(group: Sequence[Json], sources: Sequence[Sources], places: Sequence[Places]) -> Json:
    """Findings of one cause as one: the first, with the operators of all, their places and their edits."""
    finding, *others = group
    title = summary.group_title(len(group), finding["cause"]) if others else finding["title"]
    every = _all(group, "fixes")
    fixes = [fix for number, fix in enumerate(every) if fix not in every[:number]]
    return {
        "rule": finding["rule"],
        "name": finding["name"],
        "level": finding["level"],
        "level_words": LEVEL_WORDS.get(finding["level"], finding["level"]),
        "title": visible(title),
        "consequence": visible(finding["consequence"]),
        "reason": [visible(line) for line in finding["reason"].splitlines()],
        "silent": finding["silent"],
        "state": None if finding["state"] is None else visible(finding["state"]),
        "old": _index(finding["old"], places[0]),
        "new": _index(finding["new"], places[1]),
        "concerned": {"old": _indices(group, "old", places[0]), "new": _indices(group, "new", places[1])},
        "old_source": sources[0].at(_line(finding["old_line"])),
        "new_source": sources[1].at(_line(finding["new_line"])),
        "related": [
            {"text": visible(item["text"]), "place": _place(item["line"])}
            for item in (*_all(group[:1], "related"), *map(_whom, others))
        ],
        "fixes": [_fix(fix, sources[1]) for fix in fixes],
    }


def _all(group: Sequence[Json], field: str) -> list[Json]:
    return [item for finding in group for item in finding[field]]


def _whom(finding: Json) -> Json:
    return {"text": finding["title"], "line": finding["new_line"] or finding["old_line"]}


def _indices(group: Sequence[Json], side: str, places: Places) -> list[int]:
    found = (_index(finding[side], places) for finding in group)
    return list(dict.fromkeys(index for index in found if index is not None))


def _fix(fix: Json, sources: Sources) -> Json:
    code = fix["call"] or fix.get("code")
    return {
        "text": visible(fix["text"]),
        "call": None if code is None else visible(code),
        "source": sources.at(_line(fix["at"]), fix["call"]),
    }


def _recipe(told: Json | None) -> Json | None:
    """The recipe as it is shown, and as a file that is in its own address: nothing is asked of a server for it."""
    if told is None:
        return None
    return {
        "lines": [code_line(line) for line in told["text"].splitlines()],
        "run": visible(told["run"]),
        "address": f"data:application/yaml;charset=utf-8,{quote(told['text'])}",
    }


def _index(operator: Json | None, places: Places) -> int | None:
    return None if operator is None else places.get(operator["operator_id"])


def _line(line: Json | None) -> SourceLine | None:
    return None if line is None else SourceLine(line["file"], line["line"])


def _place(line: Json | None) -> str | None:
    return None if line is None else visible(str(_line(line)))
