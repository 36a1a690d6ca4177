"""The digest of the program that a plan was made of."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column; plans of before do not say it."""
    op.add_column("plans", sa.Column("program", sa.String(71)))
