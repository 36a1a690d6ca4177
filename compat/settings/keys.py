"""The keys of settings files: one table, from which the reader, the reference and the schema are made."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from compat.settings import kinds
from compat.settings.kinds import Kind

PARALLELISM = "parallelism.default"


class Key(Struct, frozen=True, kw_only=True):
    """A key of a settings file. ``default`` and ``says`` are texts for people; ``of_job`` marks keys that a single job
    may have too. ``field`` names the target of the value: a field of Settings, or after ``jars.`` one of FlinkJars;
    empty for keys with their own code.
    """

    name: str
    kind: Kind
    says: str
    default: str = ""
    field: str = ""
    of_job: bool = False


KEYS = (
    Key(
        name="jobs",
        kind=kinds.PATTERNS,
        field="jobs",
        says="The files of the project's jobs; ** stands for folders of any depth, as in jobs/**/*.py.",
    ),
    Key(
        name="baseline",
        kind=kinds.BASELINE,
        says="Findings that are ignored, and the revision that jobs are compared with.",
    ),
    Key(
        name="fail-on",
        kind=kinds.LEVEL,
        field="fail_on",
        default="error",
        says="Exit with 1 for findings of this level or worse.",
    ),
    Key(
        name="allow-unknown",
        kind=kinds.FLAG,
        field="allow_unknown",
        default="false",
        says="Open questions do not fail the check.",
    ),
    Key(
        name="allow-non-restored-state",
        kind=kinds.FLAG,
        field="allow_non_restored_state",
        default="false",
        says="Skip savepoint state that cannot be restored.",
    ),
    Key(name="ignore", kind=kinds.IGNORES, field="ignore", says="Rules whose findings are ignored."),
    Key(name="output", kind=kinds.OUTPUTS, field="output", default="text", says="The reports to make."),
    Key(
        name="flink",
        kind=kinds.FLINK,
        field="flink",
        default="what the project pins, else 2.3",
        says="The version of Flink to follow.",
        of_job=True,
    ),
    Key(name="options", kind=kinds.OPTIONS, says="Flink options, as given by -D.", of_job=True),
    Key(
        name="parallelism",
        kind=kinds.COUNT,
        default="1",
        says="The option parallelism.default.",
        of_job=True,
    ),
    Key(
        name="timeout",
        kind=kinds.SECONDS,
        field="timeout",
        default="30",
        says="Seconds a program may take to build.",
        of_job=True,
    ),
    Key(
        name="no-open",
        kind=kinds.FLAG,
        field="no_open",
        default="false",
        says="Do not call open() to find out states.",
        of_job=True,
    ),
    Key(
        name="exact",
        kind=kinds.FLAG,
        field="exact",
        default="false",
        says="Have PyFlink itself build DataStream programs too.",
        of_job=True,
    ),
    Key(
        name="pyfiles",
        kind=kinds.PATHS,
        field="pyfiles",
        says="Modules, folders and archives that Python programs import from.",
        of_job=True,
    ),
    Key(
        name="env",
        kind=kinds.VARIABLES,
        field="environment",
        says="Environment variables of programs in Python and of jars.",
        of_job=True,
    ),
    Key(
        name="strict-imports",
        kind=kinds.FLAG,
        field="strict_imports",
        default="false",
        says="Fail where a module is not installed.",
        of_job=True,
    ),
    Key(
        name="pyflink",
        kind=kinds.PYTHON,
        field="jars.pyflink",
        default="COMPAT_PYFLINK, or the Python that runs compat",
        says="A Python interpreter with PyFlink, for programs with the Table API.",
        of_job=True,
    ),
    Key(
        name="classpath",
        kind=kinds.PATHS,
        field="jars.classpath",
        says="For jars and SQL: jars, folders, or DIR/*.",
        of_job=True,
    ),
    Key(
        name="connectors",
        kind=kinds.CONNECTORS,
        field="jars.connectors",
        says="Connectors and formats to download.",
        of_job=True,
    ),
    Key(
        name="flink-home",
        kind=kinds.FOLDER,
        field="jars.home",
        default="FLINK_HOME",
        says="For jars and SQL: where Flink is installed.",
        of_job=True,
    ),
    Key(
        name="flink-version",
        kind=kinds.VERSION,
        field="jars.version",
        says="For jars and SQL: the Flink version to download.",
        of_job=True,
    ),
    Key(
        name="main-class",
        kind=kinds.CLASS,
        field="jars.main_class",
        default="from the jar's manifest",
        says="The class of a jar to run.",
        of_job=True,
    ),
    Key(
        name="runtime-properties",
        kind=kinds.FILE,
        field="jars.runtime_properties",
        says="For jars and programs in Python: the application_properties.json of AWS's Managed Service for Apache Flink.",
        of_job=True,
    ),
)
"""The keys of a settings file, except those in the tables of single jobs."""

JOB = "job"
"""The key of the tables of single jobs."""

JOB_KEYS = (
    Key(name="path", kind=kinds.JOB_PATH, says="The job's file, or a pattern of the files of several jobs; required."),
    Key(name="args", kind=kinds.ARGUMENTS, says="The arguments of the job."),
    Key(name="check", kind=kinds.FLAG, default="true", says="Check the job; with false, its file may also be missing."),
    *(key for key in KEYS if key.of_job),
)
"""The keys of a table of a single job."""


def schema() -> dict[str, Any]:
    """The JSON schema of a settings file: of ``compat.toml``, or of the table ``tool.compat``."""

    def properties(keys: tuple[Key, ...]) -> dict[str, Any]:
        return {key.name: {"description": key.says, **key.kind.schema} for key in keys}

    of_job = {
        "type": "object",
        "properties": properties(JOB_KEYS),
        "required": ["path"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of compat",
        "type": "object",
        "properties": {
            **properties(KEYS),
            JOB: {"description": "Single jobs of the project.", "type": "array", "items": of_job},
        },
        "additionalProperties": False,
    }
