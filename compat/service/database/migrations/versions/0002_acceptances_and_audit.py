"""Accepted findings, and who accepted them; the audit log; what a check was asked; large checkpoints."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns and the table. Of older checks nobody knows what they were asked: they decide nothing."""
    op.add_column("checks", sa.Column("options", sa.String(64)))
    op.create_index("checks_by_what_was_asked", "checks", ["old_plan", "new_plan", "options"])
    op.add_column("promotions", sa.Column("accepted", sa.Text))
    with op.batch_alter_table("savepoints") as savepoints:
        savepoints.alter_column("checkpoint", type_=sa.BigInteger)  # Flink's are of 64 bits
    op.create_table(
        "acceptances",
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("old_plan", sa.String(64), primary_key=True),
        sa.Column("new_plan", sa.String(64), primary_key=True),
        sa.Column("fingerprint", sa.String(500), primary_key=True),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("job", sa.String(200)),
        sa.Column("detail", sa.Text, nullable=False),
    )
