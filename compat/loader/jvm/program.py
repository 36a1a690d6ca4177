"""Running the ``main`` of a jar as ``flink run`` does: with Flink's own loader of packaged programs."""

from __future__ import annotations

from pathlib import Path

import jpype

from compat.loader.failure import CLASSPATH
from compat.loader.jvm.bridge import Java, array_of, causes, crash, flink, java
from compat.loader.jvm.messages import Crash, JarProgram, Program, Request

_WRAPPERS = (
    "org.apache.flink.client.program.ProgramInvocationException",
    "java.lang.reflect.InvocationTargetException",
    "java.util.concurrent.ExecutionException",
)
_CLASS_FILES = 44  # a class file of version 61 needs Java 17


def packaged(program: JarProgram, request: Request) -> Java:
    """Flink's ``PackagedProgram`` of a jar, with the libraries that lie in it."""
    builder = flink("client.program.PackagedProgram").newBuilder()
    builder.setJarFile(java("java.io.File")(program.path))
    builder.setConfiguration(flink("configuration.Configuration").fromMap(java("java.util.HashMap")(request.options)))
    builder.setArguments(array_of(jpype.JString)(list(program.arguments)))
    urls = java("java.util.ArrayList")()
    for path in request.user_classpath:
        urls.add(java("java.io.File")(path).toURI().toURL())
    builder.setUserClassPaths(urls)
    if program.main_class is not None:
        builder.setEntryPointClassName(program.main_class)
    return builder.build()


def crash_of(error: Java, program: Program | None, version: str) -> Crash:
    """An exception of the program in words, with what to do about it where that is known."""
    found = crash(error, _WRAPPERS)
    for one in causes(error):
        kind = str(one.getClass().getName())
        said = str(one.getMessage())
        if kind == "java.lang.UnsupportedClassVersionError":
            return _too_new(found, said)
        if kind in ("java.lang.NoClassDefFoundError", "java.lang.ClassNotFoundException"):
            name = said.replace("/", ".")
            hint = f"Put the jar that has {name} on the class path with --classpath, or into the job's jar."
            option: str | None = CLASSPATH
            if isinstance(program, JarProgram) and name == program.main_class:
                hint = f"Look at --main-class: {Path(program.path).name} has no such class."
                option = None
            return Crash(
                type=kind, message=f"The class {name} is missing.", frames=found.frames, hint=hint, option=option
            )
        if kind == "java.lang.NoSuchMethodError":
            hint = f"The program was compiled for another version of a library; this is Flink {version}."
            return Crash(type=kind, message=said, frames=found.frames, hint=hint)
    return found


def _too_new(found: Crash, said: str) -> Crash:
    """``X has been compiled by a more recent version of the Java Runtime (class file version 65.0), …``"""
    version = said.partition("class file version ")[2].partition(".")[0]
    needed = f"Java {int(version) - _CLASS_FILES}" if version.isdigit() else "a later Java"
    here = str(java("java.lang.System").getProperty("java.specification.version"))
    name = said.partition(" ")[0].replace("/", ".")
    message = f"The class {name} is compiled for {needed}, and this is Java {here}."
    return Crash(
        type="java.lang.UnsupportedClassVersionError",
        message=message,
        frames=found.frames,
        hint=f"Set JAVA_HOME to {needed} or later.",
    )
