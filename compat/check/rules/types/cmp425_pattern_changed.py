"""Patterns of CEP that are other ones."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.model.behaviour import Pattern, Stage

_FINAL = "Final"


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("pattern"), pair.new.detail.get("pattern")
        if before is None or after is None or before == after:
            continue
        names = {stage.name for stage in after.stages}
        gone = [stage for stage in before.stages if stage.name not in names and stage.kind != _FINAL]
        if gone:
            yield check.finding(
                RULE,
                f"the pattern of {pair.new.label} has no stage {_listed(gone)} any more",
                consequence=_consequence(before, gone),
                reason="A partial match is kept with the name of the stage that it waits in.",
                old=pair.old,
                new=pair.new,
                fixes=(
                    Fix(
                        text="Keep the names of the stages, or give the operator another uid, so that it starts empty."
                    ),
                ),
            )
            continue
        changed = list(_differences(before, after))
        if changed:
            yield check.finding(
                RULE,
                f"the pattern of {pair.new.label} is another one: {', '.join(changed)}",
                level=Level.WARNING,
                consequence="Flink restores this without an error; partial matches that began under the old pattern go on "
                "under the new one.",
                reason="A partial match is kept with the name of the stage that it waits in, and nothing of its rules.",
                old=pair.old,
                new=pair.new,
                fixes=(
                    Fix(
                        text="Nothing, if matches that are under way may differ. Otherwise give the operator another uid."
                    ),
                ),
                silent=True,
            )


def _consequence(before: Pattern, gone: list[Stage]) -> str:
    failing = "the task fails: the stage does not exist in the pattern."
    if any(stage.name == _first(before) for stage in gone):
        return f"At the first event of a key that OLD knew, {failing}"
    return f"At the first event of a key with a match that waits in such a stage, {failing}"


def _first(pattern: Pattern) -> str | None:
    return next((stage.name for stage in pattern.stages if stage.kind == "Start"), None)


def _differences(before: Pattern, after: Pattern) -> Iterator[str]:
    stages = {stage.name: stage for stage in before.stages}
    for stage in after.stages:
        was = stages.get(stage.name)
        if was is None:
            yield f"stage {stage.name!r} is new"
        elif was.kind != stage.kind and _FINAL not in (was.kind, stage.kind):
            yield f"stage {stage.name!r} was {was.kind} and is {stage.kind}"
        elif was.ways != stage.ways:
            yield f"conditions or ways out of stage {stage.name!r}"
    for option in sorted(before.options.keys() & after.options.keys()):
        if before.options[option] != after.options[option]:
            yield f"{option} was {before.options[option]} and is {after.options[option]}"


def _listed(stages: list[Stage]) -> str:
    return " and ".join(repr(stage.name) for stage in stages)


RULE = Rule(
    id="CMP425",
    name="pattern-changed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if all stages are still there, but the conditions between them changed",
    fate=Fate.REFUSED,
    summary="A pattern of CEP lost a stage, or changed its conditions.",
    why="Partial matches are kept under the names of the pattern's stages. If a name is gone, the task fails at the first "
    "event of a key; if conditions changed, matches that are under way go on under the new ones.",
    old='Pattern.begin("first").followedBy("second")',
    new='Pattern.begin("start").followedBy("second")',
    fix="Keep the names of the stages, or give the operator another uid.",
    find=_find,
)
