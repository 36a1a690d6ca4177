"""What files of deployments say, and what ``compat check --deployment`` makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.compiler.configuration import IGNORE_UNCLAIMED, MAX_PARALLELISM, PARALLELISM
from compat.deployment.files import DeploymentError, read_deployment
from compat.deployment.resources import Deployment, Upgrade
from compat.deployment.risks import risks
from compat.state.model.job import STATE_BACKEND

RESOURCE = """\
apiVersion: flink.apache.org/v1beta1
kind: FlinkDeployment
metadata:
  name: counts
spec:
  flinkVersion: v1_20
  flinkConfiguration:
    state.backend: {backend}
    pipeline.max-parallelism: 64
    execution:
      checkpointing:
        interval: 60 s
        unaligned: true
  job:
    jarURI: local:///opt/job.jar
    parallelism: 3
    upgradeMode: {mode}
    allowNonRestoredState: {drops}
"""

PROGRAM = """\
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, context):
        self.count.update((self.count.value() or 0) + 1)
        yield value


env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1, 2], Types.LONG()).uid("numbers")
stream.key_by(lambda n: n, Types.LONG()).process(Count(), Types.LONG()).uid("UID").print().uid("out")
env.execute("job")
"""


def resource(mode: str = "savepoint", drops: str = "false", backend: str = "rocksdb") -> str:
    """A FlinkDeployment."""
    return RESOURCE.format(mode=mode, drops=drops, backend=backend)


@pytest.fixture
def file(tmp_path: Path):
    """Writes a file; gives its path."""

    def write(text: str, name: str = "deployment.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


# What files say


def test_a_resource_says_how_its_job_starts(file) -> None:
    found = read_deployment(file("---\n# a comment\n---\n" + resource()))
    assert (found.name, found.upgrade, found.flink) == ("counts", Upgrade.SAVEPOINT, "1.20")
    assert found.options == {
        STATE_BACKEND: "rocksdb",
        MAX_PARALLELISM: "64",
        "execution.checkpointing.interval": "60 s",
        "execution.checkpointing.unaligned.enabled": "true",
        PARALLELISM: "3",
    }


@pytest.mark.parametrize(
    ("mode", "drops", "ignored"),
    [("savepoint", "true", "true"), ("savepoint", "false", None), ("last-state", "true", None)],
)
def test_state_is_dropped_where_the_operator_has_flink_drop_it(
    file, mode: str, drops: str, ignored: str | None
) -> None:
    assert read_deployment(file(resource(mode, drops))).options.get(IGNORE_UNCLAIMED) == ignored


def test_upgrades_are_stateless_where_nothing_is_said(file) -> None:
    text = "apiVersion: flink.apache.org/v1beta1\nkind: FlinkSessionJob\nmetadata: {name: a}\nspec: {job: {}}\n"
    assert read_deployment(file(text)).upgrade is Upgrade.STATELESS


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", "parallelism:\n  default: 3\nstate:\n  backend:\n    type: forst\na.b: [x, 1]\n"),
        ("config.yaml", "parallelism.default: 3\nstate.backend.type: forst\na: {b: [x, 1]}\n"),
        ("flink-conf.yaml", "# x: y\nparallelism.default: 3 # three\nstate.backend: forst\nhalf\na.b: x;1\nempty:\n"),
    ],
)
def test_a_configuration_says_nothing_of_upgrades(file, name: str, text: str) -> None:
    found = read_deployment(file(text, name))
    assert found.options == {PARALLELISM: "3", STATE_BACKEND: "forst", "a.b": "x;1"}
    assert (found.upgrade, found.backend, found.drops_state) == (None, "forst", False)
    assert list(risks(found, found, None)) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: Service\napiVersion: v1\n", "and it holds Service"),
        ("kind: ConfigMap\ndata: {}\n", "and it holds ConfigMap"),
        ("apiVersion: v1\n", "and it holds None"),
        (resource() + "---\n" + resource(), "FlinkDeployment, FlinkDeployment"),
        ("", "holds nothing"),
        ("- a\n", "not a YAML file with keys and values"),
        ("a: [\n", "not a YAML file"),
        ("1: 2\n", "not a YAML file"),
        ("a: {1: 2}\n", "a.1 is no key of an option"),
        (resource("sometimes"), "'sometimes' is not a valid Upgrade"),
        (resource().replace("parallelism: 3", "parallelism: three"), "Expected `int | null`, got `str`"),
    ],
)
def test_what_is_no_deployment_is_refused_with_its_name(file, text: str, says: str) -> None:
    with pytest.raises(DeploymentError) as refused:
        read_deployment(file(text))
    assert "deployment.yaml: " in str(refused.value)
    assert says in str(refused.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="cannot be read"):
        read_deployment(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff")
    with pytest.raises(DeploymentError, match="byte 3"):
        read_deployment(tmp_path / "bytes.yaml")


# What is at risk


def deployment(upgrade: Upgrade, drops_state: bool = False, backend: str | None = None) -> Deployment:
    """A deployment without settings."""
    return Deployment(name="a", upgrade=upgrade, drops_state=drops_state, backend=backend, settings={})


@pytest.mark.parametrize(
    ("new", "old", "said"),
    [
        (deployment(Upgrade.SAVEPOINT), deployment(Upgrade.SAVEPOINT), []),
        (deployment(Upgrade.SAVEPOINT, True), deployment(Upgrade.SAVEPOINT), ["allowNonRestoredState is true"]),
        (deployment(Upgrade.STATELESS), deployment(Upgrade.SAVEPOINT), ["upgradeMode is stateless"]),
        (deployment(Upgrade.STATELESS), None, []),
        (deployment(Upgrade.LAST_STATE), deployment(Upgrade.LAST_STATE), ["upgradeMode is last-state"]),
        (
            deployment(Upgrade.LAST_STATE, backend="rocksdb"),
            deployment(Upgrade.LAST_STATE, backend="org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackendFactory"),
            ["upgradeMode is last-state"],
        ),
        (
            deployment(Upgrade.LAST_STATE, True, "forst"),
            deployment(Upgrade.LAST_STATE, backend="hashmap"),
            [
                "upgradeMode is last-state",
                "the state backend changes from hashmap to forst, and upgradeMode is last-state",
                "allowNonRestoredState is true, and not heeded where the last state comes from high availability",
            ],
        ),
    ],
)
def test_the_way_of_an_upgrade_puts_state_at_risk(new: Deployment, old: Deployment | None, said: list[str]) -> None:
    assert [risk.says for risk in risks(new, old, None)] == said


def test_a_savepoint_that_is_named_is_restored_whatever_upgrades_do() -> None:
    stateless = deployment(Upgrade.STATELESS, drops_state=True)
    assert [risk.says for risk in risks(stateless, stateless, "/savepoint")] == ["allowNonRestoredState is true"]


# What the check says

AT_RISK = ("CMP606", "warning")


def checked(*arguments: object) -> tuple[int, set[tuple[str, str]], str]:
    """The exit code, the findings as rule and level, and the report as JSON."""
    result = CliRunner().invoke(main, ["check", *map(str, arguments), "--format", "json"])
    assert result.exit_code in (0, 1), result.output
    found = json.loads(result.output)["findings"]
    return result.exit_code, {(one["rule"], one["level"]) for one in found}, result.output


def test_the_settings_of_a_deployment_hold_and_its_risks_are_told(file) -> None:
    old, new = file(PROGRAM.replace("UID", "count"), "old.py"), file(PROGRAM.replace("UID", "counts"), "new.py")
    assert checked(old, old, "--deployment", file(resource()))[:2] == (0, set())
    code, levels, _ = checked(old, old, "--deployment", file(resource("stateless")))
    assert (code, levels) == (1, {("CMP606", "error")})
    # State that nothing takes is dropped, and said so; with the last state the start is refused.
    _, dropped, report = checked(old, new, "--deployment", file(resource("savepoint", "true")))
    assert "as NEW sets execution.state-recovery.ignore-unclaimed-state" in report
    assert AT_RISK in dropped
    _, _, report = checked(old, new, "--deployment", file(resource("last-state", "true")))
    assert "as NEW sets" not in report


def test_the_command_line_wins_over_the_deployment(file) -> None:
    program = file(PROGRAM.replace("UID", "count"), "job.py")
    above = file(resource().replace("parallelism: 3", "parallelism: 65"))
    code, levels, _ = checked(program, program, "--deployment", above, "--old-deployment", file(resource(), "old.yaml"))
    assert (code, levels) == (1, {("CMP305", "error")})
    assert checked(program, program, "--deployment", above, "-D", f"{PARALLELISM}=4")[0] == 0


def test_another_backend_under_last_state_fails_the_start(file) -> None:
    program = file(PROGRAM.replace("UID", "count"), "job.py")
    old = file(resource("last-state", backend="hashmap"), "old.yaml")
    new = file(resource("last-state"))
    code, levels, _ = checked(program, program, "--deployment", new, "--old-deployment", old)
    assert (code, levels) == (1, {AT_RISK, ("CMP606", "error")})
    assert checked(program, program, "--deployment", new, "--old-deployment", new)[:2] == (0, {AT_RISK})


def test_a_file_that_is_no_deployment_is_a_usage_error(file) -> None:
    result = CliRunner().invoke(
        main, ["check", "a.py", "b.py", "--deployment", str(file("kind: Service\napiVersion: v1\n"))]
    )
    assert result.exit_code == 2
    assert "Invalid value for '--deployment'" in result.output
    assert "it holds Service" in " ".join(result.output.split())
