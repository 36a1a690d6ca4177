"""Running the ``main`` of a jar as ``flink run`` does: with Flink's own loader of packaged programs."""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from collections.abc import Iterator, Sequence
from glob import escape, glob
from itertools import pairwise

import jpype
import msgspec

from compat.loader.advice import given_properties
from compat.loader.failure import CLASSPATH, CONNECTOR
from compat.loader.flink_version import built_in
from compat.loader.jvm import connector_jars
from compat.loader.jvm.bridge import (
    FLINK,
    Java,
    array_of,
    causes,
    class_name,
    crash,
    described,
    flink,
    java,
    member,
    user_frames,
)
from compat.loader.jvm.classfile import Call, Code, Constant
from compat.loader.jvm.handed_on import hands_on
from compat.loader.jvm.libraries import own_frames
from compat.loader.jvm.messages import Crash, JarProgram, JavaFrame, Program, PyFlinkProgram, Request, SqlScript
from compat.loader.jvm.runtime_properties import RUNTIME
from compat.loader.jvm.usercode import classes_of
from compat.loader.jvm.variables import Variables
from compat.loader.mistakes import OUTSIDE
from compat.loader.request import Lack, Lacking
from compat.loader.shown import typed

_WRAPPERS = (
    "org.apache.flink.client.program.ProgramInvocationException",
    "java.lang.reflect.InvocationTargetException",
    "java.util.concurrent.ExecutionException",
)
_PROPERTIES = "application_properties.json"
_UNREACHABLE = ("No resolvable bootstrap urls", "Could not connect to meta store")
"""The messages of Kafka's and Hive's clients when they cannot connect."""
_OUTSIDE = frozenset(
    {
        *("java.net.ConnectException", "java.net.UnknownHostException", "java.net.NoRouteToHostException"),
        *("java.net.SocketTimeoutException", "java.net.http.HttpTimeoutException"),
        *("java.net.http.HttpConnectTimeoutException", "java.nio.channels.UnresolvedAddressException"),
        *("java.sql.SQLTransientConnectionException", "java.sql.SQLNonTransientConnectionException"),
        *("software.amazon.awssdk.core.exception.SdkClientException", "com.amazonaws.SdkClientException"),
        *("org.apache.kafka.common.errors.TimeoutException", "com.mysql.cj.jdbc.exceptions.CommunicationsException"),
    }
)
"""Exceptions of libraries that cannot reach a system, or have no credentials for it."""
_REQUIRED = re.compile(r"No data for required key '([^']+)'")
"""The exception of Flink's ``ParameterTool`` for a missing argument."""
_NO_FILE_SYSTEM = re.compile(r"directly supported by Flink through the following plugin\(s\): ([\w-]+(?:, [\w-]+)*)")
"""The message of Flink's ``UnsupportedFileSystemSchemeException`` for a scheme that a plugin supports."""
_ASKS_FOR_FILE = frozenset({"getResource", "getResourceAsStream"})
_NO_RESOURCE = "inStream parameter is null"
"""The exception of Java's ``Properties`` for a missing resource."""
_NO_FILE = frozenset({"java.io.FileNotFoundException", "java.nio.file.NoSuchFileException"})
_SCALA = CONNECTOR.format("scala")
_SINCE_SCALA_2_13 = "scala/collection/immutable/LazyList.class"
_OTHER_SCALA = "put the jar of an API for the job's Scala, such as flink-scala-api, into it."
_MISSING = (
    "Put the jar that has {} on the class path with --classpath, or into the job's jar. In a Maven project, "
    "mvn dependency:copy-dependencies -DoutputDirectory=lib copies all dependencies: --classpath 'lib/*'."
)
_SCALA_MISSING = "Scala API is not on the classpath"
_OF_FLINK = tuple(
    FLINK + package
    for package in (
        *("api.common.", "api.connector.", "api.dag.", "api.java.", "configuration.", "connector.base.", "core."),
        *("runtime.", "streaming.api.", "streaming.runtime.", "streaming.util.", "types.", "util."),
    )
)
"""The packages of Flink's core, which every distribution has."""
_API = tuple(
    FLINK + package
    for package in (
        *("api.common.", "api.connector.", "api.dag.", "api.java.typeutils."),
        *("streaming.api.", "table.api."),
    )
)
"""Flink classes that programs call, except those that read arguments."""
_OURS = "compat."
"""The package of compat's environments, which pass calls on."""
_PRECONDITIONS = f"{FLINK}util.Preconditions"
_CLASS_FILES = 44  # a class file of version 61 needs Java 17


