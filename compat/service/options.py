"""The options of a check, and the choice of the check that decides at the gate for two plans.

A verdict holds only for its question: two plans, one version of the checker, one set of options. The gate always asks the same
question: no state may be left behind, Flink is that of the new plan, and no finding passes unless an admin accepted it for
these two plans.
"""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha256

import msgspec

import compat
from compat.compiler.versions import LATEST_FLINK
from compat.migration.recipe import Recipe

_NOT_DECIDING = ("cli", "service", "view", "examples", "__pycache__")
"""Folders of the package whose code changes no verdict."""


class Accepted(msgspec.Struct, frozen=True):
    """A finding that someone accepted, by its fingerprint, with the reason."""

    fingerprint: str
    reason: str


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a check is asked besides its two sides. ``accept`` are findings that may pass, ``recipe`` is what happens to OLD's
    state before NEW restores it."""

    flink: str = LATEST_FLINK
    allow_non_restored: bool = False
    accept: tuple[Accepted, ...] = ()
    recipe: Recipe | None = None

    @property
    def key(self) -> str:
        """The same for checks that must agree: same options, same checker."""
        accept = sorted((accepted.fingerprint, accepted.reason) for accepted in self.accept)
        moved = [] if self.recipe is None else [self.recipe]
        asked = msgspec.json.encode([engine(), self.flink, self.allow_non_restored, accept, *moved])
        return sha256(asked).hexdigest()


@cache
def engine() -> str:
    """The version of the checker, and a digest of its code: what it decided is not asked of another one."""
    root = os.path.dirname(os.path.abspath(compat.__file__))
    digest = sha256()
    for folder, folders, names in os.walk(root, followlinks=True):
        folders[:] = sorted(set(folders) - set(_NOT_DECIDING)) if folder == root else sorted(folders)
        for name in sorted(names):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as file:
                    digest.update(name.encode() + b"\0" + file.read())
    return f"{compat.__version__}+{digest.hexdigest()[:16]}"
