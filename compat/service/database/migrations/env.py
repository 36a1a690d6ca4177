"""Alembic's entry point: runs the migrations within the connection that was handed over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transaction_per_migration=False)
context.run_migrations()
