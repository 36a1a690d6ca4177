"""What counts of a restore that fails where the function cannot be opened without any state either."""

from types import SimpleNamespace

import pytest

from compat.loader.jvm.answers import answers_of
from compat.loader.jvm.messages import DeclaredStates, OperatorRestore, RestoreAttempt, Restored, RestoreFailure

FORBIDDEN = "Generic types have been disabled in the ExecutionConfig and type shop.Order is treated as a generic type."


@pytest.mark.parametrize(
    ("unknown", "type_", "message", "counts"),
    [
        ("open() fails", "java.net.ConnectException", "Connection refused", False),
        ("open() fails", "java.lang.UnsupportedOperationException", FORBIDDEN, True),
        ("open() fails", "org.apache.flink.util.StateMigrationException", "incompatible", True),
        ("", "java.net.ConnectException", "Connection refused", True),
    ],
)
def test_of_a_function_that_cannot_be_opened_only_what_flink_refuses_counts(unknown, type_, message, counts):
    attempt = RestoreAttempt(backend="any", failure=RestoreFailure(type=type_, message=message))
    restored = Restored(operators=(OperatorRestore(node=1, operator_id="a", attempts=(attempt,)),))
    answers = answers_of(restored, {1: SimpleNamespace(states=DeclaredStates(unknown=unknown))})
    assert bool(answers.operators[1].problems) is counts
