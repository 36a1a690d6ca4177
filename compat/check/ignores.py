"""Findings that the user ignores: by a comment in the program, or in the settings.

A comment stands on the operator's line::

    keyed.process(Count())  # compat: ignore[CMP402] the counts may start again

In NEW it covers findings about that line. In OLD it covers only findings without a line in NEW, about a removed
operator: otherwise a comment for the last edit would hide the next one.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from compat.check.catalogue import RULES
from compat.check.findings import Finding, Fix
from compat.check.rules.running import cmp904_unused_ignore as cmp904
from compat.check.rules.running import cmp905_invalid_ignore as cmp905
from compat.state.model.source_line import SourceLine

_COMMENT = re.compile(r"#\s*compat:\s*ignore(?P<brackets>\[(?P<ids>[^\]]*)\])?(?P<rest>.*)")
_LIKELY = re.compile(r"compat:\s*ignore")

NO_REASON = "ignored in the source, no reason given"


class Ignore(Struct, frozen=True):
    """An ignore comment: its place, its rules, and its reason. Without rules it is not valid."""

    place: SourceLine
    rules: tuple[str, ...]
    reason: str


class IgnoredRule(Struct, frozen=True):
    """A rule ignored by the settings: everywhere, or for the operators with one uid."""

    rule: str
    uid: str | None = None
    reason: str = ""


def comments(file: str, text: str) -> list[Ignore]:
    """The ignore comments of a Python program; none if it is no Python, or is broken before them.

    Only real comments count, not what looks like one inside a string.
    """
    if not _LIKELY.search(text):
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is None:
                continue
            ids = [part.strip().upper() for part in (match["ids"] or "").split(",")]
            reason = match["rest"].split("#")[0].strip(" :-\t") if match["brackets"] else ""
            rules = tuple(dict.fromkeys(part for part in ids if part))
            found.append(Ignore(SourceLine(file, token.start[0]), rules, reason))
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def apply_ignores(
    findings: Iterable[Finding], *, new: Mapping[str, str], old: Mapping[str, str] | None = None
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Sorts findings by the ignore comments of both programs: kept, suppressed, about the comments.

    ``new`` and ``old`` are the texts of the programs' files, by the names that findings call them. Suppressed findings
    have the reason in ``ignored``. Comments of NEW that suppress nothing, or are not valid, give warnings.
    """
    new_ignores = [ignore for file, text in new.items() for ignore in comments(file, text)]
    old_ignores = [ignore for file, text in (old or {}).items() for ignore in comments(file, text)]
    reasons = {(ignore.place, rule): ignore.reason for ignore in new_ignores for rule in ignore.rules}
    old_reasons = {(ignore.place, rule): ignore.reason for ignore in old_ignores for rule in ignore.rules}
    kept: list[Finding] = []
    suppressed: list[Finding] = []
    used: set[tuple[SourceLine, str]] = set()
    for finding in findings:
        places = _new_places(finding)
        table = reasons if places else old_reasons
        keys = [(place, finding.rule) for place in places or _old_places(finding)]
        beside = _operators_line(finding)
        if places and beside is not None and (beside, finding.rule) in reasons:
            keys = [(beside, finding.rule)]
        hits = [key for key in keys if key in table]
        used.update(hits)
        if keys and len(hits) == len(keys):
            why = next((table[key] for key in hits if table[key]), NO_REASON)
            suppressed.append(replace(finding, ignored=why))
        else:
            kept.append(finding)
    return tuple(kept), tuple(suppressed), tuple(_about(new_ignores, used))


def _new_places(finding: Finding) -> list[SourceLine]:
    """The lines of NEW that all have to carry the comment: one for a finding about one operator, else each."""
    line = finding.new_line or (finding.new.source if finding.new is not None else None)
    if finding.old is None and finding.new is None:
        return list(dict.fromkeys([*([line] if line is not None else []), *(place for _, place in finding.related)]))
    return [line] if line is not None else []


def _operators_line(finding: Finding) -> SourceLine | None:
    """The other line that may carry the comment: for a finding about a state, the state's line."""
    return finding.new.source if finding.state is not None and finding.new is not None else None


def _old_places(finding: Finding) -> list[SourceLine]:
    line = finding.old_line or (finding.old.source if finding.old is not None else None)
    return [line] if line is not None else []


def _about(ignores: Sequence[Ignore], used: set[tuple[SourceLine, str]]) -> Iterable[Finding]:
    for ignore in ignores:
        if not ignore.rules:
            yield _invalid(
                ignore.place,
                "ignore comment without a rule",
                "An ignore without a rule in brackets would hide everything; write # compat: ignore[CMP402] reason.",
            )
        for rule in ignore.rules:
            if rule not in RULES:
                yield _invalid(
                    ignore.place,
                    f"ignore comment for {rule}, which is no rule",
                    "compat rules lists the rules there are.",
                )
            elif (ignore.place, rule) not in used:
                yield Finding(
                    rule=cmp904.RULE.id,
                    level=cmp904.RULE.level,
                    title=f"ignore[{rule}] suppresses nothing",
                    consequence="Nothing; but a later finding of that rule on this line would be hidden.",
                    reason=f"No finding of {rule} is about this line.",
                    new_line=ignore.place,
                    fixes=(Fix(text="Remove it from the comment."),),
                )


def _invalid(place: SourceLine, title: str, reason: str) -> Finding:
    return Finding(
        rule=cmp905.RULE.id,
        level=cmp905.RULE.level,
        title=title,
        consequence="The comment has no effect.",
        reason=reason,
        new_line=place,
        fixes=(Fix(text="Name the rule: # compat: ignore[CMP402] and the reason; or remove the comment."),),
    )


def apply_ignored_rules(
    findings: Iterable[Finding], ignored: Iterable[IgnoredRule]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Sorts findings by the rules that the settings ignore: those kept, those suppressed."""
    entries = list(ignored)
    kept: list[Finding] = []
    suppressed: list[Finding] = []
    for finding in findings:
        entry = next((entry for entry in entries if _matches(entry, finding)), None)
        if entry is None:
            kept.append(finding)
        else:
            reason = f": {entry.reason}" if entry.reason else ""
            suppressed.append(replace(finding, ignored=f"ignored in the settings{reason}"))
    return tuple(kept), tuple(suppressed)


def _matches(entry: IgnoredRule, finding: Finding) -> bool:
    if entry.rule != finding.rule:
        return False
    operators = [operator for operator in (finding.old, finding.new) if operator is not None]
    return entry.uid is None or any(operator.uid == entry.uid for operator in operators)
