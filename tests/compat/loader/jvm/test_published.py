"""Programs in the shapes that published examples have: each is planned, or told what it needs."""

import selectors
import time

import pytest

import compat
from compat.check.findings import Fate, Level, Verdict
from compat.loader.failure import CLASSPATH, RUNTIME_PROPERTIES, Undecidable
from compat.loader.inputs import FlinkJars, InputError
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.failures import failed
from compat.loader.jvm.maven import Artifact, fetch
from compat.loader.jvm.messages import JarProgram, SqlScript
from compat.loader.jvm.process import JvmOptions, build, build_all
from tests import needs
from tests.compat.loader.jvm.golden import JAVA
from tests.compat.loader.jvm.support import flink_of
from tests.compat.loader.jvm.test_surroundings import JAR as UNCONNECTED
from tests.needs import Need

pytestmark = pytest.mark.usefixtures("shared_jvms")

JAR = str(JAVA / "published" / "published.jar")
OPTIONS = JvmOptions(options={})


def program(name, *arguments):
    return JarProgram(path=JAR, main_class=name, arguments=arguments)


def failure(flink, java, name, *arguments):
    given = program(name, *arguments)
    return failed(build(given, flink, java, OPTIONS), given, OPTIONS, "shop.jar")


def test_the_ends_of_a_loop_keep_no_state(java):
    outcome = build(program("shop.Looping"), flink_of("1.20.0"), java, OPTIONS)
    assert outcome.crash is None
    (job,) = outcome.jobs
    ends = [node for node in job.nodes if not node.factory]
    assert {node.vertex_class.rpartition(".")[2] for node in ends} == {"StreamIterationHead", "StreamIterationTail"}
    assert all((node.states.states, node.states.unknown, node.states.more) == ((), "", None) for node in ends)
    assert {node.uid for node in job.nodes if any(one.scope == "keyed" for one in node.states.states)} == {"sums"}


def test_a_job_with_a_loop_restores_its_own_state(java):
    flink_of("1.20.0")
    (report,) = compat.check(JAR, JAR, jars=FlinkJars(version="1.20.0", main_class="shop.Looping"))
    assert report.verdict is Verdict.COMPATIBLE


def test_what_lies_beside_flink_in_a_cluster_is_there(java):
    flink_of("2.3.0")
    (plan,) = compat.plan(JAR, jars=FlinkJars(version="2.3.0", main_class="shop.Logging"))
    assert plan.job_name == "logging"


def test_what_a_program_caught_and_printed_is_told(flink, java):
    found = failure(flink, java, "shop.Catching")
    assert found.rule is Undecidable.NO_JOB
    assert found.message == (
        "The program submits no job. It printed: java.lang.IllegalStateException: No topic is named for the stream 'orders'"
    )
    assert "    at shop.Catching.main(Catching.java:11)" in found.traceback.replace("\t", "    ")
    assert found.hint.startswith("Give it what it asks for there: its arguments follow --args")


@pytest.mark.parametrize("late", [False, True], ids=["at once", "when both have ended"])
def test_what_another_program_printed_in_the_same_jvm_is_not(flink, java, monkeypatch, late):
    if late:
        select, pauses = selectors.DefaultSelector.select, iter([6.0])
        monkeypatch.setattr(
            selectors.DefaultSelector, "select", lambda *given: time.sleep(next(pauses, 0.0)) or select(*given)
        )
    programs = [program("shop.Catching"), program("shop.Catching", "quiet")]
    outcomes = build_all(programs, flink, java, OPTIONS)
    assert "No topic is named" in outcomes[0].said
    assert "No topic is named" not in outcomes[1].said


def test_a_program_in_the_package_of_a_library_has_lines_of_its_own(flink, java):
    found = failure(flink, java, "com.amazonaws.shop.Started")
    assert found.message.startswith(
        "The program failed: ConnectException: The program asks the outside world while it builds its job with "
        "Socket.<init>() at com.amazonaws.shop.Started$Opened.open(Started.java:16)"
    )
    assert (found.source.file, found.source.line) == ("Started.java", 16)


def test_numbers_that_java_draws_are_not_told(flink, java):
    found = failure(flink, java, "com.amazonaws.shop.Started", "object")
    assert found.message == "The program failed: IllegalArgumentException: There is nothing in java.lang.Object"


def test_a_job_whose_platform_is_not_there_is_told_what_that_gives(flink):
    jars = FlinkJars(version="2.3.0", main_class="shop.Managed")
    with pytest.raises(InputError) as raised:
        compat.plan(str(UNCONNECTED), jars=jars)
    found = raised.value.failure
    assert found.hint.startswith("Give them with --runtime-properties FILE")
    assert found.option == RUNTIME_PROPERTIES


def test_a_class_that_nobody_brings_is_asked_for(flink, java):
    given = JarProgram(path=str(UNCONNECTED), main_class="shop.Piped")
    found = failed(build(given, flink, java, OPTIONS), given, OPTIONS, "shop.jar")
    assert found.option == "--connector kafka"
    assert "--classpath JAR" in found.hint


@pytest.mark.parametrize(
    ("arguments", "hint", "option"),
    [
        ((), "Give it with --args '--input VALUE'.", '--args "--input $VALUE"'),
        (("--input", "in"), "Give it with --args '--input in --name VALUE'.", None),
    ],
)
def test_an_argument_that_is_required_is_named(flink, java, arguments, hint, option):
    found = failure(flink, java, "shop.Arguments", *arguments)
    assert (found.hint, found.option) == (hint, option)


