"""The version of Flink that a program is for, by what its project pins and by the API that it uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.check.findings import Report, Verdict
from compat.comparison import Comparison, compare
from compat.loader.flink_version import pin_of, release_of
from compat.loader.inputs import InputError, LoadOptions, opened
from compat.loader.inputs import load as load_plans
from compat.plan.writing import dump

BEFORE_2 = "from pyflink.datastream import TimeCharacteristic"
SINCE_2 = "from pyflink.datastream import AsyncDataStream"
JOB = """
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).map(lambda one: one).print()
env.execute()
"""


@pytest.mark.parametrize(
    ("file", "text", "named", "flink"),
    [
        ("requirements.txt", "requests\napache-flink==1.18.1\n", "1.18", "1.20"),
        ("requirements-dev.txt", "apache_flink ~= 2.1", "2.1", "2.3"),
        ("pyproject.toml", 'dependencies = ["apache-flink[x]==1.20.0"]', "1.20", "1.20"),
        ("pyproject.toml", 'apache-flink = "^1.17"', "1.17", "1.20"),
        ("Pipfile", 'apache-flink = "==1.19.*"', "1.19", "1.20"),
        ("pom.xml", "<flink.version>2.0.1</flink.version>", "2.0", "2.3"),
        ("Dockerfile", "FROM docker.io/library/flink:1.17.2-scala_2.12\n", "1.17", "1.20"),
        ("environment.yml", "  - apache-flink=1.20.1", "1.20", "1.20"),
        ("docker-compose.yml", "services:\n  jobmanager:\n    image: apache/flink:1.18.1-java11\n", "1.18", "1.20"),
        ("compose.yaml", 'services:\n  jobmanager:\n    image: "flink:2.1"\n', "2.1", "2.3"),
        (
            "Dockerfile",
            "RUN wget -P /opt/flink/lib https://a/flink-sql-connector-kafka-3.1.0-1.18.jar\n",
            "1.18",
            "1.20",
        ),
        ("Dockerfile", "COPY flink-connector-jdbc-4.0.0-2.0.jar /opt/flink/lib/\n", "2.0", "2.3"),
        ("Dockerfile", "COPY flink-sql-connector-kafka_2.11-1.14.0.jar lib/\n", "1.14", "1.20"),
        ("Dockerfile", "COPY flink-connector-kafka-1.17.1.jar lib/\n", "1.17", "1.20"),
    ],
)
def test_a_pin(tmp_path: Path, file: str, text: str, named: str, flink: str) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / "jobs").mkdir()
    pin = pin_of(str(tmp_path / "jobs" / "job.py"))
    assert pin is not None
    assert (pin.named, pin.flink, pin.file) == (named, flink, file)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("requirements.txt", "apache-flink>=1.16\n"),
        ("requirements.txt", "apache-flink-libraries==1.18.1\n"),
        ("requirements.txt", "apache-flink==0.9\n"),
        ("notes.txt", "apache-flink==1.18.1\n"),
        ("Dockerfile", "COPY flink-connector-jdbc-3.1.2.jar kafka-clients-3.1.0-1.18.jar lib/\n"),
        ("docker-compose.yml", "    image: bitnami/kafka:1.18\n"),
        ("Dockerfile", "FROM acme/flinkless:1.17\n"),
    ],
)
def test_no_pin(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert pin_of(str(tmp_path / "job.py")) is None


def test_a_pin_in_a_folder_below_the_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for folder in ("docker", "jobs", "web"):
        (tmp_path / folder).mkdir()
    job = str(tmp_path / "jobs" / "job.py")
    (tmp_path / "docker" / "requirements.txt").write_text("apache-flink==1.18.1\n", encoding="utf-8")
    pin = pin_of(job)
    assert pin is not None
    assert str(pin) == "docker/requirements.txt names Flink 1.18"
    (tmp_path / "web" / "Dockerfile").write_text("FROM flink:2.1\n", encoding="utf-8")
    assert pin_of(job) is None
    (tmp_path / "requirements.txt").write_text("apache-flink==1.20.0\n", encoding="utf-8")
    pin = pin_of(job)
    assert pin is not None
    assert pin.file == "requirements.txt"


def test_the_jars_that_a_program_names_pin_its_version_before_its_project_does(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("apache-flink==2.1.0\n", encoding="utf-8")
    job = tmp_path / "job.py"
    job.write_text("env.add_jars('file:///opt/flink-sql-connector-kafka-3.2.0-1.19.jar')\n", encoding="utf-8")
    pin = pin_of(str(job))
    assert pin is not None
    assert (pin.named, pin.flink, pin.file) == ("1.19", "1.20", "job.py")


def test_a_requirement_is_believed_before_docker_compose(tmp_path: Path) -> None:
    (tmp_path / "docker-compose.yml").write_text("    image: flink:2.1\n", encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("apache-flink==1.18.1\n", encoding="utf-8")
    pin = pin_of(str(tmp_path / "job.py"))
    assert pin is not None
    assert pin.file == "requirements.txt"


def test_a_pin_outside_of_the_repository_is_not_the_programs(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("apache-flink==1.18.1\n", encoding="utf-8")
    (tmp_path / "project" / ".git").mkdir(parents=True)
    assert pin_of(str(tmp_path / "project" / "job.py")) is None


def test_a_folder_above_that_is_no_project_pins_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("apache-flink==1.18.1\n", encoding="utf-8")
    (tmp_path / "jobs").mkdir()
    assert pin_of(str(tmp_path / "jobs" / "job.py")) is None
    assert pin_of(str(tmp_path / "jobs" / "job.py"), str(tmp_path)) is not None


def judged(folder: Path, old: str, new: str, **load: object) -> tuple[str, set[str], str]:
    """The verdict, the rules on versions, and the notes."""
    for name, text in (("old", old), ("new", new)):
        (folder / f"{name}.py").write_text(f"{text}\n{JOB}", encoding="utf-8")
    given = Comparison(str(folder / "old.py"), str(folder / "new.py"), load=LoadOptions.given({}, **load))  # type: ignore[arg-type]
    (report,) = compare(given).outcomes
    rules = (
        {one.rule for one in report.findings if one.rule.startswith("CMP6")} if hasattr(report, "findings") else set()
    )
    return report.verdict.value, rules, " ".join(getattr(report, "notes", ()))


def test_both_programs_are_of_the_version_whose_api_one_uses(tmp_path: Path) -> None:
    verdict, rules, notes = judged(tmp_path, BEFORE_2, "")
    assert (verdict, rules) == ("compatible", set())
    assert "Judged as Flink 1.20: PyFlink 2.3 lacks what a program uses" in notes
    assert "old.py:1" in notes


def test_apis_of_two_versions_are_a_change_of_the_version(tmp_path: Path) -> None:
    _, _, notes = judged(tmp_path, SINCE_2, BEFORE_2)
    assert "Judged as Flink 2.3" in notes
    assert "Judged as Flink 1.20" in notes
    assert judged(tmp_path, BEFORE_2, SINCE_2)[0] == "compatible"


def test_a_version_that_somebody_names_holds(tmp_path: Path) -> None:
    verdict, _, notes = judged(tmp_path, BEFORE_2, "", flink="2.3")
    assert (verdict, notes) == ("unknown", "")


def test_a_program_for_no_version_fails(tmp_path: Path) -> None:
    assert judged(tmp_path, f"{BEFORE_2}\n{SINCE_2}", "")[0] == "unknown"


def test_the_project_tells(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("apache-flink==1.19.0\n", encoding="utf-8")
    verdict, rules, notes = judged(tmp_path, "", "")
    assert (verdict, rules, notes) == ("compatible", set(), "Judged as Flink 1.20: requirements.txt names Flink 1.19.")


CONSUMER = """
from pyflink.common import SimpleStringSchema
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import FlinkKafkaConsumer
env = StreamExecutionEnvironment.get_execution_environment()
env.add_source(FlinkKafkaConsumer("orders", SimpleStringSchema(), {"bootstrap.servers": "b:1"})).uid("orders").print()
env.execute()
"""


@pytest.fixture
def consuming(tmp_path: Path) -> Path:
    program = tmp_path / "job.py"
    program.write_text(CONSUMER, encoding="utf-8")
    return program


def kept(program: Path, folder: Path, **load: str) -> Path:
    """The plan of a program as it is kept."""
    with opened(str(program)) as given:
        (plan,) = load_plans(given, LoadOptions.given({}, **load))  # type: ignore[arg-type]
    file = folder / "plan.json"
    file.write_text(dump(plan), encoding="utf-8")
    return file


def report_on(old: Path, new: Path, **load: str) -> Report:
    (report,) = compare(Comparison(str(old), str(new), load=LoadOptions.given({}, **load))).outcomes  # type: ignore[arg-type]
    assert isinstance(report, Report)
    return report


def test_a_source_that_only_flink_1_has_is_judged_as_that(consuming: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    with opened(str(consuming)) as given:
        (plan,) = load_plans(given, LoadOptions.given({}), notes=notes)
    assert (plan.flink, plan.flink_assumed) == ("1.20", False)
    assert notes == [f"Judged as Flink 1.20: PyFlink 2.3 lacks what a program uses ({consuming}:6)."]
    assert report_on(consuming, consuming).verdict is Verdict.COMPATIBLE


def test_a_kept_plan_that_was_guessed_to_be_of_flink_2_changes_no_version(consuming: Path, tmp_path: Path) -> None:
    earlier = kept(consuming, tmp_path, flink="2.3")
    report = report_on(earlier, consuming)
    assert [one.rule for one in report.findings if one.rule == "CMP604"] == []
    assert report.verdict is Verdict.COMPATIBLE


def test_a_version_that_is_named_for_what_it_lacks_is_told(consuming: Path) -> None:
    assert "CMP604" in {one.rule for one in report_on(consuming, consuming, flink="2.3").findings}


def test_a_version_that_nobody_named_is_no_change_of_it(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(JOB.replace(".print()", ".key_by(lambda one: one).reduce(max).print()"), encoding="utf-8")
    guessed = kept(program, tmp_path)
    assert b"flink_assumed" in guessed.read_bytes()
    assert "CMP604" not in {one.rule for one in report_on(guessed, program, flink="1.20").findings}
    named = kept(program, tmp_path, flink="2.3")
    assert "CMP604" in {one.rule for one in report_on(named, program, flink="1.20").findings}


@pytest.mark.parametrize(
    ("file", "text", "release"),
    [
        ("pom.xml", "<properties><flink.version>1.20.1</flink.version></properties>", "1.20.1"),
        ("gradle.properties", "flinkVersion=1.19.2\n", "1.19.2"),
        ("build.gradle", "ext { flinkVersion = '1.18.1' }", "1.18.1"),
        ("build.gradle.kts", 'val flink_version = "2.0.0"', "2.0.0"),
        ("build.sbt", 'val flinkVersion = "1.17.2"', "1.17.2"),
        ("build.sbt", 'val flinkVersion := "1.17"', None),
    ],
)
def test_the_release_that_a_build_names(tmp_path: Path, file: str, text: str, release: str | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert release_of(str(tmp_path / "target" / "job.jar")) == (None if release is None else (release, file))


@pytest.mark.parametrize(("named", "option"), [("1.20.1", "1.20.1"), ("1.16.0", "2.3.0")])
def test_a_jar_without_flink_is_advised_the_release_that_it_was_built_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, option: str
) -> None:
    monkeypatch.delenv("FLINK_HOME", raising=False)
    (tmp_path / ".git").mkdir()
    (tmp_path / "pom.xml").write_text(f"<flink.version>{named}</flink.version>", encoding="utf-8")
    job = tmp_path / "job.sql"
    job.write_text("SELECT 1;", encoding="utf-8")
    with pytest.raises(InputError) as raised, opened(str(job)) as given:
        load_plans(given, LoadOptions())
    assert raised.value.failure.option == f"--flink-version {option}"
    assert raised.value.failure.hint is not None
    assert f"--flink-version {option}, which downloads them" in raised.value.failure.hint
