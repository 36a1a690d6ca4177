"""The environment classes in which a program builds its jobs, generated with the assembler that Flink includes.

Each environment reports every operator to a listener before it adds it. An environment that the program makes itself, a
``LocalStreamEnvironment`` or a ``RemoteStreamEnvironment``, is of this class, too. These replace Flink's, which a client
refuses to make, and pass their jobs to the given executors.
"""

from __future__ import annotations

from collections.abc import Callable

import jpype

from compat.loader.jvm.bridge import FLINK, Java, array_of, flink, java

_NAME = "compat/CapturingEnvironment"
_PACKAGE = "org/apache/flink/streaming/api/environment/"
_BASE = f"{_PACKAGE}StreamExecutionEnvironment"
_CONFIGURATION = "org/apache/flink/configuration/Configuration"
_EXECUTORS = "org/apache/flink/core/execution/PipelineExecutorServiceLoader"
_CONSTRUCTOR = f"(L{_EXECUTORS};L{_CONFIGURATION};Ljava/lang/ClassLoader;)V"
_ADD = "(Lorg/apache/flink/api/dag/Transformation;)V"
CONSUMER = "java/util/function/Consumer"
_FUNCTION = "java/util/function/Function"
ASM = f"{FLINK}shaded.asm9.org.objectweb.asm."
_STRINGS, _URLS = "[Ljava/lang/String;", "[Ljava/net/URL;"
_AT = "Ljava/lang/String;I"
_RESTORED = "Lorg/apache/flink/runtime/jobgraph/SavepointRestoreSettings;"
_OF_PROGRAMS = {
    f"{_PACKAGE}LocalStreamEnvironment": ("()V", f"(L{_CONFIGURATION};)V"),
    f"{_PACKAGE}RemoteStreamEnvironment": (
        f"({_AT}{_STRINGS})V",
        f"({_AT}L{_CONFIGURATION};{_STRINGS})V",
        f"({_AT}L{_CONFIGURATION};{_STRINGS}{_URLS})V",
        f"({_AT}L{_CONFIGURATION};{_STRINGS}{_URLS}{_RESTORED})V",
    ),
}
"""The environments that a program can create itself, with their constructors."""
Settle = Callable[[Java], Java]
"""Gives the ``Configuration`` of an environment that a program creates itself, from the one passed by the program."""


class Environments:
    """The environment classes of a JVM, created before Flink's own, some of which they replace."""

    def __init__(self) -> None:
        self._class = define(_NAME, _capturing())
        for name, constructors in _OF_PROGRAMS.items():
            define(name, _of_program(name, constructors))

    def tell(self, listener: Callable[[Java], None]) -> None:
        """Call ``listener`` with each transformation, and with None before each is made.

        When an environment is given a parallelism, the listener gets the environment.
        """

        @jpype.JImplements("java.util.function.Consumer")
        class Listener:
            @jpype.JOverride
            def accept(self, transformation: Java) -> None:
                listener(transformation)

        self._class.getDeclaredField("listener").set(None, Listener())

    def have(self, executors: Java, settle: Settle) -> None:
        """Send the jobs of environments that programs create themselves to these executors."""

        @jpype.JImplements("java.util.function.Function")
        class Settings:
            @jpype.JOverride
            def apply(self, given: Java) -> Java:
                return settle(given)

        self._class.getDeclaredField("executors").set(None, executors)
        self._class.getDeclaredField("settings").set(None, Settings())

    def make(self, executors: Java, configuration: Java) -> Java:
        """An environment for a program that asks Flink for one."""
        loader = java("java.lang.Thread").currentThread().getContextClassLoader()
        return jpype.JClass(self._class)(executors, configuration, loader)


def define(name: str, code: bytes) -> Java:
    """A class in the loader of Flink's classes."""
    loader = flink("api.common.JobID").class_.getClassLoader()
    for method in java("java.lang.ClassLoader").class_.getDeclaredMethods():
        types = [str(one.getSimpleName()) for one in method.getParameterTypes()]
        if str(method.getName()) == "defineClass" and types == ["String", "byte[]", "int", "int"]:
            method.setAccessible(True)
            size = java("java.lang.Integer")
            given = [name.replace("/", "."), array_of(jpype.JByte)(code), size(0), size(len(code))]
            return method.invoke(loader, given)
    raise LookupError("java.lang.ClassLoader has no defineClass")


