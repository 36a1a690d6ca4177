"""Programs in the shapes that published examples have: each is planned, or told what it needs."""

import os
import selectors
import time
import zipfile
from types import SimpleNamespace

import pytest

import compat
from compat.check.findings import Fate, Level, Verdict
from compat.loader.failure import CLASSPATH, RUNTIME_PROPERTIES, Side, Undecidable
from compat.loader.inputs import FlinkJars, InputError
from compat.loader.jvm import process
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.failures import failed
from compat.loader.jvm.maven import Artifact, fetch
from compat.loader.jvm.messages import JarProgram, SqlScript
from compat.loader.jvm.process import JvmOptions
from compat.loader.jvm.program import _properties_of_project
from tests import needs
from tests.compat.loader.jvm.golden import JAVA
from tests.compat.loader.jvm.support import build, build_all, flink_of
from tests.compat.loader.jvm.test_surroundings import JAR as UNCONNECTED
from tests.needs import Need

pytestmark = pytest.mark.usefixtures("shared_jvms")

JAR = str(JAVA / "published" / "published.jar")
OPTIONS = JvmOptions(options={})


def program(name, *arguments):
    return JarProgram(path=JAR, main_class=name, arguments=arguments)


def failure(flink, java, name, *arguments, side=None):
    given = program(name, *arguments)
    return failed(build(given, flink, java, OPTIONS), given, OPTIONS, "shop.jar", side)


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
    assert found.hint.startswith("Give it the missing input: arguments with --args")


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


def test_what_is_printed_while_an_end_is_read_is_that_of_the_next(flink, java, monkeypatch):
    answering, pauses = set(), []

    def read(descriptor, size):
        if descriptor in answering and pauses:
            time.sleep(pauses.pop())  # all programs end before the end of the first is read
        found = os.read(descriptor, size)
        if found.startswith(b"{"):
            answering.add(descriptor)
        return found

    monkeypatch.setattr(process, "os", SimpleNamespace(**{**vars(os), "read": read}))
    build(program("shop.Catching", "quiet"), flink, java, OPTIONS)
    pauses.append(6.0)
    programs = [program("shop.Catching"), program("shop.Catching", "quiet"), program("shop.Catching")]
    told = ["No topic is named" in one.said for one in build_all(programs, flink, java, OPTIONS)]
    assert told == [True, False, True]


def test_a_program_in_the_package_of_a_library_has_lines_of_its_own(flink, java):
    found = failure(flink, java, "com.amazonaws.shop.Started")
    assert found.message.startswith(
        "The program failed: ConnectException: The program asks an external system while it builds its job with "
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
    assert found.hint == "Not on the class path: shop.properties. Name the folder with --classpath."
    (tmp_path / "shop.properties").write_text("name=from a file")
    jars = FlinkJars(version="2.3.0", main_class="shop.Reading", classpath=(str(tmp_path),))
    (plan,) = compat.plan(JAR, jars=jars)
    assert plan.job_name == "from a file"


def test_a_file_that_is_not_here_is_told_as_such(flink, java):
    found = failure(flink, java, "shop.Reading", "conf/shop.properties")
    assert "conf/shop.properties" in found.message
    assert found.hint.startswith("It reads a file that is missing: put it there, or start compat in the folder")


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
        "The statement at line 1 failed: Flink asks an external system for it: "
        "ConnectException: nobody listens at metastore:9083"
    )
    assert found.hint.startswith(
        "Make that reachable from here. Or define a table of an external catalog in the script"
    )


def test_hadoop_is_asked_for_by_its_name(flink, java):
    found = failure(flink, java, "shop.Tables", "hadoop")
    assert found.option == "--connector hadoop"
    assert found.hint.startswith("Write --connector hadoop, which downloads it from Maven")


@pytest.mark.parametrize(
    ("arguments", "parallelism"), [((), 1), (("4",), 4), (("host", "8081"), 1), (("host", "8081", "3"), 3)], ids=str
)
def test_an_environment_that_flink_refuses_on_a_cluster_gives_its_job(flink, java, arguments, parallelism):
    outcome = build(program("shop.Elsewhere", *arguments), flink, java, OPTIONS)
    assert outcome.crash is None
    (job,) = outcome.jobs
    assert (job.name, job.graph.parallelism, job.alone) == ("elsewhere", parallelism, True)
    assert job.parallelism_given == (parallelism != 1)
    assert {(node.source.file, node.source.line > 0) for node in job.nodes} == {("Elsewhere.java", True)}


def test_it_is_told_that_flink_run_refuses_it(flink):
    reports = [checked("2.3.0", name) for name in ("shop.Elsewhere", "shop.Looking")]
    assert ["flink run refuses it" in " ".join(report.notes) for report in reports] == [True, False]


def test_an_option_of_the_cluster_stands_under_what_the_program_gives(flink, java):
    options = JvmOptions(options={"parallelism.default": "7"})
    given = [program("shop.Elsewhere"), program("shop.Elsewhere", "4")]
    assert [one.jobs[0].graph.parallelism for one in build_all(given, flink, java, options)] == [7, 4]


def test_a_class_to_run_that_the_jar_does_not_have_is_told_with_those_that_it_has(flink, java):
    found = failure(flink, java, "shop.Elswere")
    assert found.hint.startswith(
        "Look at --main-class: published.jar has no such class; these have a main: shop.Elsewhere, "
    )
    assert found.option == "--main-class shop.Elsewhere"


