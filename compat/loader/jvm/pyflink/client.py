"""Runs a program as ``__main__`` under the real PyFlink of this interpreter, whose gateway is a JVM that ``compat`` holds.

This file runs in the user's interpreter, which may lack compat: it imports only the standard library and PyFlink, in the syntax
of Python 3.8. It tells the JVM's side what that cannot see: it writes the line of the program that calls Flink into a shared
file. It puts the job that is about to be executed, and the object that opens functions, into the gateway's map.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this file's folder: its modules hide others of the same names

import functools
import importlib
import importlib.util
import json
import os
import re
import signal
import types
import typing

STATEMENTS, PIPELINE, SQL, FUNCTIONS, FAILURE, CAUGHT, ABSENT, MISSED, FORMER, ENDLESS = (
    "compat." + name
    for name in (
        "statements",
        "pipeline",
        "sql",
        "functions",
        "failure",
        "caught",
        "absent",
        "missed",
        "former",
        "endless",
    )
)
_SUBMITS = re.compile(
    r"c\n\w+\n(?:(?:execute|executeAsync|executeInsert)\n|executeSql\ns(?:\\n|\s)*(?:INSERT|EXECUTE|BEGIN|WITH)\b)",
    re.IGNORECASE,
)
"""The calls of Java, as Py4J writes them, that submit a job."""
_PLANNERS = ("use_blink_planner", "use_any_planner")
"""Calls of PyFlink before 1.15 that choose the planner which is the only one since: they change nothing."""
WHERE_SIZE = 8192
_HERE = os.path.abspath(__file__)
_LOADER = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
_FRAMES = 20


class Where:
    """The running line of the program, for readers in another process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.last: bytes | None = None
        self._foreign: dict[str, bool] = {}
        py4j, pyflink = map(importlib.import_module, ("py4j", "pyflink"))
        folders = [os.path.dirname(os.path.abspath(str(one.__file__))) for one in (pyflink, py4j, os)]
        self._folders = tuple(folder + os.sep for folder in folders)
        self._packages = folders[2] + os.sep + "site-packages" + os.sep

    def is_foreign(self, file: str) -> bool:
        """True for code of Python, PyFlink or compat; modules that the user installed are the program's."""
        known = self._foreign.get(file)
        if known is None:
            inner = file.startswith(self._folders[2]) and not file.startswith(self._packages)
            ours = os.path.dirname(file) in (os.path.dirname(_HERE), _LOADER)
            example = file.startswith(self._folders[0] + "examples" + os.sep)
            known = (ours or file.startswith(("<frozen", *self._folders[:2])) or inner) and not example
            self._foreign[file] = known
        return known

    def frame(self, frame: typing.Any) -> dict[str, typing.Any] | None:
        """The innermost line of the program on a stack."""
        while frame is not None:
            file = frame.f_code.co_filename
            if not self.is_foreign(file):
                return {"file": file, "line": frame.f_lineno, "method": frame.f_code.co_name}
            frame = frame.f_back
        return None

    def tell(self, frame: typing.Any) -> None:
        """Write the line at which a stack is."""
        found = self.frame(frame)
        if found is None:
            return
        data = json.dumps(found).encode() + b"\n"
        if data != self.last and len(data) <= WHERE_SIZE:
            self.last = data
            os.pwrite(self._descriptor, data.ljust(WHERE_SIZE), 0)


