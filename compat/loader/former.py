"""Names of PyFlink's API that only some versions have: since when, and what replaces them.

The removals are recorded from PyFlink's packages, from 1.13 to 2.3: the first version without the name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from msgspec import Struct

from compat.compiler.versions import FLINK_VERSIONS
from compat.state.model.job import Plan, Refused
from compat.state.model.source_line import SourceLine


class Former(Struct, frozen=True):
    """A former name of PyFlink, the first version of Flink without it, and its replacement."""

    name: str
    ended: str
    now: str
    whose: str = "PyFlink"

    def __str__(self) -> str:
        return f"{self.name} ended with Flink {self.ended}: {self.now}."

    @property
    def had_by(self) -> str | None:
        """The last supported version that has it; None if none has."""
        having = [one for one in FLINK_VERSIONS if _number(one) < _number(self.ended)]
        return having[-1] if having else None


class Use(Struct, frozen=True):
    """A line of a program that uses a former name."""

    line: int
    former: Former


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _all(ended: str, now: str, *names: str) -> dict[str, Former]:
    """Former names by what they are looked up by: a module, a class, or a class with its method, which is told alone."""
    return {name: Former(_told(name), ended, now) for name in names}


def _told(name: str) -> str:
    return name if name.startswith("pyflink") or "." not in name else f"{name.partition('.')[2]}()"


_TABLE = "write CREATE TABLE … WITH ('connector' = …) in execute_sql()"
_BATCH = "write TableEnvironment.create(EnvironmentSettings.in_batch_mode())"
_ONE_PLANNER = "remove the call, there is only one planner"

_MODULES = {
    **_all("1.14", f"{_BATCH}, or a StreamExecutionEnvironment in batch mode", "pyflink.dataset"),
    **_all("2.0", _TABLE, "pyflink.table.sources", "pyflink.table.sinks"),
}
_NAMES = {
    **_all("1.14", _BATCH, "BatchTableEnvironment"),
    **_all(
        "1.14",
        _TABLE,
        *("Avro", "Csv", "CustomConnectorDescriptor", "CustomFormatDescriptor", "Elasticsearch", "FileSystem", "HBase"),
        *("Json", "Kafka", "OldCsv", "ConnectTableDescriptor", "StreamTableDescriptor", "BatchTableDescriptor"),
    ),
    **_all("2.0", _TABLE, "CsvTableSource", "CsvTableSink", "TableSource", "TableSink", "WriteMode"),
}
"""The classes of ``pyflink.table``, with their modules."""
_MEMBERS = {
    **_all("1.14", _TABLE, "TableEnvironment.connect"),
    **_all("1.15", _ONE_PLANNER, "Builder.use_blink_planner", "Builder.use_old_planner", "Builder.use_any_planner"),
    **_all("1.15", "write execute_sql()", "TableEnvironment.sql_update"),
    **_all("1.15", "write Table.execute_insert(), which submits the job itself", "TableEnvironment.insert_into"),
    **_all("1.15", "write execute_insert(), which submits the job itself", "table.insert_into"),
    **_all("1.15", "execute_sql() and Table.execute_insert() submit their jobs themselves", "TableEnvironment.execute"),
    **_all("1.15", "write explain_sql(), or Table.explain()", "TableEnvironment.explain"),
    **_all("2.0", _TABLE, "TableEnvironment.register_table_source", "TableEnvironment.register_table_sink"),
    **_all("2.0", _TABLE, "TableEnvironment.from_table_source"),
    **_all("2.0", "write create_temporary_function()", "TableEnvironment.register_function"),
    **_all("2.0", "write create_java_temporary_function()", "TableEnvironment.register_java_function"),
    **_all("2.0", "write create_temporary_view()", "TableEnvironment.register_table"),
    **_all("2.0", "write from_path()", "TableEnvironment.scan"),
    **_all("2.0", "write set_idle_state_retention()", "TableConfig.set_idle_state_retention_time"),
}
_TO_RELEASE = "its connector's release is for Flink 1, take one for Flink 2"
_CLASSES = {
    f"{package}.{name}": Former(name, "2.0", now, whose="Flink")
    for package, now, names in (
        ("org.apache.flink.streaming.connectors.kafka", "write KafkaSource", ("FlinkKafkaConsumer",)),
        ("org.apache.flink.streaming.connectors.kafka", "write KafkaSink", ("FlinkKafkaProducer",)),
        (
            "org.apache.flink.streaming.api.functions.source",
            _TO_RELEASE,
            ("SourceFunction", "RichSourceFunction", "ParallelSourceFunction", "RichParallelSourceFunction"),
        ),
        ("org.apache.flink.streaming.api.functions.sink", _TO_RELEASE, ("SinkFunction", "RichSinkFunction")),
    )
    for name in names
}
"""The Java classes that programs, and the connectors that they name, ask for."""
_OF_OLD_KIND = {one.name: one for name, one in _CLASSES.items() if ".connectors.kafka." in name}
"""The sources and sinks whose Python classes stayed when the Java classes were removed, by their names in plans."""
_COMMON_WORDS = frozenset(
    {"connect", "execute", "explain", "insert_into", "register_function", "register_table", "scan"}
)
"""Methods whose names other objects have too: they count only on objects known to be table environments."""
_ENVIRONMENTS = ("TableEnvironment", "StreamTableEnvironment", "BatchTableEnvironment")
_LACKING = (
    re.compile(r"No module named '(?P<owner>pyflink[\w.]*)'(?P<name>)"),
    re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<owner>pyflink[\w.]*)'"),
    re.compile(r"module '(?P<owner>pyflink[\w.]*)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"'(?P<owner>\w+)' object has no attribute '(?P<name>\w+)'"),
    re.compile(r"(?P<owner>)name '(?P<name>\w+)' is not defined"),
    re.compile(r"The current (?P<owner>table) has no column named '(?P<name>\w+)'"),
    re.compile(r"the Java class '(?P<owner>[\w.]+)\.(?P<name>\w+)'"),
    re.compile(r"The class (?P<owner>[\w.]+)\.(?P<name>\w+) is missing"),
    re.compile(r"type object '(?P<owner>\w+)' has no attribute '(?P<name>\w+)'"),
)
"""Python's messages for what a version of PyFlink lacks: a module, a name of a module or a class, or one from ``import *``."""


