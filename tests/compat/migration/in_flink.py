"""Jobs in Java and the savepoints of their old versions, migrated by recipes and restored in a real Flink.

``python -m tests.compat.migration.in_flink FILE [NAME…]`` records, for each pair that a recipe can mend, what the new version
read of each state in a MiniCluster, on each state backend, beside what the old version had left.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from compat.check.findings import Report, Verdict
from compat.comparison import Comparison, compare
from compat.loader.inputs import FlinkJars, LoadOptions
from compat.loader.jvm.messages import NativeBackend
from compat.loader.jvm.warm import WarmJvms
from compat.migration.migrating import Migrated, Migration, migrate
from compat.migration.proposing import Proposal
from compat.migration.recipe import ConvertKey, ConvertState, Open, Recipe, RenameClass, Step
from compat.migration.under_new_ids import propose_all
from compat.savepoint.load import read_names
from compat.savepoint.names import Names
from compat.savepoint.operators import RequestError
from compat.state.flink import SavepointError, read_draft, read_metadata
from tests.compat.language_pairs import model as languages
from tests.compat.loader.jvm.support import flink_of

JAVA = Path(__file__).parents[2] / "golden" / "java"
UPGRADE = "1.20.0-to-2.3.0"
VERSIONS = ("2.3.0", "1.20.0", UPGRADE)
"""The versions of Flink that wrote a savepoint and read it; ``a-to-b`` where they differ."""
BACKENDS = ("hashmap", "rocksdb")
SECONDS = 90
_ROW = re.compile(r"[+-][IUD][AB]?\[(.*)\]")
ENOUGH = 150
"""The lines after which every state of a job was read: each record gives one or two."""


def pairs(version: str) -> Iterator[dict[str, Any]]:
    """The recorded pairs of a version."""
    with gzip.open(JAVA / "results.jsonl.gz", "rt") as file:
        for line in file:
            pair = json.loads(line)
            saved = Path(savepoint_of(pair), "_metadata") if pair["version"] == version else None
            if saved is not None and saved.exists() and (folder_of(pair) / new_of(pair)).exists():
                yield pair


def language_pairs(version: str) -> Iterator[dict[str, Any]]:
    """The recorded pairs in Scala and Kotlin of a version; of two those whose programs run on both."""
    old, new = before({"version": version}), after({"version": version})
    for (recorded, name), pair in languages.records().items():
        if recorded == old and new in languages.language_of(name).versions:
            main_class = languages.language_of(name).main_class
            yield {**pair, "version": version, "entryClass": main_class, "language": True}


def before(pair: Mapping[str, Any]) -> str:
    """The version of Flink that a pair's old version ran on."""
    return str(pair["version"]).partition("-to-")[0]


def after(pair: Mapping[str, Any]) -> str:
    """The version of Flink that its new version runs on."""
    return str(pair["version"]).rpartition("-to-")[2]


def folder_of(pair: Mapping[str, Any], version: str | None = None) -> Path:
    """The folder of a pair, of its new version."""
    return languages.PAIRS / pair["name"] if "language" in pair else JAVA / (version or after(pair)) / pair["name"]


def savepoint_of(pair: Mapping[str, Any]) -> str:
    """The savepoint that a pair's old version left."""
    return str(folder_of(pair, before(pair)) / (f"savepoint-{before(pair)}" if "language" in pair else "savepoint"))


def libraries_of(pair: Mapping[str, Any]) -> tuple[str, ...]:
    """The jars that a pair needs beside those of a distribution of Flink."""
    if "language" in pair:
        return tuple(map(str, languages.language_of(pair["name"]).libraries()))
    return tuple(map(str, flink_of(after(pair)).jars)) if pair["name"].startswith("avro") else ()


def is_query(pair: Mapping[str, Any]) -> bool:
    """Whether a pair is of scripts in SQL."""
    return str(pair["name"]).startswith("q_")


def new_of(pair: Mapping[str, Any]) -> str:
    """The file of a pair's new version."""
    return "new.sql" if is_query(pair) else "new.jar"


