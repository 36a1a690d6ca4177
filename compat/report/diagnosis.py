"""The diagnosis of a log for people, in five lines per failure, and as data."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from compat.check.catalogue import RULES
from compat.diagnosis.diagnosing import Diagnosis, Failure
from compat.diagnosis.known import Operators
from compat.escaping import no_command, visible

Json = dict[str, Any]

_UNKNOWN_SAVEPOINT, _NEW = "SAVEPOINT", "NEW"


class _Values(dict[str, str]):
    """Values for the braces in a text, with a placeholder for those that the exception does not give."""

    def __missing__(self, key: str) -> str:
        return {"old": "the old one", "new": "the new one"}.get(key, "…")


def text(found: Diagnosis, operators: Operators, log: str, *, new: str | None = None, verbose: bool = False) -> str:
    """The report on a log; ``new`` is the new program for the commands, ``verbose`` adds Flink's messages."""
    if not found.failures:
        others = ""
        if found.others:
            what = "exception is" if found.others == 1 else "exceptions are"
            others = f" {found.others:,} other {what} in it, the last: {found.last_other}"
        return (
            visible(f"{log}: no restore failed in {found.lines:,} {'line' if found.lines == 1 else 'lines'}.{others}")
            + "\n"
        )
    blocks = ["\n".join(_lines(failure, operators, new, verbose)) + "\n" for failure in found.failures]
    if found.left_out:
        blocks.append(f"{found.left_out:,} further failures are left out.\n")
    return "\n".join(blocks)


def _lines(failure: Failure, operators: Operators, new: str | None, verbose: bool) -> Iterator[str]:
    told = as_dict(failure, operators, new)
    rules = " or ".join(f"{rule['id']} {rule['name']}" for rule in told["rules"])
    first, last, count = told["first"], told["last"], told["count"]
    when = f" from {first} to {last}" if first and last and first != last else f" at {first}" if first else ""
    often = f" ({count:,} times{when})" if count > 1 else f" ({when.strip()})" if when else ""
    rows = [
        ("what", f"{told['happened']}{often}"),
        ("where", told["where"]),
        ("rule", f"{rules}; compat rule {told['rules'][0]['id']}"),
        ("now", f"{told['command']}  # {told['now']}"),
        (
            "before",
            f"{told['before']}  # Before the deployment it says {told['rules'][0]['id']}, and does not end with 0.",
        ),
    ]
    if verbose:
        rows.append(("Flink", failure.said))
        if failure.root != failure.said:
            rows.append(("cause", failure.root))
    for name, said in rows:
        yield no_command(f"{name:<8}{visible(said)}")


def as_json(found: Diagnosis, operators: Operators, log: str, *, new: str | None = None) -> Json:
    """The diagnosis as plain values; keys always in the same order."""
    return {
        "format": 1,
        "log": log,
        "lines": found.lines,
        "failures": [as_dict(failure, operators, new) for failure in found.failures],
        "left_out": found.left_out,
        "other_exceptions": found.others,
        "last_other": found.last_other or None,
    }


def as_dict(failure: Failure, operators: Operators, new: str | None = None) -> Json:
    """A failure as plain values, its texts filled in."""
    entry = failure.entry
    values = _Values(failure.values)
    paths = {
        "savepoint": shlex.quote(failure.savepoint or _UNKNOWN_SAVEPOINT),
    }
    return {
        "name": entry.name,
        "happened": entry.happened.format_map(values),
        "where": where(failure, operators),
        "operator": failure.operator,
        "state": failure.values.get("state"),
        "savepoint": failure.savepoint,
        "rules": [{"id": id, "name": RULES[id].name, "summary": RULES[id].summary} for id in entry.rules],
        "now": entry.now.format_map(values),
        "command": _command(entry.command, paths, new, operators),
        "before": _command(entry.before, paths, new, operators),
        "said": failure.said,
        "root": failure.root,
        "values": dict(failure.values),
        "count": failure.count,
        "first": failure.first or None,
        "last": failure.last or None,
    }


def _command(template: str, paths: Mapping[str, str], new: str | None, operators: Operators) -> str:
    """A command with the program and the given names filled in."""
    named = f" --names {shlex.quote(operators.named_by)}" if operators.named_by is not None else ""
    return template.replace(f" {_NEW}", " {new}").format_map({**paths, "new": f"{shlex.quote(new or _NEW)}{named}"})


def where(failure: Failure, operators: Operators) -> str:
    """The operator, the state and the line of the program, as far as they are known."""
    parts = []
    id = failure.operator
    label = None if id is None else operators.label(id)
    if failure.exact:
        kind = failure.values.get("operator_class")
        parts.append(
            f"operator {label or 'of an unknown name'}, id {id}{f', a {kind}' if kind and label is None else ''}"
        )
    elif failure.task is not None:
        begins = "" if label is None else f", which begins with operator {label}, id {id}"
        parts.append(f"task {failure.task!r}{begins}")
    if (state := operators.state_of(failure)) is not None:
        parts.append(state)
    if failure.asked_at is not None:
        parts.append(f"asked for in {failure.asked_at}")
    if id is not None and label is None:
        parts.append("--names OLD or --savepoint names the operator")
    return "; ".join(parts) or "the exception does not say"
