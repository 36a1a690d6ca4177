"""A page for a browser: graphs side by side, findings, tables, in one self-contained file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compat.check.findings import Report
from compat.check.undecided import Undecided
from compat.escaping import visible
from compat.loader.failure import Failure, Undecidable
from compat.plan.facts import facts_of
from compat.report import summary
from compat.report.context import ReportContext
from compat.state.model.job import Plan, Refused
from compat.view.page import render_page
from compat.view.page_values import check_section, plan_section


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """All outcomes in one file, the first one shown first."""
    plans = context.plans or [(None, None)] * len(outcomes)
    recipes = context.recipes or [None] * len(outcomes)
    each = zip(outcomes, plans, recipes, strict=True)
    sections = [check_section(outcome, context, pair, recipe) for outcome, pair, recipe in each]
    title = summary.together(outcomes) if len(outcomes) != 1 else visible(summary.sentence(outcomes[0]))
    return render_page(title, sections)


def render_plans(plans: Sequence[Plan | Refused | Failure], name: str, context: ReportContext | None = None) -> str:
    """The plans of one program, or why there are none, in one file. ``name`` is the user's name for the program."""
    context = context or ReportContext()
    sections = [_plan(plan, name, context) for plan in plans]
    return render_page(visible(f"Plan of {name}"), sections)


def _plan(plan: Plan | Refused | Failure, name: str, context: ReportContext) -> dict[str, Any]:
    if isinstance(plan, Failure):
        return check_section(Undecided(failures=(plan,)), context)
    if isinstance(plan, Refused):
        failure = Failure(rule=Undecidable.PROGRAM_FAILED, message=plan.error.told, name=name, source=plan.error.source)
        return check_section(Undecided(failures=(failure,)), context)
    return plan_section(facts_of(plan, name=name, kind="program"), plan, context)
