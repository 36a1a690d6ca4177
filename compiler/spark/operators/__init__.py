"""Operators as tasks run them: one module a family, registered by kind in :mod:`.factory`."""
