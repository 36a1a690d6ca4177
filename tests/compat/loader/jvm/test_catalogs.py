"""Catalogs that outlive a script: Paimon's and Iceberg's in a folder, and one elsewhere. A check changes none of them."""

import pytest

import compat
from compat.check.findings import Verdict
from compat.loader.inputs import FlinkJars
from compat.loader.jvm.connector_jars import connector_jars
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.failures import failed
from compat.loader.jvm.messages import JarProgram, SqlScript
from compat.loader.jvm.process import JvmOptions
from tests import needs
from tests.compat.loader.jvm.support import build, build_all, flink_of, jar_of
from tests.needs import Need

pytestmark = pytest.mark.usefixtures("shared_jvms")

VERSION = "1.20.0"
ORDERS = "CREATE TEMPORARY TABLE orders (product STRING, price DOUBLE) WITH ('connector' = 'datagen');\n"
IN_FOLDER = {
    "paimon": "'type' = 'paimon', 'warehouse' = 'file://{}'",
    "iceberg": "'type' = 'iceberg', 'catalog-type' = 'hadoop', 'warehouse' = '{}'",
}
SCRIPT = """
CREATE CATALOG lake WITH ({});
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS shop;
CREATE TABLE IF NOT EXISTS shop.sums (product STRING, {} DOUBLE, PRIMARY KEY (product) NOT ENFORCED);
{}
INSERT INTO shop.sums SELECT product, SUM(price) FROM orders GROUP BY product;
"""
SCHEMA = """{"version": 3, "id": 0, "highestFieldId": 1, "partitionKeys": [], "primaryKeys": ["product"], "options": {},
"fields": [{"id": 0, "name": "product", "type": "STRING NOT NULL"}, {"id": 1, "name": "total", "type": "DOUBLE"}],
"comment": "", "timeMillis": 1}"""


def jars(kind):
    try:
        connector_jars([kind, "hadoop"], VERSION)
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    flink_of(VERSION)
    return FlinkJars(version=VERSION, connectors=(kind, "hadoop"))


@pytest.mark.parametrize("kind", IN_FOLDER)
def test_tables_in_a_folder_are_made_in_a_copy_of_it(kind, tmp_path):
    lake = tmp_path / "a lake"
    options = IN_FOLDER[kind].format(lake)
    if kind == "iceberg":
        options += ", 'default-database' = 'shop'"
    script = tmp_path / "job.sql"
    text = SCRIPT.format(options, "total", ORDERS)
    if kind == "iceberg":
        text = text.replace(
            "NOT ENFORCED)", "NOT ENFORCED) WITH ('format-version' = '2', 'write.upsert.enabled' = 'true')"
        )
    script.write_text(text)
    (report,) = compat.check(str(script), str(script), jars=jars(kind))
    assert report.verdict is Verdict.COMPATIBLE, report.findings
    assert not lake.exists()


def test_a_table_that_is_there_is_the_one_that_is_written(tmp_path):
    table = tmp_path / "lake" / "shop.db" / "sums" / "schema"
    table.mkdir(parents=True)
    (table / "schema-0").write_text(SCHEMA)
    script = tmp_path / "job.sql"
    options = IN_FOLDER["paimon"].format(tmp_path / "lake")
    named = SCRIPT.replace("INTO shop.sums", "INTO shop.sums (product, total)")
    script.write_text(named.format(options, "amount", ORDERS))
    (plan,) = compat.plan(str(script), jars=jars("paimon"))
    assert any(one.name.startswith("GroupAggregate") for one in plan.operators)
    script.write_text(named.format(options, "amount", f"DROP TABLE shop.sums;\n{ORDERS}"))
    with pytest.raises(compat.InputError, match="sums"):
        compat.plan(str(script), jars=jars("paimon"))
    assert (table / "schema-0").read_text() == SCHEMA


