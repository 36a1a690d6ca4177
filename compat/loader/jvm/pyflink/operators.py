"""Operators that run Python, whose ``open()`` would start a Python process: which they are, and which keep nothing."""

from __future__ import annotations

from compat.loader.jvm.bridge import Java, class_name, is_a

_RUNS_PYTHON = (
    "streaming.api.operators.python.AbstractPythonFunctionOperator",
    "streaming.api.operators.python.embedded.AbstractEmbeddedPythonFunctionOperator",
)
_STATELESS = (
    "table.runtime.operators.python.AbstractStatelessFunctionOperator",
    "table.runtime.operators.python.AbstractEmbeddedStatelessFunctionOperator",
)
_DATASTREAM = "streaming.api.operators.python.DataStreamPythonFunctionOperator"
_UNKNOWN = "{} registers its states in a Python process, which is not started here"


def runs_python(operator: Java) -> bool:
    """True for an operator whose ``open()`` starts a Python process, or an interpreter within the JVM."""
    return operator is not None and is_a(operator, *_RUNS_PYTHON)


def unknown_states(operator: Java, keyed: bool) -> str:
    """Why the states of an operator that runs Python are not known; empty if they are.

    Scalar and table functions keep no state. Functions of the DataStream API are asked for their states. Aggregates of pandas
    have a stateless base class, but keep state by key.
    """
    if is_a(operator, _DATASTREAM) or (is_a(operator, *_STATELESS) and not keyed):
        return ""
    return _UNKNOWN.format((class_name(operator) or "").rpartition(".")[2])
