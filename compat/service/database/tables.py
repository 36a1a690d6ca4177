"""The tables of the registry. What changes here needs a migration beside the others."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

plans = Table(
    "plans",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("job_name", Text, nullable=False),
    Column("flink", Text, nullable=False),
    Column("operators", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("program", String(71)),
)
"""Plans by the digest of their canonical JSON, which ``body`` holds deflated; ``program`` is the digest that they carry."""

jobs = Table(
    "jobs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("current", Integer),
    Column("compatibility", Text),
)
"""``current`` is the number of the version that runs; ``compatibility`` is JSON, null for what is so by default."""

versions = Table(
    "versions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job", ForeignKey("jobs.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("plan", ForeignKey("plans.digest"), nullable=False),
    Column("commit", Text),
    Column("author", Text),
    Column("pushed_by", Text, nullable=False),
    Column("pushed_at", Double, nullable=False),
    Column("image", String(71)),
    Column("built", Boolean),
    UniqueConstraint("job", "number", name="one_version_a_number"),
    Index("versions_by_plan", "plan"),
    Index("versions_by_image", "image"),
)
"""``image`` is the digest of the container image that holds the program, as ``sha256:…``; ``built`` tells that the service
itself built the plan.
"""

numbers = Table(
    "numbers",
    METADATA,
    Column("job", String(200), primary_key=True),
    Column("last", Integer, nullable=False),
)
"""The last number that was given to a version of a job of that name; it stays when versions and jobs are deleted."""

savepoints = Table(
    "savepoints",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("path", Text, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("job", Text),
    Column("status", String(20), nullable=False),
    Column("error", Text),
    Column("checkpoint", BigInteger),
    Column("operators", Integer),
    Column("bytes", Double),
    Column("modified_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("inspection", LargeBinary),
)
"""``fingerprint`` tells whether the files changed since they were read; ``inspection`` is deflated JSON."""

checks = Table(
    "checks",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job", ForeignKey("jobs.id")),
    Column("old_label", Text, nullable=False),
    Column("old_kind", String(20), nullable=False),
    Column("old_plan", ForeignKey("plans.digest")),
    Column("old_version", Integer),
    Column("old_savepoint", String(32)),
    Column("new_label", Text, nullable=False),
    Column("new_kind", String(20), nullable=False),
    Column("new_plan", ForeignKey("plans.digest")),
    Column("new_version", Integer),
    Column("new_savepoint", String(32)),
    Column("verdict", String(30), nullable=False),
    Column("sentence", Text, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("warnings", Integer, nullable=False),
    Column("commit", Text),
    Column("author", Text),
    Column("by", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("report", LargeBinary, nullable=False),
    Column("options", String(64)),
    Index("checks_by_job", "job", "id"),
    Index("checks_by_old_plan", "old_plan"),
    Index("checks_by_what_was_asked", "old_plan", "new_plan", "options"),
    Index("checks_by_new_plan", "new_plan"),
    sqlite_autoincrement=True,
)
"""``report`` is the JSON of ``compat schema report``, deflated; ``options`` the key of what was asked."""

acceptances = Table(
    "acceptances",
    METADATA,
    Column("job", ForeignKey("jobs.id"), primary_key=True),
    Column("old_plan", String(64), primary_key=True),
    Column("new_plan", String(64), primary_key=True),
    Column("fingerprint", String(500), primary_key=True),
    Column("rule", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", Double, nullable=False),
)
"""Findings between two plans of a job that an admin let pass."""

promotions = Table(
    "promotions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job", ForeignKey("jobs.id"), nullable=False, index=True),
    Column("number", Integer, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("check", Integer),
    Column("forced", Boolean, nullable=False),
    Column("reason", Text),
    Column("accepted", Text),
)
"""``accepted`` is a JSON list of what was accepted."""

audit = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("by", Text, nullable=False),
    Column("action", String(20), nullable=False),
    Column("job", String(200)),
    Column("detail", Text, nullable=False),
)
"""``detail`` is a JSON object; entries are added and stay."""

tokens = Table(
    "tokens",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("jobs", Text),
    Column("expires_at", Double),
)
"""``jobs`` is a JSON list of patterns, null for a token of all jobs; ``expires_at`` is null for one without an end."""
