"""The registry: plans, jobs, versions, savepoints, checks, promotions, tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "plans",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("job_name", sa.Text, nullable=False),
        sa.Column("flink", sa.Text, nullable=False),
        sa.Column("operators", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("current", sa.Integer),
    )
    op.create_table(
        "versions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("plan", sa.String(64), sa.ForeignKey("plans.digest"), nullable=False),
        sa.Column("commit", sa.Text),
        sa.Column("author", sa.Text),
        sa.Column("pushed_by", sa.Text, nullable=False),
        sa.Column("pushed_at", sa.Double, nullable=False),
        sa.UniqueConstraint("job", "number", name="one_version_a_number"),
    )
    op.create_index("versions_by_plan", "versions", ["plan"])
    op.create_table(
        "savepoints",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("job", sa.Text),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("checkpoint", sa.Integer),
        sa.Column("operators", sa.Integer),
        sa.Column("bytes", sa.Double),
        sa.Column("modified_at", sa.Double, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("inspection", sa.LargeBinary),
    )
    sides = [
        column
        for side in ("old", "new")
        for column in (
            sa.Column(f"{side}_label", sa.Text, nullable=False),
            sa.Column(f"{side}_kind", sa.String(20), nullable=False),
            sa.Column(f"{side}_plan", sa.String(64), sa.ForeignKey("plans.digest")),
            sa.Column(f"{side}_version", sa.Integer),
            sa.Column(f"{side}_savepoint", sa.String(32)),
        )
    ]
    op.create_table(
        "checks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.id")),
        *sides,
        sa.Column("verdict", sa.String(30), nullable=False),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("errors", sa.Integer, nullable=False),
        sa.Column("warnings", sa.Integer, nullable=False),
        sa.Column("commit", sa.Text),
        sa.Column("author", sa.Text),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("report", sa.LargeBinary, nullable=False),
    )
    op.create_index("checks_by_job", "checks", ["job", "id"])
    op.create_index("checks_by_old_plan", "checks", ["old_plan"])
    op.create_index("checks_by_new_plan", "checks", ["new_plan"])
    op.create_table(
        "promotions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("check", sa.Integer),
        sa.Column("forced", sa.Boolean, nullable=False),
        sa.Column("reason", sa.Text),
    )
    op.create_index("ix_promotions_job", "promotions", ["job"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("role", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
