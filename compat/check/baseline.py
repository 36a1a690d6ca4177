"""Findings that a team knew when it began to check: written to a file once, left out of later reports."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from compat.check.findings import Finding
from compat.state.safe_open import read_regular

FORMAT = 1
LARGEST = 100_000_000
"""A baseline has at most so many bytes."""


class BaselineError(ValueError):
    """A baseline file that cannot be read or written; the message names the file, and what is wrong in it."""


class Baseline(Struct, frozen=True):
    """Known findings: fingerprint to what a person calls it. ``path`` is where they were read from."""

    known: Mapping[str, str] = field(default_factory=dict)
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


def _known(path: Path, document: Any) -> dict[str, str]:
    if not isinstance(document, dict) or "findings" not in document:
        raise BaselineError(f"{path}: not a baseline: an object with 'format' and 'findings' is expected")
    if document.get("format") != FORMAT or isinstance(document["format"], bool):
        raise BaselineError(
            f"{path}: baseline of format {document.get('format')!r}, this version reads {FORMAT}; write it anew with "
            "--write-baseline"
        )
    if not isinstance(document["findings"], list):
        raise BaselineError(f"{path}: not a baseline: 'findings' must be a list")
    known = {}
    for number, entry in enumerate(document["findings"], 1):
        fingerprint = entry.get("fingerprint") if isinstance(entry, dict) else None
        if not isinstance(fingerprint, str) or not fingerprint:
            raise BaselineError(f"{path}: not a baseline: finding {number} has no 'fingerprint'")
        known[fingerprint] = f"{entry.get('rule', '')} {entry.get('title', '')}".strip() or fingerprint
    return known


def write(path: Path, findings: Iterable[Finding]) -> int:
    """Writes a baseline of ``findings``, whole or not at all, and returns how many entries it has.

    The entries are sorted, so that the file changes only where findings do. Raises :class:`BaselineError`.
    """
    by_fingerprint = {finding.fingerprint: finding for finding in findings}
    entries = [_entry(by_fingerprint[fingerprint]) for fingerprint in sorted(by_fingerprint)]
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
    findings: Iterable[Finding], baseline: Baseline
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[str, ...]]:
    """Sorts findings by a baseline: those kept, those suppressed; and a note for each stale entry."""
    kept: list[Finding] = []
    suppressed: list[Finding] = []
    met: set[str] = set()
    for finding in findings:
        if finding.fingerprint in baseline.known:
            met.add(finding.fingerprint)
            suppressed.append(replace(finding, ignored="in the baseline"))
        else:
            kept.append(finding)
    name = baseline.path or "baseline"
    notes = [
        f"{name}: {text} is not found any more; --write-baseline removes it from the baseline"
        for fingerprint, text in baseline.known.items()
        if fingerprint not in met
    ]
    return tuple(kept), tuple(suppressed), tuple(notes)