def check_of(pair: Mapping[str, Any], old: str, classpath: tuple[str, ...] = ()) -> Comparison:
    """The check of a snapshot and the new version of a pair."""
    # Flink's own API for Scala is fetched as it is for a user, with all that stands beside it.
    more = () if pair["name"].startswith("flinkscala") else libraries_of(pair)
    jars = FlinkJars(version=after(pair), main_class=pair.get("entryClass"), classpath=classpath or more)
    new = str(folder_of(pair) / new_of(pair))
    return Comparison(old=old, new=new, load=LoadOptions(jars=jars))


def answered(proposed: Sequence[Proposal], name: str) -> Iterator[Recipe]:
    """The recipes of some proposals, with answers to their questions: own ones where the pair needs any, the first answers,
    the last ones."""
    if any(isinstance(one.step, Open) and not one.instead for one in proposed):
        return
    if name in ANSWERS:
        yield Recipe(steps=ANSWERS[name])
    for at in (0, -1):
        steps = (one.instead[at] if isinstance(one.step, Open) else one.step for one in proposed)
        yield Recipe(steps=tuple(steps))


ANSWERS: dict[str, tuple[Step, ...]] = {
    "flinkscala_case_class_field_added": (ConvertState(operator="keep", state="account", constants={"f2": "CHF"}),),
    "flinkscala_case_class_fields_exchanged": (
        ConvertState(operator="keep", state="account", fields={"f0": "f1", "f1": "f0"}),
    ),
    "kotlin_data_class_field_added": (ConvertState(operator="keep", state="account", constants={"currency": "CHF"}),),
    "scala3_case_class_field_added": (ConvertState(operator="keep", state="account", constants={"currency": "CHF"}),),
    "scala213_case_class_field_added": (ConvertState(operator="keep", state="account", constants={"currency": "CHF"}),),
    **dict.fromkeys(
        (
            "flinkscala_enumeration_reordered",
            "kotlin_enum_reordered",
            "kotlin_pojo_to_data_class",
            "kotlin_type_changed",
            "scala213_enumeration_reordered",
            "scala3_enum_reordered",
            "scala3_java_enum_reordered",
            "scala213_collection_to_vector",
        ),
        (ConvertState(operator="keep", state="account"),),
    ),
    "avro_field_added_default": (ConvertState(operator="fn", state="st", constants={"extra": 9}),),
    "avro_field_added_no_default": (ConvertState(operator="fn", state="st", constants={"extra": 9}),),
    "avro_demoted": (ConvertState(operator="fn", state="st"),),
    "tuple_to_pojo": (
        ConvertState(operator="val", state="st", fields={"name": "f0", "n": "f1"}, constants={"last": 7}),
    ),
    "tuple_arity": (ConvertState(operator="val", state="st", constants={"f2": 5}),),
    "kryo_field_removed": (ConvertState(operator="val", state="st", without=("extra",)),),
    "kryo_field_renamed_longs": (ConvertState(operator="val", state="st", fields={"zz": "aa"}),),
    "kryo_registered": (ConvertState(operator="val", state="st"),),
    "kryo_same": (ConvertState(operator="val", state="st"),),
    "enum_in_kryo_reordered": (ConvertState(operator="val", state="st"),),
    "pojo_subclass_field_added": (ConvertState(operator="val", state="st", constants={"extra": 9}),),
    "key_pojo_field_added": (ConvertKey(operator="count", constants={"region": 0}),),
    "key_pojo_field_removed": (ConvertKey(operator="count", without=("region",)),),
    "key_pojo_hash_changed": (ConvertKey(operator="count"),),
    "key_tuple_to_single": (ConvertKey(operator="count", single="f0"),),
    "value_to_map": (ConvertState(operator="fn", state="st", entry="k0"),),
    "pojo_subclass_renamed": (
        RenameClass(name="PojoSubclassRenamed$D", to="PojoSubclassRenamed$E"),
        ConvertState(operator="val", state="st"),
    ),
}
"""What a person has to say: what fields become and begin with, the key of what becomes an entry of a map."""