def packaged(program: JarProgram, request: Request) -> Java:
    """Flink's ``PackagedProgram`` of a jar, with the libraries that lie in it."""
    given = [java("java.io.File")(path) for path in (*request.user_classpath, *program.after)]
    builder = _builder(program, request, given)
    builder.setJarFile(java("java.io.File")(program.path))
    if program.main_class is not None:
        builder.setEntryPointClassName(program.main_class)
    made = builder.build()
    if not program.before:
        return made
    # Flink puts the jar first: here it is one of those that follow.
    jar = java("java.io.File")(program.path)
    libraries = flink("client.program.PackagedProgram").extractContainedLibraries(jar.toURI().toURL())
    builder = _builder(program, request, [java("java.io.File")(program.before), jar, *libraries, *given])
    builder.setEntryPointClassName(made.getMainClassName())
    return builder.build()


def _builder(program: JarProgram, request: Request, classpath: list[Java]) -> Java:
    """A program of these files with the options and arguments of a job."""
    builder = flink("client.program.PackagedProgram").newBuilder()
    builder.setConfiguration(flink("configuration.Configuration").fromMap(java("java.util.HashMap")(request.options)))
    builder.setArguments(array_of(jpype.JString)(list(program.arguments)))
    urls = java("java.util.ArrayList")()
    for file in classpath:
        urls.add(file.toURI().toURL())
    builder.setUserClassPaths(urls)
    return builder


def crash_of(error: Java, program: Program | None, version: str, variables: Variables | None = None) -> Crash:
    """An exception of the program in words, with advice if there is some.

    A crash of its own that ``variables`` may be the reason of is told with those, elsewhere.
    """
    found = crash(error, _WRAPPERS)
    for one in causes(error):
        kind = str(one.getClass().getName())
        said = str(one.getMessage())
        if lacking := connector_jars.NO_FACTORY.search(said):
            name, factory = lacking.groups()
            message = f"No {(factory or 'format factory').rpartition('.')[2]} for {name!r} is on the class path."
            hint, option = connector_jars.advice_on_factory(name)
            return msgspec.structs.replace(found, message=message, hint=hint, option=option)
        if kind == "java.lang.UnsupportedClassVersionError":
            return _too_new(found, said)
        if kind in ("java.lang.NoClassDefFoundError", "java.lang.ClassNotFoundException"):
            return _without_class(found, kind, said.replace("/", "."), program, version)
        if kind == "java.lang.NoSuchMethodError":
            compiled = "A jar that it adds" if isinstance(program, PyFlinkProgram) else "The program"
            hint = f"{compiled} was compiled for another version of a library; this is Flink {version}."
            return Crash(type=kind, message=said, frames=found.frames, hint=hint)
        if (plugins := _NO_FILE_SYSTEM.search(said)) and (told := connector_jars.advice_on_file_system(plugins[1])):
            message = f"{found.message.partition(' The scheme is directly')[0]}"
            return msgspec.structs.replace(found, message=message, hint=told[0], option=told[1])
        if _SCALA_MISSING in said:
            return _without_scala(found, program)
    if (outside := _outside(error, found, program)) is not None:
        return outside
    if not isinstance(program, JarProgram):
        return found
    misses = variables is not None and bool(variables.missed_by(found))
    return _of_platform(error, found, program) or _of_own(error, found, program, misses)


def _without_class(found: Crash, kind: str, name: str, program: Program | None, version: str) -> Crash:
    """The crash of a program whose class path lacks a class."""
    message = f"The class {name} is missing."
    if name == RUNTIME and isinstance(program, JarProgram):
        return _without_properties(msgspec.structs.replace(found, message=message), program.path)
    if isinstance(program, JarProgram) and name == program.main_class:
        return Crash(type=kind, message=message, without_main=True)
    option: str | None
    told = connector_jars.advice(name)
    if told is not None and not (told[1] == _SCALA and _has_later_scala(program)):
        hint, option = told
    elif name.startswith(_OF_FLINK):
        return Crash(type=kind, message=message, frames=found.frames, lacks=Lack(what=Lacking.FLINK, name=version))
    else:
        hint, option = _MISSING.format(name), CLASSPATH
    return Crash(type=kind, message=message, frames=found.frames, hint=hint, option=option)


