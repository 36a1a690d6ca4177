"""Checks the partial matches of a pattern of Flink's CEP with the pattern that continues them."""

from __future__ import annotations

import jpype

from compat.loader.jvm.bridge import Java, class_name, described, flink, member
from compat.loader.jvm.harness import FailedAtFirstRead, keyed_backend

_CEP = "org.apache.flink.cep.operator.CepOperator"
_STATE = "nfaStateName"


def check_matches(operator: Java) -> None:
    """Look up the stage of every partial match of an open operator as its pattern does at the next record.

    Other operators have none. Raises FailedAtFirstRead with what Flink throws.
    """
    if class_name(operator) != _CEP or (backend := keyed_backend(operator)) is None:
        return
    pattern, matches = member(operator, "nfa"), member(operator, "computationStates")
    look_up = next(one for one in pattern.getClass().getDeclaredMethods() if str(one.getName()) == "isStartState")
    look_up.setAccessible(True)
    namespace = flink("runtime.state.VoidNamespace").INSTANCE
    for key in list(backend.getKeys(_STATE, namespace).iterator()):
        backend.setCurrentKey(key)
        kept = matches.value()
        for match in () if kept is None else kept.getPartialMatches():
            try:
                look_up.invoke(pattern, [match])
            except jpype.JException as error:
                raise FailedAtFirstRead(described(error), error) from error
