"""Programs that end, hang, fail or submit in every way: each ends with our words."""

import re
import zipfile

import pytest

from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.failures import check_jar, failed
from compat.loader.jvm.messages import JarProgram, SqlScript
from compat.loader.jvm.process import JvmOptions
from tests.compat.loader.jvm.golden import PROGRAMS
from tests.compat.loader.jvm.support import build, build_all

OPTIONS = JvmOptions(options={}, timeout=60, open_timeout=3)
IN_ONE_JVM = (
    "prints",
    "leaves-thread",
    "twice",
    "async",
    "none",
    "fails",
    "missing",
    "local",
    "collision",
    "open-fails",
)
ENDS_IT = ("exits", "exits-before")
SOURCE = "CREATE TABLE src (k BIGINT) WITH ('connector'='datagen');\n"


def jar(*arguments, main_class=None):
    return JarProgram(path=str(PROGRAMS), main_class=main_class, arguments=arguments)


@pytest.fixture(scope="module")
def outcomes(flink, java):
    """What the programs did, by their argument."""
    names = (*IN_ONE_JVM, *ENDS_IT)
    return dict(zip(names, build_all([jar(name) for name in names], flink, java, OPTIONS), strict=True))


@pytest.mark.parametrize("name", ["prints", "leaves-thread", "exits", "async"])
def test_a_program_that_submits_one_job(outcomes, name):
    outcome = outcomes[name]
    assert outcome.crash is None
    assert len(outcome.jobs) == 1
    assert failed(outcome, jar(name), OPTIONS, "programs.jar") is None


def test_a_program_may_submit_several_jobs(outcomes):
    first, second = outcomes["twice"].jobs
    assert (first.name, second.name) == ("first", "second")
    states = [
        [one.name for node in job.nodes for one in node.states.states if one.scope == "keyed"]
        for job in (first, second)
    ]
    assert states == [["n"], ["m"]]


@pytest.mark.parametrize(
    ("name", "rule", "message", "hint"),
    [
        ("none", "CMP903", "The program submits no job.", "env.execute()"),
        ("fails", "CMP901", "IllegalArgumentException: --topic is missing", ""),
        ("missing", "CMP901", "The class Missing is missing.", "--classpath"),
        ("local", "CMP901", "No operators defined in streaming topology", ""),
        ("collision", "CMP901", "Hash collision on user-specified ID", ""),
        ("exits-before", "CMP901", r"System.exit\(3\) before it submitted a job", "--args"),
    ],
)
def test_a_program_that_gives_no_job_says_why(outcomes, name, rule, message, hint):
    failure = failed(outcomes[name], jar(name), OPTIONS, "programs.jar")
    assert failure.rule == rule
    assert re.search(message, failure.message), failure.message
    assert hint in (failure.hint or "")


def test_a_job_that_flink_refuses_is_told_from_a_program_that_fails(outcomes):
    assert outcomes["collision"].crash.refused
    assert not outcomes["fails"].crash.refused


def test_the_lines_of_a_failure_are_the_programs_own(outcomes):
    failure = failed(outcomes["fails"], jar("fails"), OPTIONS, "programs.jar")
    assert failure.source.file == "Programs.java"
    assert failure.source.line > 0
    assert "org.apache.flink" not in failure.traceback


def test_the_states_of_an_open_that_fails_or_hangs_are_read_from_its_code(outcomes):
    (job,) = outcomes["open-fails"].jobs
    states = {node.uid: node.states for node in job.nodes if node.uid}
    assert {uid: (one.unknown, one.more) for uid, one in states.items()} == dict.fromkeys(states, ("", None))
    timers = {"_timer_state/processing_user-timers", "_timer_state/event_user-timers"}
    names = {uid: {state.name for state in one.states} for uid, one in states.items()}
    # Of the class above them they have a method that asks for a state, which is not called.
    assert names == {
        "numbers": {"SourceReaderState"},
        "fails": timers,
        "blocks": timers,
        "counts": {"n", *timers},
    }


def test_no_open(outcomes, flink, java):
    options = JvmOptions(options={"parallelism.default": "2"}, call_open=False)
    (job,) = build(jar("prints"), flink, java, options).jobs
    assert {node.states.unknown for node in job.nodes} == {""}
    told = {node.uid: {one.name for one in node.states.states} for node in job.nodes}
    assert told == {node.uid: {one.name for one in node.states.states} for node in outcomes["prints"].jobs[0].nodes}
    assert {node.parallelism for node in job.nodes} == {2}


