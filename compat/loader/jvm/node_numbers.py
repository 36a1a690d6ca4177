"""Flink's numbers of ExecNodes, which are in the names of operators, and of unnamed tables, which are in the
descriptions of queries: they are counted per JVM."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import jpype

from compat.loader.jvm.bridge import Java, exists, flink, java

_CONTEXT = "org.apache.flink.table.planner.plan.nodes.exec.ExecNodeContext"
_WITHOUT_NAME = ("catalog.ContextResolvedTable", "catalog.ContextResolvedModel", "api.internal.TableImpl")


def restart_numbers_of_tables() -> None:
    """Restart the count of unnamed tables and models, as in a new JVM."""
    for name in filter(exists, (f"table.{one}" for one in _WITHOUT_NAME)):
        with suppress(jpype.JException):
            counter = flink(name).class_.getDeclaredField("uniqueId")
            counter.setAccessible(True)
            counter.get(None).set(0)


class NodeNumbers:
    """The counter from which ExecNodes get their numbers; ``environment`` is a table environment."""

    def __init__(self, environment: Java) -> None:
        self._counter: Java = None
        self._before = 0
        try:
            loader = environment.getPlanner().getClass().getClassLoader()
            field = java("java.lang.Class").forName(_CONTEXT, True, loader).getDeclaredField("idCounter")
            field.setAccessible(True)
            self._counter = field.get(None)
        except (jpype.JException, AttributeError):
            return
        self._before = int(self._counter.get())

    def restart(self) -> None:
        """Restart the count, as in a JVM that has planned nothing."""
        if self._counter is not None:
            self._counter.set(0)

    def as_before(self, plan: Callable[[], str | None]) -> str | None:
        """A plan with the numbers that the statement's own planning began with."""
        if self._counter is None:
            return None
        after = int(self._counter.get())
        self._counter.set(self._before)
        try:
            return plan()
        finally:
            self._counter.set(after)

    def as_last(self, plan: Callable[[], str | None]) -> str | None:
        """A repeated plan of the last planned statement, with the numbers that it got then."""
        if self._counter is None:
            return None
        after = int(self._counter.get())
        try:
            text = plan()
            taken = int(self._counter.get()) - after
        finally:
            self._counter.set(after)
        return None if text is None else _renumbered(text, -taken)


def _renumbered(plan: str, by: int) -> str:
    """A compiled plan whose nodes have other numbers."""
    told = json.loads(plan)
    for node in told["nodes"]:
        node["id"] += by
    for edge in told["edges"]:
        edge["source"] += by
        edge["target"] += by
    return json.dumps(told)
