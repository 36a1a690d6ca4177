"""Upgrades of jobs, and the steps that each has taken."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "cluster_deployments",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("number", sa.Integer, nullable=False, unique=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("program", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("watch", sa.Double, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("old", sa.String(32)),
        sa.Column("new", sa.String(32), nullable=False),
        sa.Column("back", sa.String(32), nullable=False),
        sa.Column("version", sa.Integer),
        sa.Column("step", sa.String(20), nullable=False),
        sa.Column("since", sa.Double, nullable=False),
        sa.Column("savepoint", sa.Text),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Index("cluster_deployments_by_job", "job"),
    )
    op.create_table(
        "cluster_deployment_steps",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("deployment", sa.String(32), sa.ForeignKey("cluster_deployments.id"), nullable=False),
        sa.Column("step", sa.String(20), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Index("cluster_deployment_steps_by_deployment", "deployment"),
    )
