"""Which program on this machine a resource of Flink's operator runs, and a check whose NEW is the resource."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.deployment.files import read_deployment
from compat.deployment.programs import NoProgram, program_of
from tests.compat.fix.programs import program

PYTHON = "local:///opt/flink/opt/flink-python-2.3.0.jar"
DRIVER = "org.apache.flink.client.python.PythonDriver"


def resource(folder: Path, job: str, options: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "orders.yaml"
    file.write_text(
        "apiVersion: flink.apache.org/v1beta1\nkind: FlinkDeployment\nmetadata: {name: orders}\n"
        f"spec: {{flinkVersion: v1_20, job: {{{job}}}, flinkConfiguration: {{{options}}}}}\n"
    )
    return file


@pytest.mark.parametrize("place", ["deploy/orders.jar", "target/orders.jar", "deploy/../build/libs/orders.jar"])
def test_a_jar_is_found_by_its_name_where_builds_put_it(tmp_path: Path, place: str) -> None:
    file = resource(
        tmp_path / "deploy", 'jarURI: "local:///opt/flink/usrlib/orders.jar", entryClass: a.Orders, args: ["--n", "1"]'
    )
    (tmp_path / place).resolve().parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_bytes(b"")
    runs = program_of(read_deployment(file), file)
    assert runs.file.resolve() == (tmp_path / place).resolve()
    assert (runs.main_class, runs.arguments) == ("a.Orders", ("--n", "1"))


def test_a_program_in_python_is_the_argument_of_flinks_driver(tmp_path: Path) -> None:
    args = 'args: ["-pyclientexec", "/usr/bin/python3", "-py", "/opt/flink/usrlib/orders.py", "--topic", "orders"]'
    file = resource(tmp_path, f'jarURI: "{PYTHON}", entryClass: {DRIVER}, {args}')
    (tmp_path / "orders.py").write_text("")
    runs = program_of(read_deployment(file), file)
    assert (runs.file.name, runs.main_class, runs.arguments) == ("orders.py", None, ("--topic", "orders"))


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ('jarURI: "https://repo/orders-7.jar"', "runs https://repo/orders-7.jar, and no orders-7.jar is beside it"),
        ("parallelism: 2", "runs no job"),
        (f'jarURI: "{PYTHON}", entryClass: {DRIVER}, args: ["-pym", "orders"]', "does not say which with -py"),
    ],
)
def test_a_program_that_is_not_here_is_named(tmp_path: Path, job: str, says: str) -> None:
    file = resource(tmp_path, job)
    with pytest.raises(NoProgram, match=says):
        program_of(read_deployment(file), file)


def test_new_may_be_the_resource_that_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it says of the deployment: here that the job may drop state that nothing takes."""
    monkeypatch.chdir(tmp_path)
    Path("v1.py").write_text(program("numbers.COUNTED.uid('c')"))
    Path("v2.py").write_text(program("numbers.COUNTED.uid('d')"))
    args = f'jarURI: "{PYTHON}", entryClass: {DRIVER}, args: ["-py", "/usrlib/v2.py"], upgradeMode: savepoint'
    resource(tmp_path, f"{args}, allowNonRestoredState: true")
    result = CliRunner().invoke(main, ["check", "v1.py", "orders.yaml"])
    assert result.exit_code == 1, result.output
    assert "v2.py" in result.output
    assert "--deployment orders.yaml" in result.output
    twice = CliRunner().invoke(main, ["check", "v1.py", "orders.yaml", "--deployment", "orders.yaml"])
    assert "--deployment has no effect: orders.yaml already says" in " ".join(twice.output.split())
    Path("v2.py").unlink()
    gone = CliRunner().invoke(main, ["check", "v1.py", "orders.yaml"])
    assert gone.exit_code == 2
    assert "Name the program: compat check v1.py PROGRAM --deployment orders.yaml." in " ".join(gone.output.split())
