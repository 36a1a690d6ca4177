"""Plans from JSON. A plan from a file or a network is not trusted: every field is checked against the model."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from compat.compiler.gc_policy import collection_paused
from compat.state.model.fields import Record
from compat.state.model.job import FORMAT, Plan, Refused

LARGEST = 1_000_000_000
"""The largest size of a plan, in bytes."""

_AT = re.compile(r"(?P<problem>.*?)(?: - at `\$\.?(?P<field>.*)`)?", re.DOTALL)
_OTHER_TYPE = re.compile(r"Expected `[^`]*`, got `")
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)


class PlanError(ValueError):
    """The input is not a plan of a format that this version reads.

    ``field`` is the place in it, empty for the whole. ``misshapen`` marks a field that is missing or has the wrong
    type, in contrast to one with an impossible value.
    """

    def __init__(self, message: str, field: str = "", misshapen: bool = True) -> None:
        super().__init__(message)
        self.field = field
        self.misshapen = misshapen


class _Head(Record, frozen=True, kw_only=True):
    """The fields that decide how the rest is read."""

    format: Any = None
    error: Any = None


_HEAD = msgspec.json.Decoder(_Head)
_DECODERS: dict[type[Plan] | type[Refused], msgspec.json.Decoder[Any]] = {}


@collection_paused()
def read(text: bytes) -> Plan | Refused:
    """The plan in a JSON text. Raises PlanError, naming the field, for anything else."""
    if len(text) > LARGEST:
        raise PlanError(f"The plan has {len(text):,} bytes, and at most {LARGEST:,} are read.")
    try:
        head = _HEAD.decode(text)
        return _decode(text, _kind(head.format, head.error))
    except msgspec.ValidationError as error:
        raise _problem(error) from None
    except RecursionError:
        raise PlanError("The plan is nested too deeply.") from None
    except ValueError as error:  # not JSON, or with half of a surrogate pair in a text
        if isinstance(error, PlanError):
            raise
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise PlanError(f"The plan is not JSON: {error}.") from None
        return from_plain(value)


@collection_paused()
def from_plain(value: Any) -> Plan | Refused:
    """The plan in a value from :func:`json.loads`. Raises PlanError, naming the field, for anything else."""
    if not isinstance(value, dict):
        raise PlanError("A plan is a JSON object.")
    kind = _kind(value.get("format"), value.get("error"))
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _problem(error) from None
    except RecursionError:
        raise PlanError("The plan is nested too deeply.") from None


def _kind(format: Any, error: Any) -> type[Plan] | type[Refused]:
    if type(format) is not int or not 1 <= format <= FORMAT:
        shown = repr(format) if len(repr(format)) <= 60 else repr(format)[:57] + "…"
        raise PlanError(
            f"The plan has format {shown}; this version reads 1 to {FORMAT}. "
            "Write it again with 'compat plan -o', or update compat.",
            "format",
            misshapen=type(format) is not int,
        )
    return Plan if error is None else Refused


def _decode(text: bytes, kind: type[Plan] | type[Refused]) -> Plan | Refused:
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    plan: Plan | Refused = decoder.decode(text)
    return plan


def _problem(error: msgspec.ValidationError) -> PlanError:
    match = _AT.fullmatch(str(error))
    assert match is not None
    problem, field = match["problem"], match["field"] or ""
    missing = _MISSING.fullmatch(problem)
    if missing is not None:
        field = f"{field}.{missing[1]}".lstrip(".")
        return PlanError(f"Field {field!r} of the plan is missing.", field)
    if not field:
        return PlanError("A plan is a JSON object.")
    message = f"Field {field!r} of the plan: {problem[:1].lower()}{problem[1:]}."
    return PlanError(message, field, misshapen=_OTHER_TYPE.match(problem) is not None)
