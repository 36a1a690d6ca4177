"""A role between push and admin: deploy."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Admins stay admins: their role has a greater number now."""
    op.execute("UPDATE tokens SET role = 4 WHERE role = 3")
