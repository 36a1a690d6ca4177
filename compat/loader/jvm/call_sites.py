"""The place where the user's code created each operator: the line that called Flink's API.

Flink does not record it. The environments of :mod:`~compat.loader.jvm.environments` report each operator and source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import jpype
from msgspec import Struct

from compat.loader.jvm.bridge import Java, flink, java, operator_of, text_or_none, user_frames
from compat.loader.jvm.messages import JavaFrame, MergedPart

_TRANSLATION = "org.apache.flink.streaming.api.graph.StreamGraphGenerator"
_WRITER = "Writer"


def _line_of_java() -> JavaFrame | None:
    """The line of the user's code that this thread of the JVM runs."""
    return next(user_frames(java("java.lang.Thread").currentThread().getStackTrace()), None)


class _Made(Struct, frozen=True):
    """A function in Python, the transformation that was made for it, and the line that made it."""

    function: Java
    transformation: Java
    frame: JavaFrame


class Places:
    """The lines at which a program created its transformations, by their ids; ``here`` gives the line that is running.

    ``parallelism_given`` is whether it gave its environment a parallelism, ``alone`` whether it created its own environment.
    """

    def __init__(self) -> None:
        self.here: Callable[[], JavaFrame | None] = _line_of_java
        self.parallelism_given = self.alone = False
        self.by_id: dict[int, JavaFrame] = {}
        self._sinks: list[tuple[Java, JavaFrame]] = []
        self._functions: list[_Made] = []
        counter = flink("api.dag.Transformation").class_.getDeclaredField("ID_COUNTER")
        counter.setAccessible(True)
        self._counter = counter.get(None)
        self._sink = flink("streaming.api.transformations.SinkTransformation")
        self._environment = flink("streaming.api.environment.StreamExecutionEnvironment")

    def forget(self) -> None:
        """Start again from the first id, as in a JVM without transformations."""
        self.here = _line_of_java
        self.parallelism_given = self.alone = False
        self.by_id, self._sinks = {}, []
        self._functions = []
        self._counter.set(0)

    def note(self, transformation: Java) -> None:
        """Record the running line for a transformation, or for the next one if it is None.

        An environment instead of one is about to take a parallelism.
        """
        trace = java("java.lang.Thread").currentThread().getStackTrace()
        if any(str(element.getClassName()) == _TRANSLATION for element in trace):
            return
        if isinstance(transformation, self._environment):
            self.parallelism_given = True
            return
        frame = self.here()
        if frame is None:
            return
        if transformation is None:
            self.by_id.setdefault(int(self._counter.get()) + 1, frame)
            return
        self.by_id[int(transformation.getId())] = frame
        if (function := first_function(_operator_of(transformation))) is not None:
            self._functions.append(_Made(function, transformation, frame))
        if isinstance(transformation, self._sink):
            self._sinks.append((transformation, frame))

    def of_nodes(self, nodes: Iterable[Java]) -> Mapping[int, JavaFrame]:
        """The lines of StreamNodes. The parts of a sink get the sink's line: they are created in the order of the sinks.

        Merged operators of PyFlink have the line of the first, whose function they hold.
        """
        found: dict[int, JavaFrame] = {}
        waiting: dict[str, list[JavaFrame]] = {}
        for sink, frame in self._sinks:
            waiting.setdefault(str(sink.getName()), []).append(frame)
        current: dict[str, JavaFrame] = {}
        for node in sorted(nodes, key=lambda one: int(one.getId())):
            name, _, part = str(node.getOperatorName()).rpartition(": ")
            function = first_function(_operator_of(node)) if self._functions else None
            if int(node.getId()) in self.by_id:
                found[int(node.getId())] = self.by_id[int(node.getId())]
            elif function is not None:
                found.update((int(node.getId()), one.frame) for one in self._functions if one.function.equals(function))
            elif name in waiting:
                if waiting[name] and (part == _WRITER or name not in current):
                    current[name] = waiting[name].pop(0)
                found[int(node.getId())] = current[name]
        return found

    def merged_into(self, node: Java) -> tuple[MergedPart, ...]:
        """The operators of PyFlink that were merged into a StreamNode after its first."""
        parts = []
        for function in python_functions(_operator_of(node))[1:]:
            for one in self._functions:
                if one.function.equals(function):
                    uid = text_or_none(one.transformation.getUid())
                    parts.append(MergedPart(name=str(one.transformation.getName()), uid=uid, source=one.frame))
        return tuple(parts)


def python_functions(operator: Java) -> list[Java]:
    """The Python functions that an operator of PyFlink's DataStream API runs, first to last; none for other operators."""
    if operator is None or not hasattr(operator, "getPythonFunctionInfo"):
        return []
    try:
        info, found = operator.getPythonFunctionInfo(), []
    except jpype.JException:  # it stands for an operator that is made when the graph is
        return []
    while info is not None and hasattr(info, "getFunctionType"):
        found.append(info.getPythonFunction())
        info = next(iter(info.getInputs()), None)
    return found[::-1]


def first_function(operator: Java) -> Java:
    """The first of an operator's Python functions; None if it has none."""
    return next(iter(python_functions(operator)), None)


def _operator_of(made: Java) -> Java:
    """The operator of a transformation or a StreamNode; None if it has none, or one that is made later."""
    return operator_of(made.getOperatorFactory()) if hasattr(made, "getOperatorFactory") else None
