"""The golden jobs in Java and SQL: their programs, and what Flink did with them."""

import gzip
import json
from functools import cache
from pathlib import Path

from compat.loader.jvm.messages import JarProgram, SqlScript

JAVA = Path(__file__).parents[3] / "golden" / "java"
PROGRAMS = JAVA / "programs" / "programs.jar"
CLASSES = JAVA / "classes"
SAMPLED = {
    "2.3.0": (
        *("aggregating_fn_changed", "connect_swapped", "kryo_same", "oplist_type", "pojo_field_added", "q_agg_added"),
        *("q_plan_same", "sink_committer_gen", "state_renamed", "ttl_enabled", "tuple_arity", "uid_same"),
        *("win_count_trigger_n", "win_evictor_added"),
    ),
    "1.20.0": ("kryo_same", "pojo_field_added", "uid_same"),
    "1.20.0-to-2.3.0": ("kryo_same", "pojo_field_added", "uid_same"),
}
"""Pairs that are looked at in each detail, by version; the verdicts are tested on all."""


@cache
def records():
    """What Flink did, by version and name."""
    with gzip.open(JAVA / "results.jsonl.gz") as file:
        return {(one["version"], one["name"]): one for one in map(json.loads, file)}


def program(version, name, side):
    """The old or the new program of a pair."""
    folder = JAVA / version / name
    if (folder / f"{side}.sql").exists():
        text = (folder / f"{side}.sql").read_text().replace("${DIR}", str(folder))
        return SqlScript(path=str(folder / f"{side}.sql"), text=text)
    entry = next(one["entryClass"] for (_, known), one in records().items() if known == name)
    return JarProgram(path=str(folder / f"{side}.jar"), main_class=entry)


def savepoint(version, name):
    """The folder of the savepoint that the old program left."""
    return JAVA / version / name / "savepoint"