def _without_scala(found: Crash, program: Program | None) -> Crash:
    """The crash of a job for which Flink finds no Scala API; its own is for Scala 2.12."""
    looks = "Flink looks for the Scala API among its own jars"
    if _has_later_scala(program):
        return msgspec.structs.replace(found, hint=f"{looks} and in the job's: {_OTHER_SCALA}", option=CLASSPATH)
    hint = f"{looks}, and its distributions have it in lib: write {_SCALA}."
    return msgspec.structs.replace(found, hint=hint, option=_SCALA)


def _has_later_scala(program: Program | None) -> bool:
    """Whether a job brings Scala 2.13 or 3, beside which Flink's API for Scala 2.12 does not work."""
    if not isinstance(program, JarProgram):
        return False
    with zipfile.ZipFile(program.path) as jar:
        return _SINCE_SCALA_2_13 in jar.NameToInfo


def _of_platform(error: Java, found: Crash, program: JarProgram) -> Crash | None:
    """The crash of a job that reads properties which AWS's Managed Service for Apache Flink gives; None for any other.

    Its library gives no properties where there is no file, and the job fails when it uses them.
    """
    reads = any(_PROPERTIES in str(one.getMessage() or "") for one in causes(error))
    if not reads and not _is_loaded(RUNTIME):
        return None
    if program.before:
        hint = "Check whether the file of --runtime-properties has every group and key that the job asks for."
        return msgspec.structs.replace(found, hint=hint)
    return _without_properties(found, program.path)


def _without_properties(found: Crash, path: str) -> Crash:
    """The crash of a job that asks for the service's properties and has none; its project may have some, for a laptop."""
    said = "The job reads properties that AWS's Managed Service for Apache Flink gives, and has none here."
    hint = (
        "Give them with --runtime-properties FILE, a list of groups as the service has it: "
        '[{"PropertyGroupId": "NAME", "PropertyMap": {"KEY": "VALUE"}}].'
    )
    file = _properties_of_project(path)
    hint = hint if file is None else f"{file} has some for runs elsewhere.\n{hint}"
    return msgspec.structs.replace(found, message=f"{found.message} {said}", hint=hint, option=given_properties(file))


def _properties_of_project(path: str) -> str | None:
    """The file of properties that the project of a jar keeps for runs without the service, as it is typed; None for none."""
    for folder in built_in(path):
        for places in ("", os.path.join("src", "main", "resources")):
            found = sorted(glob(os.path.join(escape(os.path.join(folder, places)), "*application*properties*.json")))
            if found:
                return typed(found[0])
    return None


def _of_own(error: Java, found: Crash, program: JarProgram, misses: bool) -> Crash:
    """A crash of the program's own, with the arguments or the file that it lacks where that can be the reason.

    One that misses variables is no reason to think of arguments.
    """
    if lacking := _REQUIRED.search(found.message):
        more = f"--{lacking[1]}"
        hint = f"Give it with --args {shlex.quote(f'{shlex.join((*program.arguments, more))} VALUE')}."
        option = None if program.arguments else f'--args "{more} $VALUE"'
        return msgspec.structs.replace(found, hint=hint, option=option)
    if _NO_RESOURCE in found.message:
        files = _resources_of(found)
        told = ", ".join(files) or "a file that the program reads"
        hint = f"Not on the class path: {told}. Name the folder with --classpath."
        settings = tuple(files) if _hands_on(found) and all(map(_is_settings, files)) else ()
        return msgspec.structs.replace(found, hint=hint, option='--classpath "$FOLDER"', settings=settings)
    if found.type in _NO_FILE:
        hint = "It reads a file that is missing: put it there, or start compat in the folder that its relative paths refer to."
        return msgspec.structs.replace(found, hint=hint)
    own = own_frames(found.frames)
    if misses or not own or own[0] != found.frames[0]:
        return found
    if (call := _refused_call(error, own[0])) is not None:
        hint = f"Flink throws this, in {call}: the program fails with it on a cluster, too."
        return msgspec.structs.replace(found, hint=hint)
    if program.arguments:
        return found
    hint = f"The program throws this itself, in {own[0].method}(). If it needs arguments, give them with --args 'ARGUMENTS'."
    return msgspec.structs.replace(found, hint=hint)


