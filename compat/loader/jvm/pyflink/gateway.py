"""Runs a PyFlink program in the child process: its gateway is a server in the JVM that this process holds.

PyFlink connects to the port in ``PYFLINK_GATEWAY_PORT`` instead of starting its own JVM. So the program's jobs are built in
this JVM, and collected like those of programs in Java.
"""

from __future__ import annotations

import json
import linecache
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

import jpype
import msgspec

from compat.loader import runtime_file
from compat.loader.advice import CAUGHT, given_properties, install, installing, provided
from compat.loader.failure import CLASSPATH
from compat.loader.jvm import connector_jars
from compat.loader.jvm.bridge import Java, described, flink, java, member, operator_of, text_or_none
from compat.loader.jvm.call_sites import python_functions
from compat.loader.jvm.graphs import Configured
from compat.loader.jvm.messages import (
    Crash,
    JavaFrame,
    Job,
    Node,
    PyFlinkProgram,
    PythonFunction,
    Request,
    SqlStatement,
)
from compat.loader.jvm.node_numbers import NodeNumbers
from compat.loader.jvm.program import crash_of
from compat.loader.jvm.pyflink import client
from compat.loader.jvm.pyflink.plans import ADDS_KEYS
from compat.loader.lacking import Ending, lack_of
from compat.loader.told_by_project import requirement_for
from compat.state.model.code import UserCode

_CLIENT = Path(client.__file__)
_UTILS = "org.apache.flink.client.python.PythonEnvUtils"
_TABLES = "table.catalog.ContextResolvedTable"
_PORT = "PYFLINK_GATEWAY_PORT"
_WAKE = 0.3
_NO_CLASS = re.compile(r"Could not found the Java class '([\w.$]+)'|^([\w.$]+) does not exist in the JVM")
"""PyFlink's message for a class that is in no jar."""
_COMPAT = "Install what provides the module {!r} into the environment that has PyFlink: {}."
_JAR = "Put the jar that has {} on the class path with --classpath."


_Told = TypeVar("_Told")


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    """How a program in Python failed: its exception, and its own lines, outermost first."""

    type: str
    message: str
    frames: tuple[JavaFrame, ...] = ()
    module: str | None = None
    value: str | None = None
    modules: tuple[str, ...] = ()