def test_a_part_of_flinks_distribution_is_added_where_flink_is_fetched(java):
    """The State Processor API lies in ``opt``."""
    wanted = Artifact(group="org.apache.flink", name="flink-state-processor-api", version="2.3.0", alone=True)
    flink_of("2.3.0")
    try:
        fetch("state-processor", [wanted])
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    report = checked("2.3.0", "shop.Looking", "state")
    assert report.verdict is Verdict.COMPATIBLE
    assert any("--connector state-processor was added" in note for note in report.notes)
    assert not any("was added" in note for note in checked("2.3.0", "shop.Looking").notes)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("org.apache.flink.api.java.utils.ParameterTool", "Flink 2.3.0 does not have this class of Flink's own"),
        ("org.apache.flink.table.api.bridge.scala.Tables", "Put the jar that has org.apache.flink.table"),
        ("org.apache.flink.streaming.api.scala.DataStream", "Write --connector scala"),
    ],
    ids=["Flink's own", "a library of Flink's", "the Scala API"],
)
def test_a_class_that_this_version_of_flink_does_not_have_is_told_as_such(flink, java, name, told):
    assert failure(flink, java, "shop.Looking", name).hint.startswith(told)


@pytest.mark.parametrize(
    ("side", "option"), [(None, "--flink-version"), (Side.NEW, "--flink-version"), (Side.OLD, "--old-flink-version")]
)
def test_the_option_that_names_the_flink_is_that_of_the_side(flink, java, side, option):
    """A job of Flink 1 is built with Flink 2 where nobody names its own."""
    told = failure(flink, java, "shop.Looking", "org.apache.flink.api.java.utils.ParameterTool", side=side).hint
    assert told.endswith(f"Name that one with {option}, such as 1.20.0.")


def test_a_file_system_of_flinks_own_is_asked_for_by_its_name(flink, java):
    found = failure(flink, java, "shop.Looking", "s3")
    assert found.message.endswith("Could not find a file system implementation for scheme 's3a'.")
    assert found.option == "--connector flink-s3-fs-hadoop"


def test_the_scala_api_of_a_job_is_found_and_no_other_job_s(flink, java, tmp_path):
    without = tmp_path / "without its own.jar"
    with zipfile.ZipFile(JAR) as given, zipfile.ZipFile(without, "w") as made:
        for name in given.namelist():
            if "ScalaProduct" not in name:
                made.writestr(name, given.read(name))
    jars = (str(without), JAR, str(without))
    programs = [JarProgram(path=path, main_class="shop.Rows") for path in jars]
    outcomes = build_all(programs, flink, java, OPTIONS)
    assert [len(one.jobs) for one in outcomes] == [0, 1, 0]
    for one, given in zip((outcomes[0], outcomes[2]), (programs[0], programs[2]), strict=True):
        assert failed(one, given, OPTIONS, "shop.jar").option == "--connector scala"


@pytest.mark.parametrize(
    ("main", "arguments"), [("shop.Rows", ()), ("shop.Looking", ("scala.Product",))], ids=["the API", "the language"]
)
def test_flinks_scala_api_is_not_offered_to_a_job_of_a_later_scala(flink, java, tmp_path, main, arguments):
    later = tmp_path / "later.jar"
    with zipfile.ZipFile(JAR) as given, zipfile.ZipFile(later, "w") as made:
        for name in given.namelist():
            if "ScalaProduct" not in name:
                made.writestr(name, given.read(name))
        made.writestr("scala/collection/immutable/LazyList.class", b"")
    job = JarProgram(path=str(later), main_class=main, arguments=arguments)
    found = failed(build(job, flink, java, OPTIONS), job, OPTIONS, "later.jar")
    assert found.option == CLASSPATH
    assert "--connector scala" not in found.hint


def test_a_connector_that_flink_does_not_bring_is_not_added(flink):
    jars = FlinkJars(version="2.3.0", main_class="shop.Looking")
    with pytest.raises(InputError) as raised:
        compat.plan(JAR, jars=jars, args=("kafka",))
    assert raised.value.failure.option == "--connector kafka"


def test_a_statement_of_a_program_that_flink_cannot_read_is_told_in_one_line(flink, java):
    found = failure(flink, java, "shop.Tables", "reserved")
    assert found.message.startswith(
        'The program failed: SqlParserException: SQL parse failed. Encountered "value" at line 1'
    )
    assert "\n" not in found.message
    assert found.hint == "Where value is a name, write it in backquotes: `value`."


def test_an_exception_of_the_program_s_own_is_told_as_its_own(flink, java):
    found = failure(flink, java, "shop.Unwritten")
    assert found.message == "The program failed: UnsupportedOperationException: Write me"
    assert found.hint == (
        "The program throws this itself, in main(). If it needs arguments, give them with --args 'ARGUMENTS'."
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


def test_the_properties_that_a_project_keeps_for_a_laptop_are_named(tmp_path, monkeypatch):
    jar = tmp_path / "target" / "job.jar"
    jar.parent.mkdir()
    assert _properties_of_project(str(jar)) is None
    file = tmp_path / "src" / "main" / "resources" / "flink-application-properties-dev.json"
    file.parent.mkdir(parents=True)
    file.touch()
    assert _properties_of_project(str(jar)) == str(file)
    monkeypatch.chdir(tmp_path)
    assert _properties_of_project("target/job.jar") == "src/main/resources/flink-application-properties-dev.json"
