"""Jobs that are given settings or streams where they run: built with something in their place where nothing depends on it."""

import pytest

import compat
from compat.check.findings import Verdict
from compat.loader.inputs import FlinkJars, InputError, LoadOptions, load, opened
from compat.loader.jvm.connector_jars import connector_jars
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.loading import begin
from compat.loader.jvm.maven import Artifact, fetch
from compat.loader.jvm.warm import WarmJvms
from compat.plan.writing import dump
from tests import needs
from tests.compat.loader.jvm.support import flink_of, jar_of
from tests.needs import Need

pytestmark = pytest.mark.usefixtures("shared_jvms")

VERSION = "1.20.0"
HEAD = """
package shop;
import java.io.InputStream;
import java.util.*;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.java.utils.ParameterTool;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
"""
READER = """
public class {name} {{
    public static void main(String[] arguments) throws Exception {{
        Properties settings = new Properties();
        try (InputStream stream = {name}.class.getClassLoader().getResourceAsStream("{file}")) {{
            settings.load(stream);
        }}
        KafkaSource<String> source = KafkaSource.<String>builder().setProperties(settings).setTopics("orders")
                .setValueOnlyDeserializer(new SimpleStringSchema()).build();
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromSource(source, WatermarkStrategy.noWatermarks(), {uid}).uid({uid})
                .sinkTo(new DiscardingSink<>());
        environment.execute();
    }}
}}
"""
USES = {
    "Whole": ("conf/shop.properties", '"orders"'),
    "Single": ("shop.properties", 'settings.getProperty("uid", "orders")'),
    "Helped": ("shop.properties", "Helper.uid(settings)"),
    "Tool": ("shop.properties", 'ParameterTool.fromMap((Map) settings).get("uid", "orders")'),
    "Printed": ("shop.properties", 'String.format("%s", settings.stringPropertyNames())'),
    "Otherwise": ("shop.yaml", '"orders"'),
}
HELPER = """
class Helper {
    static String uid(Properties settings) {
        return settings.getProperty("uid", "orders");
    }
}
"""
DECODABLE = """
package shop;
import co.decodable.sdk.pipeline.DecodableStreamSink;
import co.decodable.sdk.pipeline.DecodableStreamSource;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

public class Piped {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        DecodableStreamSource<String> source = DecodableStreamSource.<String>builder().withStreamName("orders")
                .withDeserializationSchema(new SimpleStringSchema()).build();
        DecodableStreamSink<String> sink = DecodableStreamSink.<String>builder().withStreamName("sums")
                .withSerializationSchema(new SimpleStringSchema()).build();
        environment.fromSource(source, WatermarkStrategy.noWatermarks(), "orders").uid("orders").sinkTo(sink).uid("sums");
        environment.execute();
    }
}
"""
SDK = Artifact(group="co.decodable", name="decodable-pipeline-sdk", version="1.19.2-1.0.0.Beta8", alone=True)
JACKSON = Artifact(group="com.fasterxml.jackson.core", name="jackson-databind", version="2.15.2")


def fetched(found):
    try:
        return found()
    except JvmError as error:
        needs.without(Need.MAVEN, error)


@pytest.fixture(scope="module")
def kafka(java):
    return [*flink_of(VERSION).classpath, *map(str, fetched(lambda: connector_jars(["kafka"], VERSION)[0]))]


@pytest.fixture(scope="module")
def jar(tmp_path_factory, kafka):
    sources = {
        f"shop/{name}.java": HEAD + READER.format(name=name, file=file, uid=uid) for name, (file, uid) in USES.items()
    }
    sources["shop/Helper.java"] = HEAD + HELPER
    return str(jar_of(tmp_path_factory.mktemp("a shop"), sources, kafka))


def jars(name, **more):
    return FlinkJars(version=VERSION, main_class=f"shop.{name}", connectors=("kafka",), **more)


def loaded(jar, given, environment=None):
    options = LoadOptions.given({}, jars=given, environment=environment)
    with WarmJvms() as jvms, opened(jar) as argument:
        found = begin(argument, options, jvms).finish()
    return found.plans[0], [one for one in found.notes if not one.startswith("The connector kafka is")]


