"""The commands by group: the module of each, and its name there."""

from __future__ import annotations

JOB = {
    "run": ("compat.cli.run", "run"),
    "list": ("compat.cli.jobs", "list_jobs"),
    "savepoint": ("compat.cli.jobs", "savepoint"),
    "stop": ("compat.cli.jobs", "stop"),
    "cancel": ("compat.cli.jobs", "cancel"),
    "discard": ("compat.cli.jobs", "discard"),
}
REGISTRY = {
    "push": ("compat.cli.push", "push"),
    "promote": ("compat.cli.promote", "promote"),
    "accept": ("compat.cli.accepted", "accept"),
    "accepted": ("compat.cli.accepted", "accepted"),
    "withdraw": ("compat.cli.accepted", "withdraw"),
    "mode": ("compat.cli.mode", "mode"),
    "delete": ("compat.cli.delete", "delete"),
    "token": ("compat.cli.tokens", "token"),
}
FORMER = {**JOB, **REGISTRY}
"""Commands that were once outside of their group: they still work without it, but the help does not show that."""
