"""Repairs NEW: shows the difference, writes it, and checks again, until nothing more can be done."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from compat.check.findings import Level, Report
from compat.comparison import Outcomes
from compat.escaping import code_line, visible
from compat.fix import python, topology
from compat.fix.breaking import width_of
from compat.fix.edits import Refusal, collect, has_edit
from compat.fix.rewritten import refused_all

Files = dict[Path, bytes]

_MOST_ROUNDS = 8
_NOTHING = "Nothing to fix: no finding has an edit that is safe to make.\n"
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class Neighbours(Protocol):
    """The other jobs, some of which load the files that a repair edits."""

    def look(self, paths: Sequence[Path]) -> None:
        """Check the jobs that load one of these files, before it is edited."""

    def harmed(self) -> list[str]:
        """Check them again; the names of those that the edits made worse."""

    def undecided(self) -> list[Outcomes]:
        """The outcomes of the jobs for which the effect of the edits is undecided."""


def repair(
    results: list[Outcomes],
    new: str,
    again: Callable[[], list[Outcomes]],
    fails: Callable[[Level], bool],
    show: Callable[[str], None],
    neighbours: Neighbours | None = None,
) -> list[Outcomes]:
    """Write the safe fixes of all findings of levels that ``fails`` names; gives the results of the last check.

    An edit can move the ids of operators behind it, so the check is repeated after each round, with ``again``. Edits
    that do not help are taken back: NEW ends with as few of these findings as possible, or as it was. So are edits that
    harm one of ``neighbours``: other jobs that load an edited file.
    """
    first = results
    best, best_count = results, _count(results, fails)
    originals: Files = {}
    kept: Files = {}
    refused: list[Refusal] = []
    for _ in range(_MOST_ROUNDS):
        changes, refused = _changes(results, new, fails)
        if not changes:
            break
        if neighbours is not None:
            neighbours.look([path for path in changes if path not in originals])
        for path, (before, after) in changes.items():
            originals.setdefault(path, before)
            kept.setdefault(path, before)
            show(_difference(path, before, after))
        _write({path: after for path, (_, after) in changes.items()})
        results = again()
        count = _count(results, fails)
        if count is None:
            break
        if best_count is None or count < best_count:
            best, best_count = results, count
            kept = {path: path.read_bytes() for path in originals}
    if any(path.read_bytes() != text for path, text in kept.items()):
        _write(kept)
        what = "These edits" if kept == originals else "The last edits"
        show(f"{what} did not make it better, and were taken back.\n")
    changed = [path for path, text in originals.items() if path.read_bytes() != text]
    if neighbours is not None and changed:
        if harmed := neighbours.harmed():
            _write(originals)
            show(visible(f"The edits were taken back: they break {', '.join(harmed)}.") + "\n")
            return first
        best = [*best, *neighbours.undecided()]
    for refusal in refused:
        show(visible(f"not fixed: {refusal}") + "\n")
    if not originals and not refused:
        show(_NOTHING)
    return best


def preview(results: Sequence[Outcomes], new: str, fails: Callable[[Level], bool], show: Callable[[str], None]) -> None:
    """Show the edits that :func:`repair` begins with, and write nothing. Further edits that they lead to show only once
    they are made.
    """
    changes, refused = _changes(results, new, fails)
    for path, (before, after) in changes.items():
        show(_difference(path, before, after))
    for refusal in refused:
        show(visible(f"not fixed: {refusal}") + "\n")
    show("Nothing was written: to write, leave out --diff.\n\n" if changes else _NOTHING)


def _count(results: Sequence[Outcomes], fails: Callable[[Level], bool]) -> tuple[int, int] | None:
    """How many findings make the check fail, and how many of them have an edit; None if a program does not become a job.

    Of equal counts, the one with fewer edits is better: an edit can reveal findings that were hidden by the repaired one.
    """
    outcomes = [outcome for result in results for outcome in result.outcomes]
    reports = [outcome for outcome in outcomes if isinstance(outcome, Report) and outcome.new.operators]
    if len(reports) < len(outcomes):
        return None
    failing = [finding for report in reports for finding in report.findings if fails(finding.level)]
    return len(failing), sum(map(has_edit, failing))


def _changes(
    results: Sequence[Outcomes], new: str, fails: Callable[[Level], bool]
) -> tuple[dict[Path, tuple[bytes, bytes]], list[Refusal]]:
    """The changes to write: each file's bytes before and after; and the fixes that cannot be written."""
    reports = list(_forward(results))
    edits = collect(
        (job, report, [finding for finding in report.findings if fails(finding.level)]) for job, report in reports
    )
    changes: dict[Path, tuple[bytes, bytes]] = {}
    refused = list(edits.refused)
    shared = _files_of_old(report for _, report in reports)
    for file in {**edits.files, **({new: {}} if edits.environment else {})}:
        calls, environment = edits.files.get(file, {}), edits.environment if file == new else {}
        path = Path(os.path.realpath(file))
        reason = _untouchable(file, path, new, shared)
        if reason is not None:
            refused += refused_all([*calls.values(), environment], reason)
            continue
        before = path.read_bytes()
        if file.endswith(".json"):
            rewritten = topology.rewrite(before, calls, environment)
        else:
            rewritten = python.rewrite(before, calls, environment, width_of(path))
        refused += rewritten.refused
        if rewritten.source != before:
            changes[path] = (before, rewritten.source)
    return changes, refused


def _forward(results: Sequence[Outcomes]) -> Iterator[tuple[int, Report]]:
    """The reports on NEW restoring old state, with the numbers of NEW's jobs. A rollback would change OLD."""
    for result in results:
        for job, outcome in enumerate(result.outcomes):
            if isinstance(outcome, Report) and outcome.direction == "forward":
                yield job, outcome


def _files_of_old(reports: Iterator[Report]) -> frozenset[str]:
    """The files of OLD programs that are read from the working tree: an edit for NEW would change OLD too."""
    return frozenset(
        operator.source.file
        for report in reports
        if report.old.name.endswith(".py") and not report.old.name.startswith("git:")
        for operator in report.old.operators
        if operator.source is not None
    )


def _untouchable(file: str, path: Path, new: str, shared: frozenset[str]) -> str | None:
    """Why a file must not be written, or None."""
    if file in shared:
        return f"{file} is part of OLD too"
    if not path.is_file():
        return f"{file} is not a file of the working tree"
    folders = (Path.cwd(), Path(os.path.realpath(new)).parent)
    if _INSTALLED & set(path.parts) or not any(path.is_relative_to(os.path.realpath(folder)) for folder in folders):
        return f"{file} is not part of NEW's own tree"
    return None if os.access(path, os.W_OK) else f"{file} is not writable"


def _write(files: Mapping[Path, bytes]) -> None:
    """Replace files, each atomically, keeping their modes."""
    for path, content in files.items():
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(content)
            shutil.copymode(path, temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _difference(path: Path, before: bytes, after: bytes) -> str:
    """A unified diff."""
    name = os.path.relpath(path)
    was, now = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    lines = difflib.unified_diff(was, now, fromfile=name, tofile=name, n=2, lineterm="")
    return "".join(code_line(line) + "\n" for line in lines)
