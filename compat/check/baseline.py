"""Findings that a team knew when it began to check: written to a file once, ignored in later reports."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.check.findings import Finding
from compat.state.safe_open import read_regular

FORMAT = 1
LARGEST = 100_000_000
"""The largest size of a baseline, in bytes."""


class BaselineError(ValueError):
    """A baseline file that cannot be read or written; the message names the file, and what is wrong in it."""


class Known(Struct, frozen=True, kw_only=True):
    """A finding of a baseline. ``text`` is its description for people.

    ``job`` is the program that it is of, from the baseline's folder; empty for any.
    """

    fingerprint: str
    text: str
    job: str = ""


class Baseline(Struct, frozen=True):
    """Known findings. ``path`` is where they were read from."""

    known: tuple[Known, ...] = ()
    path: Path | None = None


def read(path: Path) -> Baseline:
    """The baseline in a file. Raises :class:`BaselineError`."""
    try:
        document = json.loads(read_regular(path, LARGEST).decode("utf-8"))
    except FileNotFoundError as error:
        raise BaselineError(f"{path}: no such baseline; write one with --write-baseline") from error
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror or error}") from error
    except RecursionError as error:
        raise BaselineError(f"{path}: not a baseline: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise BaselineError(f"{path}:{error.lineno}: not a baseline: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise BaselineError(f"{path}: not a baseline: not UTF-8 text") from error
    return Baseline(_known(path, document), path)


def _known(path: Path, document: Any) -> tuple[Known, ...]:
    if not isinstance(document, dict) or "findings" not in document:
        raise BaselineError(f"{path}: not a baseline: an object with 'format' and 'findings' is expected")
    if document.get("format") != FORMAT or isinstance(document["format"], bool):
        raise BaselineError(
            f"{path}: baseline of format {document.get('format')!r}, this version reads {FORMAT}; write it anew with "
            "--write-baseline"
        )
    if not isinstance(document["findings"], list):
        raise BaselineError(f"{path}: not a baseline: 'findings' must be a list")
    known = []
    for number, entry in enumerate(document["findings"], 1):
        fingerprint = entry.get("fingerprint") if isinstance(entry, dict) else None
        if not isinstance(fingerprint, str) or not fingerprint:
            raise BaselineError(f"{path}: not a baseline: finding {number} has no 'fingerprint'")
        text = f"{entry.get('rule', '')} {entry.get('title', '')}".strip() or fingerprint
        known.append(Known(fingerprint=fingerprint, text=text, job=str(entry.get("job") or "")))
    return tuple(known)


def write(path: Path, findings: Iterable[tuple[str, Finding]]) -> int:
    """Writes a baseline of findings, whole or not at all, and returns the number of its entries.

    Each entry names its job's program; empty if the baseline is for one job alone.

    The entries are sorted, so that the file changes only where findings do. Raises :class:`BaselineError`.
    """
    by_job = {(_place(job, path), finding.fingerprint): finding for job, finding in findings}
    entries = [({"job": key[0]} if key[0] else {}) | _entry(by_job[key]) for key in sorted(by_job)]
    text = json.dumps({"format": FORMAT, "findings": entries}, indent=2) + "\n"
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise BaselineError(f"{path}: cannot be written: {error.strerror or error}") from error
    return len(entries)


def _place(job: str, path: Path | None) -> str:
    """The path of a program in a baseline: relative to the baseline's folder, wherever compat is called."""
    return PurePath(os.path.relpath(job, path.parent)).as_posix() if job and path is not None else job


def _entry(finding: Finding) -> dict[str, Any]:
    operator = finding.new or finding.old
    return {
        "fingerprint": finding.fingerprint,
        "rule": finding.rule,
        "level": finding.level.value,
        "operator": None if operator is None else operator.name,
        "uid": None if operator is None else operator.uid,
        "title": finding.title,
    }


def apply(
    findings: Iterable[Finding], baseline: Baseline, job: str
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[str, ...]]:
    """Sorts findings of a job by a baseline: those kept, those suppressed; and a note for each stale entry."""
    place = _place(job, baseline.path)
    known = [one for one in baseline.known if one.job in ("", place)]
    fingerprints = {one.fingerprint for one in known}
    kept: list[Finding] = []
    suppressed: list[Finding] = []
    met: set[str] = set()
    for finding in findings:
        if finding.fingerprint in fingerprints:
            met.add(finding.fingerprint)
            suppressed.append(replace(finding, ignored="in the baseline"))
        else:
            kept.append(finding)
    name = baseline.path or "baseline"
    notes = [
        f"{name}: {one.text} is not found any more; --write-baseline removes it from the baseline"
        for one in known
        if one.fingerprint not in met
    ]
    return tuple(kept), tuple(suppressed), tuple(notes)
