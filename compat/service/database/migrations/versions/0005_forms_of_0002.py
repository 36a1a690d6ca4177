"""What the second form has, for tables that were migrated to it before it had all of that."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add what is missing: that form was published three times with less than it has now."""
    found = sa.inspect(op.get_bind())
    if not found.has_table("audit"):
        op.create_table(
            "audit",
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("at", sa.Double, nullable=False),
            sa.Column("by", sa.Text, nullable=False),
            sa.Column("action", sa.String(20), nullable=False),
            sa.Column("job", sa.String(200)),
            sa.Column("detail", sa.Text, nullable=False),
        )
    if "checks_by_what_was_asked" not in {index["name"] for index in found.get_indexes("checks")}:
        op.create_index("checks_by_what_was_asked", "checks", ["old_plan", "new_plan", "options"])
    kinds = {column["name"]: column["type"] for column in found.get_columns("savepoints")}
    if not isinstance(kinds["checkpoint"], sa.BigInteger):
        with op.batch_alter_table("savepoints") as savepoints:
            savepoints.alter_column("checkpoint", type_=sa.BigInteger)
