"""``compat check SAVEPOINT new.jar``, as a person calls it."""

import json

import jsonschema
import pytest
from click.testing import CliRunner

from compat import schemas
from compat.cli import main
from tests.compat.loader.jvm.golden import JAVA
from tests.compat.loader.jvm.support import flink_of


@pytest.fixture(scope="module")
def options(java):
    """Flink by its version, and the formats that golden jobs use."""
    found = flink_of("2.3.0")
    own = [str(jar) for jar in found.jars if jar.name.startswith(("flink-avro", "avro", "jackson"))]
    return ["--flink-version", "2.3.0", *(option for jar in own for option in ("--classpath", jar))]


def check(*arguments):
    result = CliRunner().invoke(main, ["check", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_a_rehearsal_with_the_names_of_the_program_that_wrote_it(options):
    folder = JAVA / "2.3.0" / "pojo_field_added"
    entry = ["--main-class", "PojoFieldAdded", "--old-main-class", "PojoFieldAdded"]
    result = check(
        *(folder / "savepoint", folder / "new.jar", "--names", folder / "old.jar", *entry, *options),
        *("--rehearse", "--limit", "10", "--output", "json"),
    )
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    jsonschema.Draft202012Validator(schemas.load("report")).validate(report)
    assert {row["old"]["source"]["file"] for row in report["mapping"]} == {"PojoFieldAdded.java", "Src.java"}
    (kept,) = (one for one in report["rehearsal"] if one["key_groups"])
    assert (kept["key_groups_read"], kept["bytes_read"]) == (kept["key_groups"], kept["bytes"])
    assert [(one["backend"], one["name"], one["read"], one["migrated"]) for one in kept["states"]] == [
        ("hashmap", "st", 3, True),
        ("rocksdb", "st", 3, True),
    ]


def test_a_value_that_fails_is_found_without_a_rehearsal_where_it_is_at_hand(options):
    folder = JAVA / "rehearsed" / "kryo_field_removed"
    result = check(folder / "savepoint", folder / "new.jar", "--main-class", "KryoFieldRemoved", *options)
    assert result.exit_code == 1, result.output
    said = " ".join(result.stdout.split())
    assert "error CMP418 restore-fails: values of the state 'st'" in said
    assert "The first of them is in key group 86, key 1." in said
    assert "Real state, restored into" not in said
