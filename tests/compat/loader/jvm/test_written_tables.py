"""Tables in catalogs, and what operators of their connectors keep: they are judged by the table that they write into."""

import pytest

import compat
from compat.check.findings import Level, Verdict
from compat.loader.inputs import FlinkJars
from tests.compat.loader.jvm.support import flink_of

pytestmark = pytest.mark.usefixtures("shared_jvms")

SCRIPT = """
CREATE CATALOG shop WITH ('type' = 'generic_in_memory', 'default-database' = 'sales');
USE CATALOG shop;
CREATE TABLE orders (product STRING, price DOUBLE) WITH ('connector' = 'datagen');
CREATE TABLE files (product STRING, price DOUBLE) WITH ('connector' = 'filesystem', 'path' = 'file:///a', 'format' = 'csv');
CREATE TABLE others (product STRING, price DOUBLE) WITH ('connector' = 'filesystem', 'path' = 'file:///b', 'format' = 'csv');
EXECUTE STATEMENT SET BEGIN
INSERT INTO files SELECT product, price FROM orders WHERE price > 1;
INSERT INTO others SELECT product, price FROM orders WHERE price < 1;
END;
"""


def checked(tmp_path, new, before=SCRIPT):
    flink_of("2.3.0")
    old = tmp_path / "old.sql"
    old.write_text(before)
    (tmp_path / "new.sql").write_text(new)
    (report,) = compat.check(str(old), str(tmp_path / "new.sql"), jars=FlinkJars(version="2.3.0"))
    return report


def test_files_that_were_begun_are_of_the_same_table(flink, tmp_path):
    report = checked(tmp_path, SCRIPT)
    assert report.verdict is Verdict.COMPATIBLE, report.findings
    assert [row.old.name for row in report.mapping if row.old] == ["StreamingFileWriter"] * 2


def test_files_on_a_system_that_is_not_here_need_none(flink, tmp_path):
    """The writer asks for its file system when it is set up; what it keeps is the same on each."""
    script = SCRIPT.replace("file:///a", "hdfs://nn:9000/a")
    report = checked(tmp_path, script, script)
    assert report.verdict is Verdict.COMPATIBLE, report.findings
    kept = [one.states for one in report.old.operators if one.name == "StreamingFileWriter"]
    assert [{state.name for state in one} >= {"bucket-states", "max-part-counter"} for one in kept] == [True, True]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            ("others (product STRING, price DOUBLE)", "others (product STRING, price DOUBLE) PARTITIONED BY (product)"),
            ["it writes into other partitions of shop.sales.others"],
        ),
        (
            ("others (product STRING, price DOUBLE)", "others (name STRING, price DOUBLE)"),
            ["it writes other columns into shop.sales.others"],
        ),
        (("file:///b", "file:///c"), ["it writes into shop.sales.others with other options: path"]),
        (
            ("TABLE others", "TABLE elsewhere", "INTO others", "INTO elsewhere"),
            ["it wrote into shop.sales.others and writes into shop.sales.elsewhere"],
        ),
    ],
)
def test_another_table_is_not_taken_for_it(flink, tmp_path, edit, said):
    new = SCRIPT
    for before, after in zip(edit[::2], edit[1::2], strict=True):
        new = new.replace(before, after)
    report = checked(tmp_path, new)
    assert report.verdict is Verdict.UNKNOWN
    found = [one for one in report.findings if one.level is Level.UNKNOWN]
    assert sorted(one.title.partition(": ")[2] for one in found) == said


def test_statements_that_write_into_each_other_s_tables_changed_places(flink, tmp_path):
    edited = SCRIPT.replace("INTO files", "INTO between").replace("INTO others", "INTO files")
    report = checked(tmp_path, edited.replace("INTO between", "INTO others"))
    assert report.verdict is Verdict.INCOMPATIBLE
    assert [one.rule for one in report.findings if one.level is Level.ERROR] == ["CMP709"]
