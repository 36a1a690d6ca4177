"""``compat deploy`` and the gate of ``compat cluster start``: what is refused before anything is asked or started."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing option '--job'"),
        (["--job", "count"], "Say which cluster: --cluster URL, or COMPAT_CLUSTER."),
        (["--job", "count", "--cluster", "there"], "'there' is not an address"),
        (["--job", "count", "--cluster", "http://h", "--watch", "soon"], "'soon' is no duration such as 60s or 5min."),
        (["--job", "count", "--cluster", "http://h", "--fresh", "-s", "x"], "give one of them"),
        (["--job", "count", "--cluster", "http://h", "--fresh", "--recipe", "x"], "--recipe moves some"),
        (["--job", "count", "--cluster", "http://h", "--recipe", "x"], "cannot be read: No such file"),
        (["--job", "a/b", "--cluster", "http://h", "--registry", "http://r"], "A job's name has 1 to 200 letters"),
        (["--job", "count", "--cluster", "http://h", "--registry", "r"], "Invalid value for '--registry'"),
    ],
    ids=[
        "no job",
        "no cluster",
        "odd cluster",
        "odd time",
        "both beginnings",
        "recipe of nothing",
        "no recipe",
        "odd name",
        "odd registry",
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], said: str, tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text("")
    found = CliRunner(env={"COMPAT_CLUSTER": "", "COMPAT_REGISTRY": ""}).invoke(
        main, ["deploy", str(program), *arguments]
    )
    assert found.exit_code == 2
    assert said in found.output


def test_a_cluster_with_an_odd_registry_does_not_start(tmp_path: Path) -> None:
    found = CliRunner().invoke(main, ["cluster", "start", "--dir", str(tmp_path / "cluster"), "--registry", "there"])
    assert found.exit_code == 2
    assert "Invalid value for '--registry': 'there' is not an address" in found.output
    assert not (tmp_path / "cluster").exists()
