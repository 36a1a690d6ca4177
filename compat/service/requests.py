"""Requests of clients, read from JSON field by field. An unknown field is refused: a typo must not change a gate.

Plans stay the text that was sent: whoever works with one reads it, in a process that is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from compat.compiler.versions import FLINK_VERSIONS, LATEST_FLINK
from compat.migration.recipe import FORMAT, Recipe
from compat.service.options import Accepted, Options
from compat.service.records import Compatibility, Mode, Role
from compat.service.untrusted import RefusedBody, fields_of, read_json

JOB_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_ .:@+-]{0,199}$"
"""The valid names of jobs: they occur in addresses, file names and logs."""

SAVEPOINT_ID = r"^[0-9a-f]{32}$"
IMAGE = r"^(?:[^\s@]+@)?sha256:[0-9a-f]{64}$"
"""A container image by its digest, with or without its repository."""

LONGEST_LABEL = 500
LARGEST_NUMBER = 2**31 - 1
MOST_ACCEPTED = 10_000
MOST_ROLLED_BACK = 20
"""The maximum number of versions that a job may have each new one restore: each is a check."""
_DEEPEST = 8
"""Levels of a request without its plans."""

_JOB_NAME = re.compile(JOB_NAME)
_JOB_PATTERN = re.compile(r"[A-Za-z0-9_ .:@+*?!\[\]-]{1,200}")
_SAVEPOINT_ID = re.compile(SAVEPOINT_ID)
_IMAGE = re.compile(IMAGE)


class Reference(Struct, frozen=True, kw_only=True):
    """A side of a check: a plan in the request, a version of a job (None: the running one), or a savepoint."""

    plan: bytes | None = None
    label: str | None = None
    job: str | None = None
    version: int | None = None
    savepoint: str | None = None


class CheckRequest(Struct, frozen=True, kw_only=True):
    """Check ``new`` against ``old``. ``record`` keeps the check, under the job of ``old`` if it has one."""

    old: Reference
    new: Reference
    options: Options
    record: bool
    commit: str | None
    author: str | None

    @property
    def accepts(self) -> bool:
        """True if the accepted findings are to be stored."""
        return self.record and bool(self.options.accept)


class PushRequest(Struct, frozen=True, kw_only=True):
    """Register ``plan`` as a version; ``image`` is the digest of the container image that holds the program."""

    plan: bytes
    commit: str | None
    author: str | None
    image: str | None


class PromoteRequest(Struct, frozen=True, kw_only=True):
    """Make a version the one that runs (None: the newest), on a check unless ``force``d for a ``reason``.

    ``recipe`` is what happened to the state before the version restored it.
    """

    version: int | None
    force: bool
    reason: str | None
    recipe: Recipe | None = None


class WithdrawRequest(Struct, frozen=True, kw_only=True):
    """Withdraw the acceptance of a finding, between the named plans, or any; ``reason`` is stored."""

    fingerprint: str
    reason: str
    old_plan: str | None
    new_plan: str | None


class DeleteRequest(Struct, frozen=True, kw_only=True):
    """Delete a version, or the job (None); ``even_promoted`` also where it runs or ran. ``reason`` is kept."""

    version: int | None
    even_promoted: bool
    reason: str


class RoleNeeded(Exception):
    """A request that needs a higher role."""

    def __init__(self, role: Role) -> None:
        super().__init__(role)
        self.role = role


def is_job_name(text: str) -> bool:
    """Whether a job can have that name in the registry; those of jobs in watched folders may be anything."""
    return _JOB_NAME.fullmatch(text) is not None


def job_name(text: str) -> str:
    """A job's name. Raises RefusedBody for an invalid one."""
    if not is_job_name(text):
        raise RefusedBody(
            "A job's name has 1 to 200 letters, digits, spaces or any of _.:@+-, and begins with a letter, digit or _.",
            "job",
        )
    return text


def job_pattern(text: str) -> str:
    """A pattern of names of jobs, as the shell has them. Raises RefusedBody for one that no name can match."""
    if not _JOB_PATTERN.fullmatch(text):
        raise RefusedBody(
            f"{text[:60]!r} is no pattern of jobs: write a name, in which * stands for anything and ? for one character.",
            "job",
        )
    return text