ELSEWHERE = """
package shop;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.*;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.table.api.*;
import org.apache.flink.table.catalog.*;
import org.apache.flink.table.factories.CatalogFactory;

/** A catalog that lies elsewhere, with one table. */
public class Elsewhere implements CatalogFactory {
    public String factoryIdentifier() { return "elsewhere"; }
    public Set<ConfigOption<?>> requiredOptions() { return Set.of(); }
    public Set<ConfigOption<?>> optionalOptions() { return Set.of(); }
    public Catalog createCatalog(Context context) {
        GenericInMemoryCatalog held = new GenericInMemoryCatalog(context.getName(), "shop");
        Schema columns = Schema.newBuilder().column("product", DataTypes.STRING()).column("price", DataTypes.DOUBLE()).build();
        try {
            held.createTable(new ObjectPath("shop", "orders"), CatalogTable.newBuilder().schema(columns)
                    .options(Map.of("connector", "datagen")).build(), false);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
        return (Catalog) Proxy.newProxyInstance(Elsewhere.class.getClassLoader(), new Class<?>[] {Catalog.class},
                (proxy, method, arguments) -> {
                    if (method.getName().matches("(create|drop|alter).*")) System.err.println("CHANGED " + method.getName());
                    try {
                        return method.invoke(held, arguments);
                    } catch (InvocationTargetException error) {
                        throw error.getCause();
                    }
                });
    }
}
"""
TABLES = """
package shop;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.*;
import org.apache.flink.table.catalog.GenericInMemoryCatalog;

/** A program with a catalog of its own, which submits three jobs. */
public class Tables {
    public static void main(String[] arguments) throws Exception {
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        tables.registerCatalog("lab", new GenericInMemoryCatalog("lab", "ods"));
        tables.useCatalog("lab");
        tables.executeSql("CREATE TABLE orders (product STRING, price DOUBLE) WITH ('connector' = 'datagen')");
        tables.executeSql("CREATE TABLE sums (product STRING, total DOUBLE) WITH ('connector' = 'print')");
        tables.executeSql("INSERT INTO sums SELECT product, SUM(price) FROM orders GROUP BY product");
        tables.executeSql("INSERT INTO sums SELECT product, price FROM orders");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromSequence(1, 3).uid("numbers").sinkTo(new DiscardingSink<>());
        environment.execute("numbers");
    }
}
"""
BEGIN = "CREATE CATALOG other WITH ('type' = 'elsewhere');\nUSE CATALOG other;\n"
END = (
    "CREATE TEMPORARY TABLE sums (product STRING, price DOUBLE) WITH ('connector' = 'print');\n"
    "INSERT INTO sums SELECT * FROM orders;"
)
CHANGES = [
    "CREATE TABLE refunds (product STRING) WITH ('connector' = 'datagen');\n",
    "CREATE TABLE IF NOT EXISTS refunds (product STRING) WITH ('connector' = 'datagen');\n",
    "DROP TABLE orders;\n",
    "DROP TABLE IF EXISTS orders;\n",
    "ALTER TABLE orders SET ('rows-per-second' = '1');\n",
    "CREATE DATABASE older;\n",
    "DROP DATABASE IF EXISTS shop;\n",
    "CREATE VIEW cheap AS SELECT * FROM orders WHERE price < 1;\n",
]
KEEPS = [
    "",
    "CREATE TABLE IF NOT EXISTS orders (product STRING) WITH ('connector' = 'datagen');\n",
    "CREATE DATABASE IF NOT EXISTS shop;\n",
    "DROP TABLE IF EXISTS refunds;\n",
    "CREATE TEMPORARY VIEW cheap AS SELECT * FROM orders WHERE price < 1;\n",
    "USE CATALOG default_catalog;\nCREATE TABLE a (x INT) WITH ('connector' = 'datagen');\nUSE CATALOG other;\n",
]


@pytest.fixture(scope="module")
def jar(tmp_path_factory, flink):
    services = "META-INF/services/org.apache.flink.table.factories.Factory"
    sources = {"shop/Elsewhere.java": ELSEWHERE, "shop/Tables.java": TABLES, services: "shop.Elsewhere\n"}
    return str(jar_of(tmp_path_factory.mktemp("a shop"), sources, flink.classpath))


def test_a_catalog_elsewhere_is_read_and_not_changed(flink, java, jar):
    options = JvmOptions(options={}, user_classpath=(jar,))
    scripts = [SqlScript(path="shop.sql", text=BEGIN + one + END) for one in (*KEEPS, *CHANGES)]
    outcomes = build_all(scripts, flink, java, options)
    for script, outcome in zip(scripts, outcomes, strict=True):
        found = failed(outcome, script, options, "shop.sql")
        assert "CHANGED" not in outcome.said, script.text
        if script in scripts[: len(KEEPS)]:
            assert found is None, (script.text, found)
            assert len(outcome.jobs) == 1
        else:
            assert found is not None, script.text
            assert found.message == (
                "The statement at line 3 failed: It would change the catalog 'other', which is elsewhere: compat changes "
                "nothing there."
            )
            assert "CREATE TEMPORARY TABLE" in found.hint


@pytest.mark.parametrize(
    "statement", ["DELETE FROM orders", "update orders SET price = 1", "TRUNCATE TABLE orders", "CALL p()"]
)
def test_what_changes_tables_at_once_is_not_carried_out(flink, java, statement):
    text = "SET 'execution.runtime-mode' = 'batch';\nCREATE TABLE orders (price INT) WITH ('connector' = 'datagen');\n"
    script = SqlScript(path="shop.sql", text=f"{text}{statement};\n{END}")
    options = JvmOptions(options={})
    found = failed(build(script, flink, java, options), script, options, "shop.sql")
    assert found.message == (
        "The statement at line 3 failed: It would change tables immediately, without a job: compat changes none."
    )
    assert found.hint == "Leave it out of the script of the job."


def test_a_program_in_java_with_a_catalog_submits_several_jobs(flink, java, jar):
    outcome = build(JarProgram(path=jar, main_class="shop.Tables"), flink, java, JvmOptions(options={}))
    assert outcome.crash is None
    assert [one.name for one in outcome.jobs] == ["insert-into_lab.ods.sums", "insert-into_lab.ods.sums", "numbers"]
    reports = compat.check(jar, jar, jars=FlinkJars(version="2.3.0", main_class="shop.Tables"))
    assert [one.verdict for one in reports] == [Verdict.COMPATIBLE] * 3
