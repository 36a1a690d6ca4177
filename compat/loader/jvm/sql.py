"""Runs an SQL script in the JVM as the SQL client does, and compiled plans as ``EXECUTE PLAN`` does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import jpype
from msgspec.structs import replace

from compat.loader.jvm import sql_script
from compat.loader.jvm.bridge import Java, flink, member, set_member
from compat.loader.jvm.capture import configuration
from compat.loader.jvm.catalogs import Catalogs, ChangesElsewhere
from compat.loader.jvm.messages import CompiledPlan, Crash, Request, SqlScript, SqlStatement
from compat.loader.jvm.node_numbers import NodeNumbers
from compat.loader.jvm.program import crash_of

_ROWS = "compat_rows_of_a_query"
_MODE = "execution.runtime-mode"


class StatementFailed(Exception):
    """A statement that Flink refuses."""

    def __init__(self, crash: Crash) -> None:
        super().__init__(crash.message)
        self.crash = crash


class Session:
    """A session of SQL: its table environment, its settings, and the plans compiled in it, by their files.

    ``plan`` is the JSON of the plan of the job that is being submitted, and ``statements`` those that it is made of.
    """

    def __init__(self, request: Request, loader: Java, modes: dict[str, str]) -> None:
        self.plan: Callable[[], str | None] = lambda: None
        self.statements: tuple[SqlStatement, ...] = ()
        self._ask = False
        self._request = request
        self._initial = {**request.options, **modes}
        settings = flink("table.api.EnvironmentSettings").newInstance()
        settings.withConfiguration(configuration(self._initial)).withClassLoader(loader)
        self._environment = flink("table.api.TableEnvironment").create(settings.build())
        for key, value in self._initial.items():
            self._environment.getConfig().set(key, value)
        self._catalogs = Catalogs(self._environment)
        self._compiled: dict[str, str] = {}
        self._inserts: dict[str, tuple[SqlStatement, ...]] = {}
        NodeNumbers(self._environment).restart()

    @property
    def loader(self) -> Java:
        """The class loader of the session: it has the jars that ADD JAR named."""
        return member(self._environment, "resourceManager").getUserClassLoader()

    def run(self, script: SqlScript) -> None:
        """Run all statements of a script. Raises StatementFailed."""
        self._ask = sql_script.asks_only(script.text)
        for statement in sql_script.statements(script.text):
            try:
                self._run(statement, Path(script.path).parent)
            except jpype.JException as error:
                raise StatementFailed(_crash(error, statement, script, self._request.flink)) from error
            except ChangesElsewhere as error:
                raise StatementFailed(replace(error.crash, statement=statement)) from error
            except OSError as error:
                said = f"The plan cannot be read: {error}."
                raise StatementFailed(Crash(type="OSError", message=said, statement=statement)) from error

    def run_plan(self, plan: CompiledPlan) -> None:
        """Submit the job of a compiled plan."""
        self.plan = lambda: plan.text
        self._load(plan.text).execute()

    def _run(self, statement: SqlStatement, folder: Path) -> None:
        text = statement.text
        config = self._environment.getConfig()
        if (option := sql_script.setting(text)) is not None:
            config.set(*option)
        elif (key := sql_script.reset(text)) is not None:
            self._reset(config.getConfiguration(), key)
        elif (planned := sql_script.plan_statement(text)) is not None:
            self._planned(planned, statement, folder)
        elif not sql_script.is_settings_list(text) and (self._ask or not sql_script.is_query(text)):
            self.statements = tuple(sql_script.members(statement)) if sql_script.submits(text) else (statement,)
            self._renew()
            numbers = NodeNumbers(self._environment)
            plans = sql_script.submits(text) or sql_script.is_query(text)
            self.plan = lambda: numbers.as_before(lambda: self._compile(text)) if plans else None
            if (settled := self._catalogs.settled(sql_script.executable(text))) is not None:
                self._environment.executeSql(settled)

    def _planned(self, planned: sql_script.PlanStatement, statement: SqlStatement, folder: Path) -> None:
        """Plans are compiled in memory: a check leaves the user's files alone."""
        there = next((path for path in (Path(planned.path), folder / planned.path) if path.is_file()), None)
        if planned.statement is not None and not (planned.keep and there is not None):
            self._compiled[planned.path] = self._compiled_plan(planned.statement)
            before = statement.text[: statement.text.index(planned.statement)].count("\n")
            inner = SqlStatement(text=planned.statement, line=statement.line + before, end_line=statement.line + before)
            self._inserts[planned.path] = tuple(sql_script.members(inner))
        if planned.execute:
            text = self._compiled.get(planned.path) or (there or Path(planned.path)).read_text(encoding="utf-8")
            self.statements = self._inserts.get(planned.path, (statement,))
            self.plan = lambda: text
            self._load(text).execute()

    def _renew(self) -> None:
        """Give the next job an environment of its own, so that options that were reset are gone."""
        fresh = flink("streaming.api.environment.StreamExecutionEnvironment").getExecutionEnvironment()
        with suppress(AttributeError):
            set_member(member(self._environment, "execEnv"), "executionEnvironment", fresh)

    def _load(self, text: str) -> Java:
        self._renew()
        return self._environment.loadPlan(flink("table.api.PlanReference").fromJsonString(text))

    def _compile(self, text: str) -> str | None:
        """The plan of a statement; None for one that Flink cannot write as a plan."""
        try:
            return self._compiled_plan(text)
        except jpype.JException:
            return None

    def _compiled_plan(self, text: str) -> str:
        """The plan of an INSERT or a statement set, or of a query as if its rows were written to a table."""
        if sql_script.is_query(text):
            return self._query_plan(text)
        inserts = sql_script.members(SqlStatement(text=text, line=1, end_line=1))
        together = self._environment.createStatementSet()
        for insert in inserts:
            together.addInsertSql(insert.text)
        return self._catalogs.shown(str(together.compilePlan().asJsonString()))

    def _query_plan(self, text: str) -> str:
        """The plan of a query: Flink writes none, but for one of an INSERT into a table of the same columns."""
        rows = self._environment.sqlQuery(text)
        schema = flink("table.api.Schema").newBuilder().fromResolvedSchema(rows.getResolvedSchema()).build()
        table = flink("table.api.TableDescriptor").forConnector("blackhole").schema(schema).build()
        self._environment.createTemporaryTable(_ROWS, table)
        try:
            return self._catalogs.shown(str(rows.insertInto(_ROWS).compilePlan().asJsonString()))
        finally:
            self._environment.dropTemporaryTable(_ROWS)

    def _reset(self, config: Java, key: str) -> None:
        keys = [key] if key else [str(one) for one in config.keySet()]
        for one in keys:
            config.removeKey(one)
            if one in self._initial:
                config.setString(one, self._initial[one])


def modes_of(script: SqlScript) -> dict[str, str]:
    """The settings that a table environment can only be made with, as the script has them last."""
    pairs = [sql_script.setting(one.text) for one in sql_script.statements(script.text)]
    return {key: value for key, value in (pair for pair in pairs if pair is not None) if key == _MODE}


def _crash(error: Java, statement: SqlStatement, script: SqlScript, version: str) -> Crash:
    """The error in a statement: Flink says it in the innermost of its exceptions."""
    found = crash_of(error, script, version)
    return replace(found, frames=(), statement=statement)
