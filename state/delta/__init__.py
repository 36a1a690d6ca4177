"""State as a Delta table: the log of its changes, local replicas that follow it, and savepoints.

A job's state is one table. Each epoch appends the rows that changed, in one commit; the commit is the checkpoint.
"""