def check_request(body: bytes) -> CheckRequest:
    """The request to check in a body. Raises RefusedBody."""
    fields = _Fields(_read(body, "", ("old", "new")), "", ("old", "new", "options", "record", "commit", "author"))
    options = _Fields(fields.get("options", {}), "options.", ("allow_non_restored_state", "flink", "accept", "recipe"))
    return CheckRequest(
        old=_reference(fields.get("old"), "old"),
        new=_reference(fields.get("new"), "new"),
        options=Options(
            allow_non_restored=options.flag("allow_non_restored_state", False),
            flink=options.choice("flink", FLINK_VERSIONS, LATEST_FLINK),
            accept=_accepted(options.get("accept", [])),
            recipe=_recipe(options.get("recipe", None), "options.recipe"),
        ),
        record=fields.flag("record", True),
        commit=fields.text("commit"),
        author=fields.text("author"),
    )


def may_ask(request: CheckRequest, role: Role) -> None:
    """Pass a check that ``role`` may request. Raises RoleNeeded."""
    if request.record and role < Role.PUSH:
        raise RoleNeeded(Role.PUSH)
    recipe = request.options.recipe
    drops = request.record and recipe is not None and recipe.drops
    if (request.accepts or drops) and role < Role.ADMIN:
        raise RoleNeeded(Role.ADMIN)


def push_request(body: bytes) -> PushRequest:
    """The request to register a version. Raises RefusedBody."""
    fields = _Fields(_read(body, "", ("plan",)), "", ("plan", "commit", "author", "image"))
    image = fields.text("image")
    return PushRequest(
        plan=fields.raw("plan"),
        commit=fields.text("commit"),
        author=fields.text("author"),
        image=None if image is None else image_digest(image),
    )


def image_digest(text: str) -> str:
    """The digest of an image that is named by it. Raises RefusedBody for a name that may mean another image tomorrow."""
    if not _IMAGE.fullmatch(text):
        raise RefusedBody("An image is named by its digest, REPOSITORY@sha256:…; a tag may move.", "image")
    return text.rpartition("@")[2]


def promote_request(body: bytes) -> PromoteRequest:
    """The request to promote a version. Raises RefusedBody."""
    fields = _Fields(read_json(body, _DEEPEST), "", ("version", "force", "reason", "recipe"))
    request = PromoteRequest(
        version=fields.number("version"),
        force=fields.flag("force", False),
        reason=fields.text("reason"),
        recipe=_recipe(fields.get("recipe", None), "recipe"),
    )
    if request.force and not (request.reason or "").strip():
        raise RefusedBody("A forced promotion needs a reason, which is kept.", "reason")
    return request


def _recipe(value: Any, where: str) -> Recipe | None:
    """A recipe, as ``compat migrate`` reads it from a file. Raises RefusedBody for anything else, and for open questions."""
    if value is None:
        return None
    try:
        recipe = msgspec.convert(value, Recipe)
    except msgspec.ValidationError as error:
        raise RefusedBody(f"This is no recipe: {error}.", where) from error
    if recipe.format != FORMAT or recipe.questions:
        raise RefusedBody(f"A recipe has the format {FORMAT}, and no open questions.", where)
    return recipe


def withdraw_request(body: bytes) -> WithdrawRequest:
    """The request to withdraw an acceptance. Raises RefusedBody."""
    fields = _Fields(read_json(body, _DEEPEST), "", ("fingerprint", "reason", "old_plan", "new_plan"))
    fingerprint, reason = fields.text("fingerprint"), fields.text("reason")
    if not fingerprint:
        raise RefusedBody("Name the finding by its fingerprint.", "fingerprint")
    if not (reason or "").strip():
        raise RefusedBody("A withdrawal needs a reason, which is kept.", "reason")
    assert reason is not None
    plans = {name: fields.text(name) for name in ("old_plan", "new_plan")}
    return WithdrawRequest(fingerprint=fingerprint, reason=reason, **plans)


def compatibility_request(body: bytes) -> Compatibility:
    """The new mode of a job. Raises RefusedBody."""
    fields = _Fields(read_json(body, _DEEPEST), "", ("mode", "versions", "savepoint"))
    mode = Mode(fields.choice("mode", tuple(mode.value for mode in Mode), ""))
    versions, savepoint = fields.number("versions"), fields.text("savepoint")
    if (versions is not None) != (mode is Mode.ROLLBACK):
        raise RefusedBody("The mode rollback, and no other, says how many versions.", "versions")
    if versions is not None and versions > MOST_ROLLED_BACK:
        raise RefusedBody(f"Must be at most {MOST_ROLLED_BACK}.", "versions")
    if (savepoint is not None) != (mode is Mode.SAVEPOINT):
        raise RefusedBody("The mode savepoint, and no other, names one.", "savepoint")
    if savepoint is not None and not _SAVEPOINT_ID.fullmatch(savepoint):
        raise RefusedBody("A savepoint is named by its id of 32 hex digits, as the list gives it.", "savepoint")
    return Compatibility(mode=mode, versions=versions, savepoint=savepoint)


