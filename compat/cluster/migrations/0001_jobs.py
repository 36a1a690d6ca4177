"""The tables of a cluster's jobs, requests, failures, and leader."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "cluster_leader",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("token", sa.Integer, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("renewed_at", sa.Double, nullable=False),
    )
    op.create_table(
        "cluster_jobs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("number", sa.Integer, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("program", sa.Text, nullable=False),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("pool", sa.Integer),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("submitted_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("restored_from", sa.Text),
        sa.Column("stopped_with", sa.Text),
        sa.Column("message", sa.Text, nullable=False),
        sa.Index("cluster_jobs_by_status", "status"),
    )
    op.create_table(
        "cluster_requests",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("job", sa.String(32), sa.ForeignKey("cluster_jobs.id"), nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("path", sa.Text),
        sa.Column("drain", sa.Boolean, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("done_at", sa.Double),
        sa.Column("location", sa.Text),
        sa.Column("error", sa.Text),
        sa.Index("cluster_requests_by_job", "job"),
    )
    op.create_table(
        "cluster_failures",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("job", sa.String(32), sa.ForeignKey("cluster_jobs.id"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Index("cluster_failures_by_job", "job"),
    )