class Statements:
    """What the program asks the Table API to execute, put into the gateway's map before it is executed.

    A statement has its text, which for the methods of the Table API is the SQL that has their meaning, and its line.
    """

    def __init__(self, where: Where) -> None:
        self._where = where
        self._sets: dict[int, list[dict[str, typing.Any]]] = {}
        self._watching = False
        self.former: dict[str, None] = {}

    def watch(self) -> None:
        """Watch the Table API, once the program has imported it."""
        if self._watching or "pyflink.table.statement_set" not in sys.modules:
            return
        if "pyflink.table.table_environment" not in sys.modules:
            return
        self._watching = True
        from pyflink.table import EnvironmentSettings, StatementSet, Table, TableEnvironment

        self._before(TableEnvironment, "execute_sql", self._sql)
        self._before(Table, "execute_insert", self._insert)
        self._before(StatementSet, "add_insert_sql", self._add_sql)
        self._before(StatementSet, "add_insert", self._add_insert)
        self._before(StatementSet, "add", self._add)
        self._before(StatementSet, "execute", self._set)
        self._choose_planner(EnvironmentSettings.Builder)
        pipelines = sys.modules.get("pyflink.table.table_pipeline")
        if pipelines is not None:
            self._before(pipelines.TablePipeline, "execute", self._pipeline)

    @staticmethod
    def _before(owner: typing.Any, name: str, tell: typing.Any) -> None:
        method = getattr(owner, name, None)
        if method is None:
            return

        @functools.wraps(method)
        def watched(*given: typing.Any, **named: typing.Any) -> typing.Any:
            try:
                tell(*given, **named)
            except Exception as error:  # the program gets Flink's own answer
                print("compat:", name, error, file=sys.stderr)
            return method(*given, **named)

        setattr(owner, name, watched)

    def _choose_planner(self, builder: typing.Any) -> None:
        """Let the program choose the one planner, by calls that later versions of PyFlink lack."""

        def chosen(name: str) -> typing.Any:
            def choose(made: typing.Any) -> typing.Any:
                self.former[name] = None
                return made

            return choose

        for name in _PLANNERS:
            if name not in vars(builder):
                setattr(builder, name, chosen(name))

    def _statement(self, text: str) -> dict[str, typing.Any]:
        frame = self._where.frame(sys._getframe(1)) or {}
        line = frame.get("line", 0)
        return {"text": text, "line": line, "end_line": line, "file": frame.get("file", "")}

    @staticmethod
    def _put(statements: list[typing.Any], pipeline: typing.Any, sql: str | None = None) -> None:
        from pyflink.java_gateway import get_gateway

        shared = get_gateway().entry_point
        shared.put(STATEMENTS, json.dumps(statements))
        shared.put(PIPELINE, pipeline)
        if sql is None:
            shared.remove(SQL)
        else:
            shared.put(SQL, sql)

    def _sql(self, environment: typing.Any, stmt: str) -> None:
        if stmt.lstrip().partition(" ")[0].upper().startswith(("INSERT", "EXECUTE", "CREATE", "REPLACE")):
            self._put([self._statement(stmt)], environment._j_tenv, stmt)

    def _insert(self, table: typing.Any, target: typing.Any, overwrite: bool = False) -> None:
        pipeline = table._j_table.insertInto(target, overwrite) if isinstance(target, str) else None
        self._put([self._statement(_insert_text(target, overwrite))], pipeline)

    def _add_sql(self, statements: typing.Any, stmt: str) -> None:
        self._sets.setdefault(id(statements), []).append(self._statement(stmt))

    def _add_insert(
        self, statements: typing.Any, target: typing.Any, table: typing.Any, overwrite: bool = False
    ) -> None:
        self._sets.setdefault(id(statements), []).append(self._statement(_insert_text(target, overwrite)))

    def _add(self, statements: typing.Any, pipeline: typing.Any) -> None:
        self._sets.setdefault(id(statements), []).append(self._statement(_pipeline_text(pipeline)))

    def _set(self, statements: typing.Any) -> None:
        self._put(self._sets.pop(id(statements), []), statements._j_statement_set)

    def _pipeline(self, pipeline: typing.Any) -> None:
        self._put([self._statement(_pipeline_text(pipeline))], pipeline._j_table_pipeline)


def _insert_text(target: typing.Any, overwrite: bool) -> str:
    sink = target if isinstance(target, str) else str(target._j_table_descriptor.toString())
    return ("INSERT OVERWRITE " if overwrite else "INSERT INTO ") + sink


def _pipeline_text(pipeline: typing.Any) -> str:
    found = pipeline._j_table_pipeline.getSinkIdentifier()
    return "INSERT INTO " + str(found.get().asSerializableString() if found.isPresent() else "a table without a name")