def delete_request(body: bytes) -> DeleteRequest:
    """The request to delete a version or a whole job. Raises RefusedBody."""
    fields = _Fields(read_json(body, _DEEPEST), "", ("version", "whole_job", "even_promoted", "reason"))
    version, whole, reason = fields.number("version"), fields.flag("whole_job", False), fields.text("reason")
    if (version is None) != whole:
        raise RefusedBody("Name the version, or say that it is the whole job: one of the two.", "version")
    if reason is None or not reason.strip():
        raise RefusedBody("A deletion needs a reason, which is kept.", "reason")
    return DeleteRequest(version=version, even_promoted=fields.flag("even_promoted", False), reason=reason)


def _read(text: bytes | Raw | None, where: str, apart: tuple[str, ...]) -> dict[str, Any]:
    """An object of a request: its values, but for the fields ``apart``, which stay text."""
    if text is None:
        raise RefusedBody("Must be an object.", where)
    given = fields_of(text, where)
    return {name: raw if name in apart else read_json(bytes(raw), _DEEPEST) for name, raw in given.items()}


def _reference(text: Raw | None, where: str) -> Reference:
    known = ("plan", "label", "job", "version", "savepoint")
    fields = _Fields(_read(text, where, ("plan",)), f"{where}.", known)
    kinds = [name for name in ("plan", "job", "savepoint") if fields.get(name) is not None]
    if len(kinds) != 1:
        raise RefusedBody(f"{where!r} names exactly one of plan, job or savepoint.", where)
    if fields.get("version") is not None and kinds != ["job"]:
        raise RefusedBody("Only a job has versions.", f"{where}.version")
    savepoint = fields.text("savepoint")
    if savepoint is not None and not _SAVEPOINT_ID.fullmatch(savepoint):
        raise RefusedBody(
            "A savepoint is named by its id of 32 hex digits, as the list gives it.", f"{where}.savepoint"
        )
    job = fields.text("job")
    return Reference(
        plan=fields.raw("plan") if kinds == ["plan"] else None,
        label=fields.text("label"),
        job=None if job is None else job_name(job),
        version=fields.number("version"),
        savepoint=savepoint,
    )


def _accepted(value: Any) -> tuple[Accepted, ...]:
    if not isinstance(value, list) or len(value) > MOST_ACCEPTED:
        raise RefusedBody(f"A list of at most {MOST_ACCEPTED} findings that may pass.", "options.accept")
    found = []
    for index, item in enumerate(value):
        fields = _Fields(item, f"options.accept[{index}].", ("fingerprint", "reason"))
        fingerprint, reason = fields.text("fingerprint"), fields.text("reason")
        if not fingerprint or not (reason or "").strip():
            raise RefusedBody("Has a fingerprint and a reason, which is kept.", f"options.accept[{index}]")
        assert reason is not None
        found.append(Accepted(fingerprint, reason))
    return tuple(found)


class _Fields:
    """An object of a request; knows how to complain."""

    def __init__(self, value: Any, prefix: str, known: tuple[str, ...]) -> None:
        if not isinstance(value, dict):
            raise RefusedBody("Must be an object.", prefix.rstrip("."))
        for key in value:
            if key not in known:
                raise RefusedBody(f"There is no field {key[:60]!r}; known are {', '.join(known)}.", prefix.rstrip("."))
        self._values: Mapping[str, Any] = value
        self._prefix = prefix

    def get(self, name: str, default: Any = None) -> Any:
        """A value; of a field that stayed text, that, unless it is null."""
        value = self._values.get(name, default)
        return None if isinstance(value, Raw) and bytes(value) == b"null" else value

    def raw(self, name: str) -> bytes:
        """The text of an object."""
        value = self.get(name)
        text = bytes(value) if isinstance(value, Raw) else b""
        if not text.startswith(b"{"):
            raise RefusedBody("Must be an object.", self._prefix + name)
        return text

    def text(self, name: str) -> str | None:
        value = self.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > LONGEST_LABEL):
            raise RefusedBody(f"Must be text of at most {LONGEST_LABEL} characters.", self._prefix + name)
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.get(name, default)
        if not isinstance(value, bool):
            raise RefusedBody("Must be true or false.", self._prefix + name)
        return value

    def number(self, name: str) -> int | None:
        value = self.get(name)
        if value is not None and (
            not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_NUMBER
        ):
            raise RefusedBody("Must be a whole number above 0.", self._prefix + name)
        return value

    def choice(self, name: str, known: tuple[str, ...], default: str) -> str:
        value = self.get(name, default)
        if value not in known:
            raise RefusedBody(f"Must be one of {', '.join(known)}.", self._prefix + name)
        return str(value)