def _refused_call(error: Java, own: JavaFrame) -> str | None:
    """The call of Flink's API that throws an exception; None for one of the program's own."""
    trace = list(list(causes(error))[-1].getStackTrace())
    thrown = next((name for one in trace if (name := str(one.getClassName())) != _PRECONDITIONS), "")
    there = any(str(one.getClassName()) == own.class_name for one in trace)
    return call_of(trace, own) if there and thrown.startswith(_API) else None


def _hands_on(found: Crash) -> bool:
    """Whether the program leaves the settings that it failed to load to its connectors."""
    own = own_frames(found.frames)
    loader = java("java.lang.Thread").currentThread().getContextClassLoader()
    return bool(own) and hands_on(classes_of(loader), own[-1].class_name.replace(".", "/"))


def _is_settings(name: str) -> bool:
    """Whether a file is one of settings, below the folders of the class path."""
    return name.endswith(".properties") and ".." not in name.split("/")


def _resources_of(found: Crash) -> list[str]:
    """The files that the method which failed asks a class loader for, and that none has."""
    loader = java("java.lang.Thread").currentThread().getContextClassLoader()
    asked: dict[str, None] = {}
    for own in own_frames(found.frames)[:1]:
        code = classes_of(loader).file_of(own.class_name.replace(".", "/"))
        for method in () if code is None else code.methods:
            if method.name == own.method and method.code is not None:
                asked |= dict.fromkeys(_files_in(method.code))
    return [name for name in asked if loader.getResource(name.lstrip("/")) is None]


def _files_in(code: Code) -> Iterator[str]:
    """The files that code asks a class or a class loader for by a name that stands in it."""
    for before, call in pairwise(code.instructions):
        if isinstance(call, Call) and call.method.name in _ASKS_FOR_FILE and isinstance(before, Constant):
            yield str(before.value)


def _is_loaded(name: str) -> bool:
    """Whether the program has come to a class."""
    find = java("java.lang.ClassLoader").class_.getDeclaredMethod("findLoadedClass", java("java.lang.String").class_)
    find.setAccessible(True)
    loader = java("java.lang.Thread").currentThread().getContextClassLoader()
    while loader is not None:
        # What Flink's wrapper of a loader has loaded is in the wrapped one.
        held = member(loader, "inner") if "SafetyNet" in (class_name(loader) or "") else loader
        if find.invoke(held, name) is not None:
            return True
        loader = held.getParent()
    return False


def _outside(error: Java, found: Crash, program: Program | None) -> Crash | None:
    """The crash of a program that asks the outside world while it builds its job: which call, and which line; else None."""
    chain = list(causes(error))
    said = " ".join(str(one.getMessage() or "") for one in chain)
    if not any(str(one.getClass().getName()) in _OUTSIDE for one in chain) and not any(
        map(said.__contains__, _UNREACHABLE)
    ):
        return None
    if isinstance(program, SqlScript | PyFlinkProgram):
        message = f"Flink asks an external system for it: {described(error)}"
        text = "script" if isinstance(program, SqlScript) else "program"
        hint = (
            f"Make that reachable from here. Or define a table of an external catalog in the {text} instead: "
            "CREATE TEMPORARY TABLE, with the table's own columns and options."
        )
        return msgspec.structs.replace(found, message=message, hint=hint)
    for one in chain:
        trace = list(one.getStackTrace())
        own = own_frames(list(user_frames(trace)))
        if own:
            call = f" with {made}" if (made := call_of(trace, own[0])) else ""
            message = (
                f"The program asks an external system while it builds its job{call} at {own[0]}: {described(error)}"
            )
            return msgspec.structs.replace(found, message=message, frames=tuple(own), hint=OUTSIDE)
    return None


def call_of(trace: Sequence[Java], own: JavaFrame) -> str:
    """What a line of the program called, by the stack that it stands in; empty if it called nothing."""
    place = next(place for place, at in enumerate(trace) if str(at.getClassName()) == own.class_name)
    called = next((one for one in reversed(trace[:place]) if not str(one.getClassName()).startswith(_OURS)), None)
    return "" if called is None else f"{str(called.getClassName()).rpartition('.')[2]}.{called.getMethodName()}()"


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
