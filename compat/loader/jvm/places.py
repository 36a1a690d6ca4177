"""Where the user's code made each operator: the line that called Flink's API.

Flink does not remember it. An environment of our own does, whose two methods that every operator and source goes through tell
a listener before they do their work. Its class is written with the assembler that Flink brings along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import jpype

from compat.loader.jvm.bridge import Java, array_of, flink, java, user_frames
from compat.loader.jvm.model import JavaFrame

_NAME = "compat/CapturingEnvironment"
_BASE = "org/apache/flink/streaming/api/environment/StreamExecutionEnvironment"
_CONSTRUCTOR = (
    "(Lorg/apache/flink/core/execution/PipelineExecutorServiceLoader;"
    "Lorg/apache/flink/configuration/Configuration;Ljava/lang/ClassLoader;)V"
)
_ADD = "(Lorg/apache/flink/api/dag/Transformation;)V"
_CONSUMER = "java/util/function/Consumer"
_TRANSLATION = "org.apache.flink.streaming.api.graph.StreamGraphGenerator"
_WRITER = "Writer"


class Places:
    """The lines at which a program made its transformations, by their ids."""

    def __init__(self) -> None:
        self.by_id: dict[int, JavaFrame] = {}
        self._sinks: list[tuple[str, JavaFrame]] = []
        counter = flink("api.dag.Transformation").class_.getDeclaredField("ID_COUNTER")
        counter.setAccessible(True)
        self._counter = counter.get(None)
        self._sink = flink("streaming.api.transformations.SinkTransformation")

    def forget(self) -> None:
        """Begin anew, with the first id, as in a JVM that has made no transformation."""
        self.by_id, self._sinks = {}, []
        self._counter.set(0)

    def note(self, transformation: Java) -> None:
        """Remember the line that is being run for a transformation, or for the next one if it is None."""
        trace = java("java.lang.Thread").currentThread().getStackTrace()
        if any(str(element.getClassName()) == _TRANSLATION for element in trace):
            return
        frame = next(user_frames(trace), None)
        if frame is None:
            return
        if transformation is None:
            self.by_id.setdefault(int(self._counter.get()) + 1, frame)
            return
        self.by_id[int(transformation.getId())] = frame
        if isinstance(transformation, self._sink):
            self._sinks.append((str(transformation.getName()), frame))

    def of_nodes(self, nodes: Iterable[Java]) -> Mapping[int, JavaFrame]:
        """The lines of StreamNodes. The parts of a sink have that of the sink: they are made in the order of the sinks."""
        found: dict[int, JavaFrame] = {}
        waiting: dict[str, list[JavaFrame]] = {}
        for name, frame in self._sinks:
            waiting.setdefault(name, []).append(frame)
        current: dict[str, JavaFrame] = {}
        for node in sorted(nodes, key=lambda one: int(one.getId())):
            name, _, part = str(node.getOperatorName()).rpartition(": ")
            if int(node.getId()) in self.by_id:
                found[int(node.getId())] = self.by_id[int(node.getId())]
            elif name in waiting:
                if waiting[name] and (part == _WRITER or name not in current):
                    current[name] = waiting[name].pop(0)
                found[int(node.getId())] = current[name]
        return found


def capturing_environment(listener: Callable[[Java], None]) -> Java:
    """The class of an environment that calls ``listener`` with each transformation, and with None before each is made."""

    @jpype.JImplements("java.util.function.Consumer")
    class Listener:
        @jpype.JOverride
        def accept(self, transformation: Java) -> None:
            listener(transformation)

    made = _define(bytes(_class_file()))
    field = made.getDeclaredField("listener")
    field.set(None, Listener())
    return jpype.JClass(made)


def _define(code: bytes) -> Java:
    """A class in the loader of Flink's classes."""
    loader = flink("api.common.JobID").class_.getClassLoader()
    for method in java("java.lang.ClassLoader").class_.getDeclaredMethods():
        types = [str(one.getSimpleName()) for one in method.getParameterTypes()]
        if str(method.getName()) == "defineClass" and types == ["String", "byte[]", "int", "int"]:
            method.setAccessible(True)
            size = java("java.lang.Integer")
            return method.invoke(
                loader, [_NAME.replace("/", "."), array_of(jpype.JByte)(code), size(0), size(len(code))]
            )
    raise LookupError("java.lang.ClassLoader has no defineClass")


def _class_file() -> Java:
    asm = "org.apache.flink.shaded.asm9.org.objectweb.asm."
    op = java(asm + "Opcodes")
    writer = java(asm + "ClassWriter")(java(asm + "ClassWriter").COMPUTE_MAXS)
    writer.visit(op.V1_8, op.ACC_PUBLIC, _NAME, None, _BASE, None)
    writer.visitField(op.ACC_PUBLIC | op.ACC_STATIC, "listener", f"L{_CONSUMER};", None, None).visitEnd()

    def method(name: str, descriptor: str, before: Callable[[Java], None], arguments: int, returns: int) -> None:
        code = writer.visitMethod(op.ACC_PUBLIC, name, descriptor, None, None)
        code.visitCode()
        before(code)
        for argument in range(arguments + 1):
            code.visitVarInsn(op.ALOAD, argument)
        code.visitMethodInsn(op.INVOKESPECIAL, _BASE, name, descriptor, False)
        code.visitInsn(returns)
        code.visitMaxs(0, 0)
        code.visitEnd()

    def tell(push: Callable[[Java], None]) -> Callable[[Java], None]:
        def before(code: Java) -> None:
            code.visitFieldInsn(op.GETSTATIC, _NAME, "listener", f"L{_CONSUMER};")
            push(code)
            code.visitMethodInsn(op.INVOKEINTERFACE, _CONSUMER, "accept", "(Ljava/lang/Object;)V", True)

        return before

    method("<init>", _CONSTRUCTOR, lambda code: None, 3, op.RETURN)
    method("addOperator", _ADD, tell(lambda code: code.visitVarInsn(op.ALOAD, 1)), 1, op.RETURN)
    method("getParallelism", "()I", tell(lambda code: code.visitInsn(op.ACONST_NULL)), 0, op.IRETURN)
    writer.visitEnd()
    return writer.toByteArray()