def test_a_main_that_never_returns_is_ended(flink, java):
    options = JvmOptions(options={}, timeout=8)
    failure = failed(build(jar("hangs"), flink, java, options), jar("hangs"), options, "programs.jar")
    assert failure.rule == "CMP902"
    assert failure.message.startswith(
        "The program did not end within 8 seconds. It was at Programs.sleep(Programs.java:"
    )
    assert failure.message.endswith("), in Thread.sleep().")


def changed(path, change):
    """The jar with its class and manifest changed."""
    with zipfile.ZipFile(PROGRAMS) as given, zipfile.ZipFile(path, "w") as made:
        for name in given.namelist():
            data = change(name, given.read(name))
            if data is not None:
                made.writestr(name, data)
    return str(path)


def test_classes_of_a_later_java_and_a_wrong_main_class(flink, java, tmp_path):
    def newer(name, data):
        return data[:6] + b"\x00\x63" + data[8:] if name.endswith(".class") else data

    late = JarProgram(path=changed(tmp_path / "late.jar", newer))
    wrong = jar(main_class="com.example.Main")
    first, second = (failed(one, late, OPTIONS, "late.jar") for one in build_all([late, wrong], flink, java, OPTIONS))
    assert "compiled for Java 55, and this is Java" in first.message
    assert "JAVA_HOME" in first.hint
    assert "com.example.Main" in second.message


def test_a_jar_that_names_no_main_class_says_which_there_are(tmp_path):
    path = changed(tmp_path / "bare.jar", lambda name, data: None if name == "META-INF/MANIFEST.MF" else data)
    with pytest.raises(JvmError, match="no Main-Class") as raised:
        check_jar(JarProgram(path=path))
    assert raised.value.hint == "Name it with --main-class; these have a main: AnyVersion, Programs."
    path = changed(tmp_path / "one.jar", lambda name, data: data if name == "Programs.class" else None)
    with pytest.raises(JvmError) as raised:
        check_jar(JarProgram(path=path))
    assert raised.value.hint == "Write --main-class Programs."
    check_jar(JarProgram(path=path, main_class="Programs"))
    check_jar(jar())


def test_what_is_no_jar_is_refused(tmp_path):
    (tmp_path / "a.jar").write_text("no zip")
    with pytest.raises(JvmError, match="is not a jar"):
        check_jar(JarProgram(path=str(tmp_path / "a.jar")))


def script(text):
    return SqlScript(path="job.sql", text=text)


def test_scripts_that_fail_name_the_line_and_what_is_missing(flink, java):
    scripts = [
        script(SOURCE + "CREATE TABLE o (k BIGINT) WITH ('connector'='kafka');\n\nINSERT INTO o\nSELECT k FROM src;"),
        script(SOURCE + "\nINSERT INTO nowhere SELECT k FROM src;"),
        script(SOURCE + "INSERT INTO o SELEKT 1;"),
        script(SOURCE + "SELECT * FROM src;"),
        script(
            SOURCE + "SET 'pipeline.name' = 'mine';\nCREATE TABLE o (k BIGINT) WITH ('connector'='print');\n"
            "INSERT INTO o SELECT k FROM src;\nRESET;\nINSERT INTO o SELECT k + 1 FROM src;"
        ),
    ]
    outcomes = build_all(scripts, flink, java, OPTIONS)
    kafka, nowhere, typo = (
        failed(one, given, OPTIONS, "job.sql") for one, given in zip(outcomes[:3], scripts, strict=False)
    )
    assert kafka.message == "The statement at line 4 failed: No DynamicTableFactory for 'kafka' is on the class path."
    assert "--connector kafka" in kafka.hint
    assert (nowhere.source.line, "nowhere" in nowhere.message) == (3, True)
    assert (typo.source.line, typo.rule) == (2, "CMP901")
    assert [(job.nodes[-1].name, job.statements[0].line) for job in outcomes[3].jobs] == [
        ("Sink: Collect table sink", 2)
    ]
    assert [job.name for job in outcomes[4].jobs] == ["mine", "insert-into_default_catalog.default_database.o"]
    assert [job.statements[0].line for job in outcomes[4].jobs] == [4, 6]