_ML = "The package apache-flink-ml has it, whose releases are for PyFlink up to 1.17."
_EXPRESSIONS = ("col", "lit", "call", "row", "if_then_else", "concat", "range_", "with_columns", "null_of")
_TABLES = ("TableEnvironment", "StreamTableEnvironment", "Table", "TableConfig", "GroupedTable", "TableResult")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def former_of(owner: str, name: str) -> Former | None:
    """The record of a former name of PyFlink in a module or a class, its ``owner``; without a name, of the module itself."""
    if not owner:
        return _NAMES.get(name)
    if owner.startswith("pyflink"):
        module = next((one for one in _MODULES if owner == one or owner.startswith(f"{one}.")), None)
        named = _NAMES.get(name) if owner.startswith("pyflink.table") else None
        return named or (None if module is None else _MODULES[module])
    return _CLASSES.get(f"{owner}.{name}") or _MEMBERS.get(
        f"{'TableEnvironment' if owner in _ENVIRONMENTS else owner}.{name}"
    )


def advice(owner: str, name: str, flink: str) -> tuple[str | None, str | None]:
    """The advice for a name that the PyFlink of a Flink version lacks: a version that has it, and a sentence; None if
    no version is known to have had it.
    """
    from compat.compiler.datastream.served import versions_with, versions_with_member

    former = former_of(owner, name)
    if former is not None:
        other = former.had_by
        has = (
            ""
            if other in (None, flink)
            else f" {former.whose} {other} still has it: give --flink {other} if the job runs on that."
        )
        return None if other == flink else other, f"{former}{has}"
    if owner.startswith("pyflink"):
        having = versions_with(owner, name) or versions_with(f"{owner}.{name}")
    else:
        having = versions_with_member(owner, name)
        if not having:
            return None, _had_by_none(owner, name, flink)
        if flink in having:
            return None, None
    others = [one for one in having if one != flink]
    if others:
        said = f"PyFlink {others[0]} has it, and {flink} has not: give --flink {others[0]} if the job runs on that."
        return others[0], said
    if f"{owner}.{name}".startswith("pyflink.ml"):
        return None, _ML
    if owner == "pyflink.table" and name in _EXPRESSIONS:
        return None, f"PyFlink has it in another place: from pyflink.table.expressions import {name}."
    return None, _elsewhere(name, flink) or f"PyFlink {flink} has no such name."


def _elsewhere(name: str, flink: str) -> str | None:
    """Where PyFlink has a name that a program looks for in another place; None for nowhere."""
    from compat.compiler.datastream.served import homes_of

    moved = homes_of(name)
    if not moved:
        return None
    known = flink if flink in moved else next(iter(moved))
    return f"PyFlink {known} has it in another place: from {moved[known]} import {name}."


