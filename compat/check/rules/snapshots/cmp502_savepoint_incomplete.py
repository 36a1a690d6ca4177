"""State files that the metadata names and that are not there; those of operators that NEW does not take do not count."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.plan.facts import StateFile

_SHOWN = 5


def _find(check: Check) -> Iterator[Finding]:
    snapshot = check.old.snapshot
    if snapshot is None:
        return
    taken = {pair.old.id: pair for pair in check.mapping.pairs}
    files = [file for file in snapshot.files if any(id in taken for id in file.operators)]
    missing = [file for file in files if file.missing]
    if missing:
        pair = next(taken[id] for id in missing[0].operators if id in taken)
        one = len(missing) == 1
        yield check.finding(
            RULE,
            f"{len(missing)} state {'file is' if one else 'files are'} missing: {_names(missing)}",
            consequence="The tasks fail when they start: they cannot open the state.",
            reason=f"{snapshot.path} names {'it' if one else 'them'}; looked for beside it, and for a checkpoint in shared/ "
            "and taskowned/ above it.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Copy the whole folder, with shared/ and taskowned/ of a checkpoint. A savepoint can "
                    "be moved; a checkpoint in general cannot.",
                    code=shlex.join(
                        ["cp", f"ORIGINAL/{os.path.basename(missing[0].name)}", os.path.dirname(snapshot.path)]
                    ),
                ),
            ),
        )
    remote = [file for file in files if file.status == "remote"]
    if remote:
        yield check.finding(
            RULE,
            f"{len(remote)} state files are on other storage and were not looked at: {_names(remote)}",
            level=Level.NOTE,
            consequence="The start of the tasks shows whether they exist.",
            reason="Files that a savepoint names are never downloaded; only the given folder is read.",
            fixes=(Fix(text="Nothing, if that storage is complete; to check it, give the savepoint's folder there."),),
        )


def _names(files: list[StateFile]) -> str:
    shown = ", ".join(f"{file.name} ({file.status})" if file.missing else file.name for file in files[:_SHOWN])
    return shown + (f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else "")


RULE = Rule(
    id="CMP502",
    name="savepoint-incomplete",
    level=Level.ERROR,
    other_levels=(Level.NOTE,),
    when="note for files on other storage, which the check does not look for",
    fate=Fate.REFUSED,
    summary="State files that the savepoint names are missing.",
    why="The file _metadata lists the state files. Flink opens them when the tasks start, and fails then.",
    old="savepoint-6b54af-2f1c/_metadata\nsavepoint-6b54af-2f1c/069d8083-…",
    new="savepoint-6b54af-2f1c/_metadata",
    fix="Copy the whole folder. A checkpoint may have files in shared/ and taskowned/ beside it: to move state "
    "elsewhere, take a savepoint.",
    find=_find,
)