def test_settings_that_are_handed_on_as_a_whole_are_stood_in_for(jar):
    plan, (note,) = loaded(jar, jars("Whole"))
    assert plan.operators[0].uid == "orders"
    assert note.startswith(
        "conf/shop.properties: not on the class path. The program hands these settings to its connectors"
    )


def test_both_versions_are_built_with_them_and_a_note_tells_so(jar):
    (report,) = compat.check(jar, jar, jars=jars("Whole"))
    assert report.verdict is Verdict.COMPATIBLE, report.findings
    assert sum("conf/shop.properties: not on the class path" in note for note in report.notes) >= 1
    (assumed,) = (one for one in report.assumptions if one.name == "conf/shop.properties")
    assert assumed.settle == "--classpath FOLDER"


def test_a_group_that_is_not_known_is_no_other_group(jar, tmp_path):
    """OLD is built with its settings, NEW where these are not."""
    (tmp_path / "conf").mkdir()
    settings = tmp_path / "conf" / "shop.properties"
    settings.write_text("bootstrap.servers=shop:9092\ngroup.id=counts")
    with opened(jar) as given:
        (plan,) = load(given, LoadOptions.given({}, jars=jars("Whole", classpath=(str(tmp_path),))))
    kept = tmp_path / "old.json"
    kept.write_text(dump(plan), encoding="utf-8")
    (report,) = compat.check(str(kept), jar, jars=jars("Whole"))
    assert "CMP803" not in {one.rule for one in report.findings}
    settings.write_text("bootstrap.servers=shop:9092\ngroup.id=others")
    (told,) = compat.check(str(kept), jar, jars=jars("Whole", classpath=(str(tmp_path),)))
    assert "CMP803" in {one.rule for one in told.findings}


def test_those_that_are_there_are_taken(jar, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "shop.properties").write_text("bootstrap.servers=shop:9092\ngroup.id=counts")
    plan, notes = loaded(jar, jars("Whole", classpath=(str(tmp_path),)))
    assert notes == []
    assert plan.operators[0].connector.group_id == "counts"


@pytest.mark.parametrize("name", ["Single", "Helped", "Tool", "Printed", "Otherwise"])
def test_those_that_the_program_looks_into_are_asked_for(jar, name):
    with pytest.raises(InputError) as raised, opened(jar) as argument:
        load(argument, LoadOptions.given({}, jars=jars(name)))
    found = raised.value.failure
    assert found.hint == f"Not on the class path: {USES[name][0]}. Name the folder with --classpath."
    assert found.option == '--classpath "$FOLDER"'


@pytest.fixture(scope="module")
def decodable(tmp_path_factory, kafka):
    given = [str(one) for one in fetched(lambda: fetch("decodable", [SDK, JACKSON]))]
    folder = tmp_path_factory.mktemp("decodable")
    return str(jar_of(folder, {"shop/Piped.java": DECODABLE}, [*kafka, *given])), tuple(given)


def test_streams_of_decodable_are_stood_in_for(decodable):
    jar, libraries = decodable
    plan, notes = loaded(jar, jars("Piped", classpath=libraries))
    assert {"orders", "sums"} <= {one.uid for one in plan.operators}
    assert [note.partition(", which")[0] for note in notes] == [
        "Decodable gives the program the stream 'orders'",
        "Decodable gives the program the stream 'sums'",
    ]


def test_those_that_are_given_are_taken(decodable):
    jar, libraries = decodable
    stream = '{{"name": "{}", "properties": {{"topic": "t", "properties.bootstrap.servers": "b:1", "{}": "{}"}}}}'
    given = {
        "DECODABLE_STREAM_CONFIG_1": stream.format("orders", "scan.startup.mode", "latest-offset"),
        "DECODABLE_STREAM_CONFIG_2": stream.format("sums", "sink.transactional-id-prefix", "p"),
    }
    assert loaded(jar, jars("Piped", classpath=libraries), given)[1] == []
