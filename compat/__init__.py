"""Will the new version of a stateful job restore the old version's state?

The command ``compat`` answers before the deployment; :func:`compat.check.decision` is the same from Python.
"""

__version__ = "0.1.0"