class Gateway:
    """The gateway for one program after the other, and further reports of the program's process."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._server = _started()
        self._shared = self._server.getGateway().getEntryPoint()
        self._where: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers: NodeNumbers | None = None

    @property
    def absent(self) -> tuple[str, ...]:
        """The modules that are not installed, and that building the last program's job used nothing of."""
        return self._told(client.ABSENT, tuple[str, ...]) or ()

    @property
    def former(self) -> tuple[str, ...]:
        """The calls of the last program that PyFlink no longer has, and that change nothing."""
        return self._told(client.FORMER, tuple[str, ...]) or ()

    @property
    def endless(self) -> str:
        """The line on which the last program waited behind its jobs when it was ended; empty for others."""
        return "".join(f"{file}:{line}" for file, line in self._told(client.ENDLESS, list[tuple[str, int]]) or ())

    @property
    def missed(self) -> dict[str, JavaFrame]:
        """The environment variables that the last program asked for and did not get, with the lines."""
        return self._told(client.MISSED, dict[str, JavaFrame]) or {}

    def caught(self, program: PyFlinkProgram) -> Crash | None:
        """The last exception of Java that a program caught; None for none."""
        thrown = self._shared.get(client.CAUGHT)
        if thrown is None:
            return None
        found = crash_of(thrown, program, self._request.flink)
        here = self.here()
        frames = () if here is None else (here,)
        hint = "\n".join(filter(None, [found.hint, CAUGHT]))
        return msgspec.structs.replace(found, hint=hint, frames=frames)

    def _told(self, name: str, kind: type[_Told]) -> _Told | None:
        text = text_or_none(self._shared.get(name))
        return None if text is None else msgspec.json.decode(text, type=kind)

    def run(self, program: PyFlinkProgram) -> Crash | None:
        """Run a program to its end; gives how it failed, if it did."""
        self._shared.clear()
        self._restart_numbers()
        self._where.truncate(0)
        with tempfile.TemporaryFile() as failure:
            ends = (self._where.fileno(), failure.fileno())
            self._process = subprocess.Popen(
                [program.python, str(_CLIENT), _places(program), *map(str, ends), *program.arguments],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
                pass_fds=ends,
                cwd=program.folder or None,
                env={
                    **os.environ,
                    **program.environment,
                    _PORT: str(self._server.getListeningPort()),
                    "PYTHONHASHSEED": "0",
                    "PYTHONUNBUFFERED": "1",
                },
            )
            code = self._process.wait()
            failure.seek(0)
            told = failure.read()
        return self._crash(program, code, msgspec.json.decode(told, type=_Failure) if told else None)

    def _restart_numbers(self) -> None:
        """Count nodes of plans and tables without a name from the start, as in a JVM that has planned nothing."""
        if self._numbers is not None:
            self._numbers.restart()
        with suppress(TypeError, jpype.JException):
            counter = flink(_TABLES).class_.getDeclaredField("uniqueId")
            counter.setAccessible(True)
            counter.get(None).set(0)

    def here(self) -> JavaFrame | None:
        """The line of the program that called Java last."""
        data = os.pread(self._where.fileno(), client.WHERE_SIZE, 0)
        return msgspec.json.decode(data, type=JavaFrame) if data.strip() else None

    @property
    def client(self) -> int | None:
        """The id of the process in which the program runs; None before and after it does."""
        return None if self._process is None else self._process.pid

    def stuck(self) -> JavaFrame | None:
        """The line at which the program is."""
        if self._process is not None:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(_WAKE)
        return self.here()

    def completed(self, job: Job, operators: Iterable[Configured], loader: Java) -> Job:
        """A job that was just submitted, with what its functions in Python keep, its statements, and its compiled plan
        where Flink can write it. Operators that the planner made have the line that submits the job.
        """
        keyed = {node.id for node in job.nodes if node.state_keys}
        functions = {one.node: self._function(one, loader, one.node in keyed) for one in operators}
        job = msgspec.structs.replace(
            job,
            python=True,
            nodes=tuple(
                msgspec.structs.replace(
                    node,
                    python=functions.get(node.id),
                    key_selectors=_selectors(node, functions) or node.key_selectors,
                    source=node.source or self.here(),
                )
                for node in job.nodes
            ),
        )
        told = text_or_none(self._shared.remove(client.STATEMENTS))
        pipeline, sql = self._shared.remove(client.PIPELINE), text_or_none(self._shared.remove(client.SQL))
        statements = () if told is None else msgspec.json.decode(told, type=tuple[SqlStatement, ...])
        if pipeline is None:
            return msgspec.structs.replace(job, statements=statements)
        self._numbers = NodeNumbers(pipeline if sql is not None else member(pipeline, "tableEnvironment"))
        plan = self._numbers.as_last(lambda: _compiled(pipeline, sql))
        return msgspec.structs.replace(job, statements=statements, exec_plan=plan)

    def _function(self, operator: Configured, loader: Java, keyed: bool) -> PythonFunction | None:
        """The functions in Python of an operator, and what the first keeps: only that one may have states."""
        made = operator_of(operator.config.getStreamOperatorFactory(loader))
        functions = python_functions(made)
        if not functions:
            return None
        first, *others = (self._described(function, keyed and number == 0) for number, function in enumerate(functions))
        return msgspec.structs.replace(first, key_type=_key_type(made) if keyed else None, chained=tuple(others))

    def _described(self, function: Java, keyed: bool) -> PythonFunction:
        opener = self._shared.get(client.FUNCTIONS)
        asked = json.dumps({"keyed": keyed, "call_open": self._request.call_open})
        try:
            told = opener.apply(function.getSerializedPythonFunction(), java("java.lang.String")(asked))
        except jpype.JException as error:
            return PythonFunction(name="", unknown=f"its function cannot be read: {described(error)}")
        return msgspec.json.decode(str(told), type=PythonFunction)

    def _crash(self, program: PyFlinkProgram, code: int, failure: _Failure | None) -> Crash | None:
        if failure is None:
            return None if code == 0 else _ended(code)
        frames = failure.frames[::-1]
        thrown = self._shared.get(client.FAILURE)
        if thrown is not None:
            found = crash_of(thrown, program, self._request.flink)
            return msgspec.structs.replace(found, frames=frames)
        hint = option = command = None
        if failure.module is not None:
            pip = f"{shlex.quote(program.python)} -m pip"
            command = install(failure.module, pip)
            hint = provided(failure.module) or _COMPAT.format(failure.module, program.python)
            asked = requirement_for(failure.module, program.path, program.root or None) if command is None else None
            if asked is not None:
                command, hint = installing(asked.package, pip), str(asked)
        if (missing := _NO_CLASS.search(failure.message)) is not None:
            name = missing[1] or missing[2]
            hint, option = connector_jars.advice(name) or (_JAR.format(name), CLASSPATH)
        if hint is None and not program.runtime_properties and runtime_file.wants(Path(program.path).read_bytes()):
            hint, option = runtime_file.hint(program.path), given_properties(runtime_file.beside(program.path))
        return Crash(
            type=failure.type,
            message=failure.message,
            frames=frames,
            hint=hint,
            option=option,
            command=command,
            lacks=lack_of(_ending(program, failure)),
        )


