"""Whether a version was built by the service itself."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the column; the versions that there are were built by who pushed them."""
    op.add_column("versions", sa.Column("built", sa.Boolean))