class Functions:
    """Opens functions of the program that Flink holds as bytes, and tells the states that they ask for."""

    def __init__(self, where: Where, absent: typing.Any) -> None:
        self._where = where
        self._absent = absent

    def apply(self, payload: typing.Any, asked: typing.Any) -> str:
        """A description of a function, as JSON; so is how it is asked for."""
        describe = _module("functions").describe
        given = {"digest_of": _module("alike").digest_of, **json.loads(asked)}
        return json.dumps(self._absent.opening(lambda: describe(bytes(payload), self._where, **given)))

    class Java:
        """The interface that Java sees."""

        implements: typing.ClassVar[list[str]] = ["java.util.function.BiFunction"]


def _module(name: str) -> typing.Any:
    """A file beside this one as a module."""
    path = os.path.normpath(os.path.join(os.path.dirname(_HERE), name + ".py"))
    spec = importlib.util.spec_from_file_location("compat_" + os.path.basename(name), path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _failure(error: BaseException, where: Where) -> dict[str, typing.Any]:
    """An exception in words, with the lines of the program, outermost first."""
    frames = []
    modules = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        modules.append(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        if not where.is_foreign(code.co_filename):
            frames.append({"file": code.co_filename, "line": trace.tb_lineno, "method": code.co_name})
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename is not None:
        frames.append({"file": error.filename, "line": error.lineno or 1, "method": "<module>"})
    return {
        "type": type(error).__name__,
        "message": _message(error),
        "frames": frames[-_FRAMES:],
        "module": error.name if isinstance(error, ModuleNotFoundError) else None,
        "value": _value(error),
        "modules": modules,
    }


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"The program called sys.exit({error.code!r})." if isinstance(error.code, int) else str(error.code)
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _value(error: BaseException) -> str | None:
    """The key or the file that an exception is about."""
    value = error.filename if isinstance(error, FileNotFoundError) else None
    if isinstance(error, KeyError) and error.args:
        value = error.args[0]
    return value if isinstance(value, str) else None


def _java_exception(error: BaseException | None) -> typing.Any:
    """The exception of Java behind one of Python."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        found = getattr(error, "java_exception", None)
        if found is not None:
            return found
        error = error.__cause__ or error.__context__
    return None


def _run(places: dict[str, typing.Any], arguments: list[str]) -> None:
    """Run a program as compat itself does, with its modules where ``places`` say: see ``compat/loader/layout.py``."""
    path = places["program"]
    with open(path, "rb") as file:
        source = file.read()
    layouts = _module(os.path.join(os.pardir, os.pardir, "layout"))
    layout = layouts.find_layout(path, source, places["pyfiles"], places["outermost"], places["moved"])
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    sys.argv = [path, *arguments]
    layout.enter()
    runtime_file = _module(os.path.join(os.pardir, os.pardir, "runtime_file"))
    code = runtime_file.served(compile(source, path, "exec", dont_inherit=True), places["properties"])
    layouts.run_name(layout, main)
    exec(code, main.__dict__)


def _watch_calls(where: Where, statements: Statements, caught: Caught) -> list[int]:
    """Tell the line of the program before each call of Java; the one item of what it gives counts those that submit a job."""
    from py4j.java_gateway import GatewayClient

    send, submitted = GatewayClient.send_command, [0]

    @functools.wraps(send)
    def watched(self: typing.Any, command: str, *given: typing.Any, **named: typing.Any) -> typing.Any:
        where.tell(sys._getframe(1))
        caught.call(command)
        statements.watch()
        submitted[0] += _SUBMITS.match(command) is not None
        return send(self, command, *given, **named)

    GatewayClient.send_command = watched
    return submitted


class Caught:
    """The last exception of Java that a call of the program threw, which the program may catch, and say nothing of."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._line: bytes | None = None
        self.exception: typing.Any = None

    def keep(self, exception: typing.Any) -> None:
        """Keep an exception that was thrown just now."""
        self._line, self.exception = self._where.last, exception

    def call(self, command: str) -> None:
        """Forget the exception where the line of the program that got it calls Java again: PyFlink itself caught it."""
        if self._line == self._where.last and not command.startswith("m\n"):
            self.exception = None


def _watch_answers(caught: Caught) -> None:
    """Keep what calls of Java throw."""
    gateways = importlib.import_module("py4j.java_gateway")
    answer = gateways.get_return_value

    @functools.wraps(answer)
    def watched(*given: typing.Any, **named: typing.Any) -> typing.Any:
        try:
            return answer(*given, **named)
        except BaseException as error:
            java = _java_exception(error)
            if java is not None:
                caught.keep(java)
            raise

    vars(gateways)["get_return_value"] = watched


def _watch_environment(where: Where) -> dict[str, typing.Any]:
    """Note each missing variable that the program asks for without a default, with the line."""
    missed: dict[str, typing.Any] = {}

    class Watched(os._Environ):  # type: ignore[type-arg]
        def get(self, key: typing.Any, default: typing.Any = None) -> typing.Any:
            asks = sys._getframe(1)
            asks = asks.f_back or asks if asks.f_code is os.getenv.__code__ else asks
            if default is None and key not in self and not where.is_foreign(asks.f_code.co_filename):
                missed.setdefault(str(key), where.frame(asks))
            return super().get(key, default)

    os.environ.__class__ = Watched
    return missed


def _own_ids() -> None:
    """Have Java know this process's objects by other ids than those of the processes that it served before.

    It tells the process that it serves which objects it needs no more, also of those that are gone.
    """
    from py4j.java_gateway import PythonProxyPool

    begin = PythonProxyPool.__init__

    def begun(pool: typing.Any) -> None:
        begin(pool)
        pool.next_id = os.getpid() << 16

    PythonProxyPool.__init__ = begun


def main() -> None:
    """Run the program that the arguments name: where it and its modules are, two file descriptors, and its own arguments."""
    places, where_end, failure_end = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    arguments = sys.argv[4:]
    from pyflink.java_gateway import get_gateway

    where = Where(where_end)
    signal.signal(signal.SIGUSR1, lambda _, frame: where.tell(frame))
    _own_ids()
    gateway = get_gateway()
    _module("alike").write_alike()
    absent = _module("absent").Finder(where, _module(os.path.join(os.pardir, os.pardir, "env_file")))
    gateway.entry_point.put(FUNCTIONS, Functions(where, absent))
    statements, caught = Statements(where), Caught(where)
    calls = _watch_calls(where, statements, caught)
    endless = _module(os.path.join(os.pardir, os.pardir, "endless"))
    waited = endless.end_behind_jobs(lambda: calls[0], lambda file: not where.is_foreign(file))
    _watch_answers(caught)
    missed = _watch_environment(where)
    if not places["strict"]:
        sys.meta_path.append(absent)
    failure: dict[str, typing.Any] | None = None
    try:
        _run(places, arguments)
    except endless.Endless:
        pass  # the program is judged by the jobs before
    except SystemExit as error:
        if error.code not in (None, 0):
            failure = _failure(error, where)
    except BaseException as error:
        failure = _failure(absent.instead_of(error), where)
        java = _java_exception(error)
        if java is not None:
            gateway.entry_point.put(FAILURE, java)
    if failure is None and absent.refused is not None:
        failure = _failure(absent.refused, where)
    if failure is None and caught.exception is not None:
        gateway.entry_point.put(CAUGHT, caught.exception)
    gateway.entry_point.put(ENDLESS, json.dumps(waited))
    gateway.entry_point.put(FORMER, json.dumps(list(statements.former)))
    gateway.entry_point.put(ABSENT, json.dumps(list(absent.names)))
    gateway.entry_point.put(MISSED, json.dumps(missed))
    if failure is not None:
        os.pwrite(failure_end, json.dumps(failure).encode(), 0)
    os._exit(0)


if __name__ == "__main__":
    main()