def _selectors(node: Node, functions: Mapping[int, PythonFunction | None]) -> tuple[UserCode | None, ...]:
    """The key selector of each input of an operator: the last function before it, which PyFlink adds."""
    found = []
    for edge in node.inputs if node.state_keys else ():
        fed_by = functions.get(edge.source)
        last = None if fed_by is None else (fed_by, *fed_by.chained)[-1]
        keys = last is not None and last.adapter == ADDS_KEYS
        found.append(UserCode(name=last.name, digest=last.code or None, branches=True) if last and keys else None)
    return tuple(found) if any(found) else ()


def _key_type(operator: Java) -> str:
    """The type of the keys of an operator of PyFlink, which come in rows beside the values."""
    name = "inputTypeInfo1" if hasattr(operator, "processElement1") else "inputTypeInfo"
    return f"Row(f0: {member(operator, name).getTypeAt(0)})"


def _places(program: PyFlinkProgram) -> str:
    """The program and where its modules are, for the client."""
    places = {
        "program": program.path,
        "pyfiles": program.pyfiles,
        "outermost": program.root,
        "moved": (program.taken_from, program.root) if program.taken_from else None,
        "properties": program.runtime_properties,
        "strict": program.strict_imports,
    }
    return json.dumps(places)


def _started() -> Java:
    """A gateway server as PyFlink's own, which listens on a free port of this machine."""
    for method in java(_UTILS).class_.getDeclaredMethods():
        if str(method.getName()) == "startGatewayServer":
            method.setAccessible(True)
            return method.invoke(None, [])
    raise LookupError(f"{_UTILS} has no startGatewayServer")


def _compiled(pipeline: Java, sql: str | None) -> str | None:
    """The plan of a pipeline, or of an SQL statement in an environment; None for one that Flink cannot write as a plan."""
    try:
        plan = pipeline.compilePlan() if sql is None else pipeline.compilePlanSql(sql)
        return str(plan.asJsonString())
    except jpype.JException:
        return None


def _ending(program: PyFlinkProgram, failure: _Failure) -> Ending:
    last = failure.frames[-1] if failure.frames else None
    return Ending(
        type=failure.type,
        message=failure.message,
        program=program.path,
        arguments=len(program.arguments),
        value=failure.value,
        modules=failure.modules,
        line="" if last is None else linecache.getline(last.file, last.line).strip(),
        given=frozenset({*os.environ, *program.environment}),
    )


def _ended(code: int) -> Crash:
    return Crash(
        type="ProcessEnded",
        message=f"The program ended its process before it was done, with code {code}.",
        hint="Look for os._exit(), os.abort() or a crash in a native library.",
    )