def migrated(
    pair: Mapping[str, Any], out: str, jvms: WarmJvms, native: NativeBackend | None = None
) -> tuple[Recipe, Migrated] | None:
    """The savepoint of a pair's old version, migrated by what the check proposes; None where nothing is to be mended."""
    saved = savepoint_of(pair)
    old = str(folder_of(pair, before(pair)) / ("old.sql" if is_query(pair) else "old.jar"))
    # What a query computed, no savepoint tells.
    told = old if is_query(pair) else None
    names = read_names(told, check_of(pair, saved).load, None) if told else Names()
    asked = replace(check_of(pair, saved), names=told)
    (report,) = compare(asked, jvms=jvms).outcomes
    if not isinstance(report, Report) or report.verdict is not Verdict.INCOMPATIBLE:
        return None
    draft = read_draft(read_metadata(saved))
    for recipe in answered(propose_all(report, asked), pair["name"]):
        check = check_of(pair, out)
        wanted = Migration(
            draft=draft,
            recipe=recipe,
            names=names,
            check=check,
            old=old,
            old_flink=FlinkJars(version=before(pair), classpath=libraries_of(pair)),
            native=native,
            allow_unknown=True,
        )
        try:
            done = migrate(wanted, jvms)
        except (RequestError, SavepointError):
            continue
        if done.kept:
            return recipe, done
    return None


def compiled(folder: str, classpath: str) -> str:
    """The class path with what runs a jar in a MiniCluster."""
    sources = map(str, (Path(__file__).parent / "restored").glob("*.java"))
    subprocess.run(["javac", "-nowarn", "-d", folder, "-cp", classpath, *sources], check=True)
    return f"{folder}:{classpath}"


def read_in_flink(pair: Mapping[str, Any], savepoint: str, backend: str, classpath: str) -> dict[str, str]:
    """The first value that the new version reads of each state and key, restored from a savepoint in a MiniCluster."""
    new = folder_of(pair) / new_of(pair)
    options = [f"execution.state-recovery.path={savepoint}", f"execution.savepoint.path={savepoint}"]
    options += [f"state.backend.type={backend}", f"state.backend={backend}"]
    opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("util", "lang", "time")]
    run = ["RestoredSql", str(new)] if is_query(pair) else ["Restored", pair["entryClass"]]
    command = [
        "java",
        *opens,
        "-cp",
        ":".join((classpath, str(new), *libraries_of(pair))),
        *run,
        str(SECONDS),
        *options,
    ]
    found: dict[str, str] = {}
    told: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        read = 0
        for line in process.stdout:
            if line.startswith(("OBS S", "SEEN")):
                _, state, key, value, *_ = line.rstrip("\n").split("\t")
                found.setdefault(f"{state} {key}", value)
                read += state != "src.offset"  # the source runs before the others on a busy machine
            elif row := _ROW.match(line):
                # The first row of a key, after the restore.
                key, _, value = row[1].partition(", ")
                found.setdefault(key, value)
                read += 1
            elif "Caused by" in line:
                told.append(line.strip())
            if read == ENOUGH:
                process.kill()
    return found or {"failed": told[-1] if told else "no record was read"}


def main(path: str, names: list[str]) -> None:
    """Record what Flink restored, a line a pair."""
    with WarmJvms() as jvms, tempfile.TemporaryDirectory() as folder, open(path, "a") as out:
        for version in VERSIONS:
            classpath = compiled(folder, ":".join(flink_of(after({"version": version})).classpath))
            for pair in (*pairs(version), *language_pairs(version)):
                if names and pair["name"] not in names:
                    continue
                target = str(Path(folder, f"{version}-{pair['name']}"))
                done = migrated(pair, target, jvms)
                if done is None:
                    continue
                recipe, _ = done
                print(version, pair["name"], [type(step).__name__ for step in recipe.steps], flush=True)
                read = {backend: read_in_flink(pair, target, backend, classpath) for backend in BACKENDS}
                before = pair["attempts"].get("hashmap", {}).get("states", {})
                record = {"version": version, "name": pair["name"], "recipe": recipe, "before": before, "read": read}
                out.write(json.dumps(record, default=_plain) + "\n")
                out.flush()


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