def test_with_its_arguments_it_is_planned(flink):
    jars = FlinkJars(version="2.3.0", main_class="shop.Arguments")
    (plan,) = compat.plan(JAR, jars=jars, args=("--input", "in", "--name", "shop"))
    assert plan.job_name == "shop"


def test_a_file_that_is_not_on_the_class_path_is_asked_for(flink, java, tmp_path):
    found = failure(flink, java, "shop.Reading")
    assert found.option == '--classpath "$FOLDER"'
    (tmp_path / "shop.properties").write_text("name=from a file")
    jars = FlinkJars(version="2.3.0", main_class="shop.Reading", classpath=(str(tmp_path),))
    (plan,) = compat.plan(JAR, jars=jars)
    assert plan.job_name == "from a file"


def test_a_file_that_is_not_here_is_told_as_such(flink, java):
    found = failure(flink, java, "shop.Reading", "conf/shop.properties")
    assert "conf/shop.properties" in found.message
    assert found.hint.startswith("It reads a file that is not here: put it there, or begin compat in the folder")


def test_a_connector_that_nobody_brings_is_named(flink, java):
    found = failure(flink, java, "shop.Tables")
    assert found.message == (
        "The program failed: ValidationException: No DynamicTableFactory for 'orders-cdc' is on the class path."
    )
    assert (found.option, found.source.file, found.source.line) == (CLASSPATH, "Tables.java", 15)


def test_a_catalog_that_nobody_reaches_is_told_without_its_trace(flink, java):
    """For a script there is no line of a program: the statement tells where, and what can stand in it instead."""
    script = SqlScript(path="shop.sql", text="CREATE CATALOG shop WITH ('type' = 'unreachable');")
    options = JvmOptions(options={}, user_classpath=(JAR,))
    found = failed(build(script, flink, java, options), script, options, "shop.sql")
    assert found.message == (
        "The statement at line 1 failed: Flink asks the outside world for it: "
        "ConnectException: nobody listens at metastore:9083"
    )
    assert found.hint.startswith(
        "Make that reachable from here. What a catalog elsewhere tells of a table can stand in the script"
    )


def test_hadoop_is_asked_for_by_its_name(flink, java):
    found = failure(flink, java, "shop.Tables", "hadoop")
    assert found.option == "--connector hadoop"
    assert found.hint.startswith("Write --connector hadoop, which fetches it by its Maven coordinates")


@pytest.mark.parametrize("arguments", [(), ("host",)])
def test_an_environment_that_flink_refuses_on_a_cluster_is_told_as_such(flink, java, arguments):
    found = failure(flink, java, "shop.Elsewhere", *arguments)
    assert found.message.startswith("The program failed: InvalidProgramException: The ")
    assert found.hint.startswith("flink run refuses this program as well: call StreamExecutionEnvironment.get")


def test_an_exception_of_the_program_s_own_is_told_as_its_own(flink, java):
    found = failure(flink, java, "shop.Unwritten")
    assert found.message == "The program failed: UnsupportedOperationException: Write me"
    assert found.hint == (
        "The program throws this itself, in main(). If it wants arguments, give them with --args 'ARGUMENTS'."
    )


@pytest.fixture(scope="module")
def rabbit():
    """The connector for RabbitMQ, and the Flink that it is for."""
    wanted = Artifact(group="org.apache.flink", name="flink-connector-rabbitmq", version="3.0.1-1.17")
    flink_of("1.20.0")
    try:
        found = fetch("rabbitmq-3.0.1-1.17", [wanted])
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    return tuple(str(one) for one in found if one.name.startswith(("flink-connector-rabbitmq", "amqp-client")))


def checked(version, name, *arguments, classpath=()):
    (report,) = compat.check(
        JAR,
        JAR,
        old_args=arguments,
        new_args=arguments,
        jars=FlinkJars(version=version, main_class=name, classpath=classpath),
    )
    return report


def test_a_connector_that_wants_values_is_not_refused_for_want_of_them(java, rabbit):
    report = checked("1.20.0", "shop.Rabbit", classpath=rabbit)
    assert report.verdict is Verdict.COMPATIBLE, report.findings
    assert (
        "'Source: Custom Source' (uid 'orders'): its restore, which it refuses without values, is not tried"
        in report.notes
    )


def test_a_collection_takes_back_its_position(java):
    flink_of("1.20.0")
    report = checked("1.20.0", "shop.Elements")
    assert report.verdict is Verdict.COMPATIBLE, report.findings
    assert (
        "'Source: Collection Source' (uid 'words'): its restore, which it refuses without values, is not tried"
        in report.notes
    )


def test_a_table_without_a_name_is_the_same_in_both_versions(flink):
    report = checked("2.3.0", "shop.Streamed")
    assert report.verdict is Verdict.COMPATIBLE, report.findings


@pytest.mark.parametrize("arguments", [(), ("never",)])
def test_whether_a_source_of_the_program_s_own_takes_its_position_is_not_known(flink, arguments):
    report = checked("2.3.0", "shop.Positions", *arguments)
    assert report.verdict is Verdict.UNKNOWN, report.findings
    assert [one.rule for one in report.findings if one.level is Level.UNKNOWN] == ["CMP418"]
    assert {one.fate for one in report.mapping if one.note == "CMP418"} == {Fate.UNKNOWN}