def _had_by_none(owner: str, name: str, flink: str) -> str | None:
    """What to say of a method or field that no version gives to a class of PyFlink; None for a class of the program's."""
    from compat.compiler.datastream.served import members_of

    members = members_of(flink, owner)
    if not members:
        in_java = owner in _TABLES and re.search("[a-z][A-Z]", name)
        return f"PyFlink writes names of Java with underscores: {_CAPITAL.sub('_', name).lower()}." if in_java else None
    alike = get_close_matches(name, members, cutoff=0.7)
    instead = f" It has {', '.join(alike)}." if alike else " Leave it out." if name[:1].islower() else ""
    return _elsewhere(name, flink) or f"No version of PyFlink has {owner}.{name}.{instead}"


def advice_on(message: str, flink: str) -> tuple[str | None, str | None]:
    """:func:`advice` for a Python message about a missing name."""
    found = next(filter(None, (pattern.search(message) for pattern in _LACKING)), None)
    return (None, None) if found is None else advice(found["owner"], found["name"], flink)


def passed_over(name: str) -> str:
    """The note on a builder call that a version of PyFlink lacks, and that changes nothing."""
    return str(_MEMBERS[f"Builder.{name}"])


def is_passed_over(former: Former) -> bool:
    """Whether a program is built in spite of a former name: the call changes nothing."""
    return any(_MEMBERS[one] == former for one in _MEMBERS if one.startswith("Builder."))


def uses(source: bytes) -> list[Use]:
    """The lines of a program that use former names, in order; only what is certain without running it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    environments = _environments(tree)
    found = [use for node in ast.walk(tree) for use in _uses_of(node, environments)]
    if any(isinstance(node, ast.ImportFrom) and _gives_all_of_tables(node) for node in ast.walk(tree)):
        names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
        found += [Use(node.lineno, _NAMES[node.id]) for node in names if node.id in _NAMES]
    return sorted(found, key=lambda one: one.line)


def _uses_of(node: ast.AST, environments: frozenset[str]) -> Iterator[Use]:
    match node:
        case ast.Import(names=names):
            lacking = [(alias.name, "") for alias in names if alias.name.startswith("pyflink.")]
        case ast.ImportFrom(module=str(module), names=names) if module.startswith("pyflink"):
            lacking = [(module, alias.name) for alias in names]
        case ast.Attribute(value=value, attr=name):
            on_environment = isinstance(value, ast.Name) and value.id in environments
            owners = [member.partition(".")[0] for member in _MEMBERS if member.endswith(f".{name}")]
            if name in _COMMON_WORDS:
                owners = ["TableEnvironment"] if on_environment else []
            lacking = [(owner, name) for owner in owners]
        case _:
            return
    assert isinstance(node, ast.stmt | ast.expr)
    yield from (Use(node.lineno, one) for owner, name in lacking if (one := former_of(owner, name)) is not None)


def _gives_all_of_tables(node: ast.ImportFrom) -> bool:
    return (node.module or "").startswith("pyflink.table") and any(alias.name == "*" for alias in node.names)


def _environments(tree: ast.AST) -> frozenset[str]:
    """The names of variables that hold a table environment: assigned from one of its makers, and nothing else."""
    made: dict[str, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            made[name] = _makes_one(node.value) and made.get(name, True)
    return frozenset(name for name, always in made.items() if always)


def _makes_one(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and isinstance(value.func.value, ast.Name)
        and value.func.value.id in _ENVIRONMENTS
    )


def gone(plan: Plan | Refused, flink: str) -> Iterator[tuple[Former, SourceLine | None]]:
    """The classes of a plan's operators that a version of Flink has removed, with the lines that created them."""
    for operator in plan.operators if isinstance(plan, Plan) else ():
        former = _OF_OLD_KIND.get(str(operator.detail.get("class")))
        if former is not None and lacks(flink, former):
            yield former, operator.source


def needed(found: Sequence[Use], flink: str) -> Use | None:
    """The first use of a name that an earlier supported version has, and the program's version lacks."""
    return next((use for use in found if lacks(flink, use.former) and use.former.had_by is not None), None)


def lacks(flink: str, former: Former) -> bool:
    """Whether the PyFlink of a version of Flink no longer has a name."""
    return _number(flink) >= _number(former.ended)