def _capturing() -> bytes:
    """The class of an environment that tells its listener."""
    op = java(f"{ASM}Opcodes")
    made = writer(_NAME, _BASE)
    for name, kind in (("listener", CONSUMER), ("executors", _EXECUTORS), ("settings", _FUNCTION)):
        made.visitField(op.ACC_PUBLIC | op.ACC_STATIC, name, f"L{kind};", None, None).visitEnd()

    def method(name: str, descriptor: str, before: Callable[[Java], None], arguments: int, returns: int) -> None:
        code = made.visitMethod(op.ACC_PUBLIC, name, descriptor, None, None)
        code.visitCode()
        before(code)
        code.visitVarInsn(op.ALOAD, 0)
        for argument in range(1, arguments + 1):
            code.visitVarInsn(op.ILOAD if descriptor.startswith("(I)") else op.ALOAD, argument)
        code.visitMethodInsn(op.INVOKESPECIAL, _BASE, name, descriptor, False)
        end(code, returns)

    def tell(push: Callable[[Java], None]) -> Callable[[Java], None]:
        def before(code: Java) -> None:
            code.visitFieldInsn(op.GETSTATIC, _NAME, "listener", f"L{CONSUMER};")
            push(code)
            code.visitMethodInsn(op.INVOKEINTERFACE, CONSUMER, "accept", "(Ljava/lang/Object;)V", True)

        return before

    method("<init>", _CONSTRUCTOR, lambda code: None, 3, op.RETURN)
    method("addOperator", _ADD, tell(lambda code: code.visitVarInsn(op.ALOAD, 1)), 1, op.RETURN)
    method("setParallelism", f"(I)L{_BASE};", tell(lambda code: code.visitVarInsn(op.ALOAD, 0)), 1, op.ARETURN)
    method("getParallelism", "()I", tell(lambda code: code.visitInsn(op.ACONST_NULL)), 0, op.IRETURN)
    return written(made)


def _of_program(name: str, constructors: tuple[str, ...]) -> bytes:
    """The class of an environment that a program makes for itself, which needs of what it is given the configuration."""
    op = java(f"{ASM}Opcodes")
    made = writer(name, _NAME)
    for descriptor in constructors:
        code = made.visitMethod(op.ACC_PUBLIC, "<init>", descriptor, None, None)
        code.visitCode()
        code.visitVarInsn(op.ALOAD, 0)
        code.visitFieldInsn(op.GETSTATIC, _NAME, "executors", f"L{_EXECUTORS};")
        code.visitFieldInsn(op.GETSTATIC, _NAME, "settings", f"L{_FUNCTION};")
        _push_configuration(code, descriptor)
        code.visitMethodInsn(op.INVOKEINTERFACE, _FUNCTION, "apply", "(Ljava/lang/Object;)Ljava/lang/Object;", True)
        code.visitTypeInsn(op.CHECKCAST, _CONFIGURATION)
        thread = "java/lang/Thread"
        code.visitMethodInsn(op.INVOKESTATIC, thread, "currentThread", f"()L{thread};", False)
        code.visitMethodInsn(op.INVOKEVIRTUAL, thread, "getContextClassLoader", "()Ljava/lang/ClassLoader;", False)
        code.visitMethodInsn(op.INVOKESPECIAL, _NAME, "<init>", _CONSTRUCTOR, False)
        end(code, op.RETURN)
    return written(made)


def _push_configuration(code: Java, descriptor: str) -> None:
    """The configuration among the arguments of a constructor, or an empty one."""
    op = java(f"{ASM}Opcodes")
    types = [str(one.getInternalName()) for one in java(f"{ASM}Type").getArgumentTypes(descriptor)]
    if _CONFIGURATION in types:
        code.visitVarInsn(op.ALOAD, types.index(_CONFIGURATION) + 1)
        return
    code.visitTypeInsn(op.NEW, _CONFIGURATION)
    code.visitInsn(op.DUP)
    code.visitMethodInsn(op.INVOKESPECIAL, _CONFIGURATION, "<init>", "()V", False)


def writer(name: str, base: str) -> Java:
    """What writes a class."""
    op, kind = java(f"{ASM}Opcodes"), java(f"{ASM}ClassWriter")
    writer = kind(kind.COMPUTE_MAXS)
    writer.visit(op.V1_8, op.ACC_PUBLIC, name, None, base, None)
    return writer


def end(code: Java, returns: int) -> None:
    """End the code of a method with this instruction."""
    code.visitInsn(returns)
    code.visitMaxs(0, 0)
    code.visitEnd()


def written(writer: Java) -> bytes:
    """The class file of what was written."""
    writer.visitEnd()
    return bytes(writer.toByteArray())
