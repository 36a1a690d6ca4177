"""Operators set up without the parts that may connect to external systems: writers and committers of sinks, and open()
of functions.

The states of a sink are those that Flink's own operators declare for it: its writer and its committer have no access to state
themselves. The states of a function are read from its code instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

import jpype

from compat.loader.jvm.bridge import (
    FLINK,
    Java,
    array_of,
    class_name,
    exists,
    flink,
    is_a,
    java,
    member,
    operator_of,
    set_member,
)
from compat.loader.jvm.libraries import is_of_library
from compat.loader.jvm.usercode import classes_around, classes_of

_SINKS = "streaming.runtime.operators.sink."
_API = "api.connector.sink2."
_WRITER = f"{_SINKS}SinkWriterOperator"
_COMMITTERS = f"{_SINKS}CommitterOperatorFactory"
_GLOBAL_COMMITTER = f"{_SINKS}GlobalCommitterOperator"
_WITH_WRITER_STATE = (f"{_API}SupportsWriterState", f"{_API}StatefulSink")
"""What a sink whose writer keeps state implements: since Flink 1.19, and before."""
FILE_WRITER = "connector.file.table.stream.AbstractStreamingWriter"
"""The operators that write the files of a table."""
_WRITERS = (
    f"{_API}SinkWriter",
    f"{_API}StatefulSinkWriter",
    f"{_API}CommittingSinkWriter",
    f"{_API}StatefulSink$StatefulSinkWriter",
    f"{_API}TwoPhaseCommittingSink$PrecommittingSinkWriter",
)
_MAKES = frozenset({"createWriter", "restoreWriter", "createCommitter", "apply", "get"})
_GIVES = frozenset({"snapshotState", "prepareCommit"})
_WITH_FUNCTION = "streaming.api.operators.AbstractUdfStreamOperator"
_PLAIN = frozenset(
    f"{FLINK}streaming.api.operators.{one}" for one in ("AbstractStreamOperator", "AbstractStreamOperatorV2")
)
_RICH = "api.common.functions.RichFunction"
_WRAPPING = ("api.common.functions.WrappingFunction", "api.java.operators.translation.WrappingFunction")


def is_connector(factory: Java) -> bool:
    """True for the operators of a sink that a library brings: nothing of the user's is in how it connects."""
    operator = operator_of(factory)
    if is_a(operator, _GLOBAL_COMMITTER):
        return True
    name = class_name(factory) or ""
    if not name.startswith(FLINK + _SINKS):
        return False
    return is_of_library((class_name(member(factory, "sink")) or "").replace(".", "/"))


def is_sink(factory: Java) -> bool:
    """True for the operators that Flink creates for the writer or the committer of a sink."""
    return any((class_name(one) or "").startswith(FLINK + _SINKS) for one in (factory, operator_of(factory)))


def is_told_by_code(operator: Java) -> bool:
    """Whether all code that opening an operator runs, besides Flink's own, is the program's, which can be read."""
    if is_a(operator, FILE_WRITER):
        return True
    name = class_name(operator) or ""
    if classes_of(operator.getClass().getClassLoader()).here(name.replace(".", "/")):
        above = operator.getClass().getSuperclass()
        return above is not None and str(above.getName()) in _PLAIN
    if not is_a(operator, _WITH_FUNCTION):
        return False
    function = operator.getUserFunction()
    while is_a(function, *_WRAPPING):
        function = function.getWrappedFunction()
    if not is_a(function, _RICH):
        return True
    return classes_around(function) is not None


def replace_committer(factory: Java) -> None:
    """Replace the committer in an operator's factory by one that does nothing, if there is one."""
    nothing = _object((f"{_API}Committer",), _Instead(None, None))
    if is_a(factory, _COMMITTERS):
        kind = _declared(factory, "sink")
        set_member(factory, "sink", _object((kind,), _Instead(member(factory, "sink"), nothing)))
    elif is_a(operator := operator_of(factory), _GLOBAL_COMMITTER):
        kind = _declared(operator, "committerFactory")
        set_member(operator, "committerFactory", _object((kind,), _Instead(None, nothing)))


def replace_writer(operator: Java) -> None:
    """Replace the writer of an operator that was set up by one that does nothing, if there is one."""
    if is_a(operator, _WRITER):
        handler = member(operator, "writerStateHandler")
        sink = member(handler, "sink")
        kinds = (_declared(handler, "sink"), *(one for one in _WITH_WRITER_STATE if is_a(sink, one)))
        writer = _object(tuple(filter(exists, _WRITERS)), _Instead(None, None))
        set_member(handler, "sink", _object(kinds, _Instead(sink, writer)))


def replace_place(operator: Java) -> None:
    """Have an operator that writes the files of a table write to this machine: it asks for its file system at once."""
    if is_a(operator, FILE_WRITER):
        path = flink("core.fs.Path")(Path(gettempdir(), "compat-nothing-is-written-here").as_uri())
        set_member(member(operator, "bucketsBuilder"), "basePath", path)


@contextmanager
def function_aside(operator: Java) -> Iterator[None]:
    """Flink's own part of what an operator does: its function is not there meanwhile."""
    if not is_a(operator, _WITH_FUNCTION):
        yield
        return
    function = operator.getUserFunction()
    set_member(operator, "userFunction", None)
    try:
        yield
    finally:
        set_member(operator, "userFunction", function)


def open_flinks_part(made: Java, operator: Java) -> None:
    """Open an operator in its harness without its function; one of the program's own is left as it is."""
    if classes_of(operator.getClass().getClassLoader()).here((class_name(operator) or "").replace(".", "/")):
        return
    with function_aside(operator):
        try:
            made.open()
        except jpype.JException as error:
            if not _is_for_want_of_function(error):
                raise


def _is_for_want_of_function(error: Java) -> bool:
    """True for what Flink throws where it makes a context for a function: that comes last, behind all state."""
    frames = list(error.getStackTrace())[:2]
    made = (one for one in frames if str(one.getMethodName()) == "<init>" and "Context" in str(one.getClassName()))
    return class_name(error) == "java.lang.NullPointerException" and any(made)


@jpype.JImplements("java.lang.reflect.InvocationHandler", deferred=True)
class _Instead:
    """The answers of an object in place of ``real``: it makes ``made`` where that would make what connects."""

    def __init__(self, real: Java, made: Java) -> None:
        self._real, self._made = real, made

    @jpype.JOverride
    def invoke(self, proxy: Java, method: Java, given: Java) -> Java:
        name = str(method.getName())
        if name in _MAKES:
            return self._made
        if name in _GIVES:
            return java("java.util.ArrayList")()
        return None if self._real is None else method.invoke(self._real, given)


def _object(interfaces: tuple[str, ...], answers: _Instead) -> Java:
    """An object of these interfaces of Flink."""
    classes = [flink(one).class_ for one in dict.fromkeys(interfaces)]
    kinds = array_of(java("java.lang.Class"))(classes)
    return java("java.lang.reflect.Proxy").newProxyInstance(classes[0].getClassLoader(), kinds, answers)


def _declared(target: Java, name: str) -> str:
    """The type of a field, below Flink's own package."""
    return str(target.getClass().getDeclaredField(name).getType().getName()).removeprefix(FLINK)
