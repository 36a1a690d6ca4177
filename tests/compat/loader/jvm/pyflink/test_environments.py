"""``compat setup pyflink``, and which environment builds a program. A stand-in for pip installs; there is no network."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.loader.inputs import FlinkJars, Input, InputKind, LoadOptions
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.pyflink import choosing, environments
from compat.loader.jvm.pyflink.environments import Environment, fitting, made, make, pyflink_in
from tests import needs
from tests.needs import Need

PIP = """#!/bin/sh
# What stands for a Python: it says its version, makes an environment with itself in it, and installs what has a release.
case "$1$2" in
-c*) echo "{python}" ;;
-mvenv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
-mpip)
  for wanted; do :; done
  version=${{wanted#apache-flink==}}
  case "$version" in
  *.\\*) version="${{version%.\\*}}.7" ;;
  9.*) echo "ERROR: No matching distribution found for $wanted" >&2; exit 1 ;;
  esac
  site="$(dirname "$0")/../lib/python3.11/site-packages"
  mkdir -p "$site/pyflink/lib" "$site/apache_flink-$version.dist-info"
  touch "$site/pyflink/__init__.py" "$site/pyflink/lib/flink-dist-$version.jar"
  echo "$wanted" >> "{log}"
  ;;
esac
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """A user of its own, with no environments, no interpreters on the path, and no PyFlink."""
    for name in ("COMPAT_PYFLINK", "FLINK_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environments.shutil, "which", lambda _: None)
    monkeypatch.setattr(choosing, "version", lambda name: (_ for _ in ()).throw(choosing.PackageNotFoundError(name)))


def stand_in(folder: Path, python: str = "3 11") -> str:
    """An executable that stands for a Python of this version with venv and pip."""
    file = folder / f"python{python.replace(' ', '.')}"
    file.write_text(PIP.format(python=python, log=folder / "installed"), encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def environment(folder: Path, version: str) -> Path:
    """A folder with the files of an environment that has PyFlink."""
    packages = folder / "lib" / "python3.11" / "site-packages"
    (packages / f"apache_flink-{version}.dist-info").mkdir(parents=True)
    (packages / f"apache_flink_libraries-{version}.dist-info").mkdir()
    (packages / "pyflink").mkdir()
    (packages / "pyflink" / "__init__.py").touch()
    return folder


def test_an_environment_is_made_once_and_listed(tmp_path):
    python = stand_in(tmp_path)
    one, now = make("1.20", python)
    assert (one.version, now) == ("1.20.7", True)
    assert one.folder == tmp_path / "cache" / "compat" / "pyflink" / "1.20"
    again, now = make("1.20", python)
    assert (again, now) == (one, False)
    make("2.3.0", python)
    assert [env.version for env in made()] == ["2.3.0", "1.20.7"]
    assert (tmp_path / "installed").read_text().splitlines() == ["apache-flink==1.20.*", "apache-flink==2.3.0"]


def test_another_release_takes_the_place_of_the_one_before(tmp_path):
    python = stand_in(tmp_path)
    make("1.20.1", python)
    replaced, now = make("1.20.3", python)
    assert (replaced.version, now) == ("1.20.3", True)
    assert pyflink_in(replaced.folder) == replaced


def test_what_failed_leaves_nothing_behind(tmp_path):
    with pytest.raises(JvmError, match=r"No matching distribution found for apache-flink==9.0.0"):
        make("9.0.0", stand_in(tmp_path, "3 12"))
    home = tmp_path / "cache" / "compat" / "pyflink"
    assert list(home.iterdir()) == []
    abandoned = home / ".999999999-left"
    abandoned.mkdir()
    kept = home / f".{os.getpid()}-working"
    kept.mkdir()
    make("1.20", stand_in(tmp_path))
    assert not abandoned.exists()
    assert kept.exists()


@pytest.mark.parametrize(
    ("version", "python", "says"),
    [
        ("1.20", "3 12", r"PyFlink 1.20 is for Python 3.9 to 3.11, and .* is Python 3.12"),
        ("1.18", "3 11", r"PyFlink 1.18 is for Python 3.9 to 3.10, and .* is Python 3.11"),
        ("2.3", "3 13", r"PyFlink 2.3 is for Python 3.9 to 3.12, and .* is Python 3.13"),
        ("1.14", "3 8", r"'1.14' is not a supported PyFlink: that is 1.17 or later"),
        ("latest", "3 11", r"'latest' is not a supported PyFlink"),
    ],
)
def test_what_a_python_cannot_have_is_said(tmp_path, version, python, says):
    with pytest.raises(JvmError, match=says):
        make(version, stand_in(tmp_path, python))


def test_a_machine_without_such_a_python_says_which_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(environments.sys, "version_info", (3, 13, 0))
    with pytest.raises(JvmError, match=r"for Python 3.9 to 3.11, and none of these is on this machine") as raised:
        make("1.20")
    assert "compat setup pyflink 1.20 --python PYTHON" in raised.value.hint


def test_pyenvs_pythons_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(environments.sys, "version_info", (3, 13, 0))
    folder = tmp_path / "home" / ".pyenv" / "versions" / "3.10.9" / "bin"
    folder.mkdir(parents=True)
    Path(stand_in(folder, "3 10")).rename(folder / "python")
    assert make("1.18")[0].version == "1.18.7"


def test_the_command_says_where_it_is_and_what_went_wrong(tmp_path):
    python = stand_in(tmp_path)
    done = CliRunner().invoke(main, ["setup", "pyflink", "1.20", "--python", python])
    assert (done.exit_code, "PyFlink 1.20.7 is in " in done.output) == (0, True), done.output
    assert "already in" in CliRunner().invoke(main, ["setup", "pyflink", "1.20"]).output
    failed = CliRunner().invoke(main, ["setup", "pyflink", "9.0.0", "--python", stand_in(tmp_path, "3 12")])
    assert (failed.exit_code, "No matching distribution" in failed.output) == (2, True), failed.output


@pytest.mark.parametrize(
    ("flink", "assumed", "chosen"),
    [
        ("1.20", False, ["1.20.7", "1.19.3"]),
        ("2.3", False, ["2.3.0"]),
        ("2.3", True, ["2.3.0", "1.20.7", "1.19.3"]),
        ("1.18", False, ["1.20.7", "1.19.3"]),
    ],
)
def test_an_environment_is_for_its_version_and_the_api_of_that(flink, assumed, chosen):
    known = [Environment(folder=Path(one), version=one) for one in ("2.3.0", "1.20.7", "1.19.3")]
    assert [one.version for one in fitting(known, flink, assumed)] == chosen


def program(folder: Path) -> Input:
    (folder / "project" / ".git").mkdir(parents=True)
    (folder / "project" / "jobs").mkdir()
    (folder / "project" / "jobs" / "job.py").touch()
    path = str(folder / "project" / "jobs" / "job.py")
    return Input(path, path, InputKind.PROGRAM)


def test_what_was_made_builds_a_program_and_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(choosing, "find_pyflink", lambda python=None: python)
    make("1.20", stand_in(tmp_path))
    make("2.3", stand_in(tmp_path))
    for flink, version in (("1.20", "1.20.7"), ("2.3", "2.3.7")):
        folder, said = choosing.choose(program(tmp_path / flink), LoadOptions(flink=flink))
        assert folder == str(tmp_path / "cache" / "compat" / "pyflink" / flink)
        assert said == f"Built by PyFlink {version}, in the environment of compat setup pyflink."
    monkeypatch.setattr(choosing, "version", lambda _: "2.3.1")
    assert choosing.choose(program(tmp_path / "own"), LoadOptions(flink="2.3")) == (None, "")
    assert choosing.choose(program(tmp_path / "other"), LoadOptions(flink="1.20"))[0].endswith("1.20")


def test_what_was_made_for_the_pinned_version_builds_a_program_before_the_machines_own(tmp_path, monkeypatch):
    """COMPAT_PYFLINK stands for all programs of a machine; ``--pyflink`` is for this one."""
    monkeypatch.setattr(choosing, "find_pyflink", lambda python=None: python)
    own = environment(tmp_path / "own", "2.3.0")
    monkeypatch.setenv("COMPAT_PYFLINK", str(own))
    pinned = LoadOptions(flink="1.20", flink_pin="requirements.txt names Flink 1.17")
    assert choosing.choose(program(tmp_path / "a"), pinned) == (None, "")
    make("1.20", stand_in(tmp_path))
    assert choosing.choose(program(tmp_path / "b"), pinned)[0].endswith("1.20")
    named = LoadOptions(flink="1.20", jars=FlinkJars(pyflink=str(own)))
    assert choosing.choose(program(tmp_path / "c"), named) == (str(own), "")
    assert choosing.choose(program(tmp_path / "d"), LoadOptions(flink="2.3", flink_assumed=True)) == (None, "")


def test_another_version_is_tried_where_it_is_there(tmp_path, monkeypatch):
    assert choosing.may_be_of("1.20", LoadOptions())
    assert not choosing.may_be_of("1.20", LoadOptions(jars=FlinkJars(pyflink="python3")))
    monkeypatch.setenv("COMPAT_PYFLINK", str(environment(tmp_path / "own", "2.3.0")))
    assert not choosing.may_be_of("1.20", LoadOptions())
    make("1.20", stand_in(tmp_path))
    assert choosing.may_be_of("1.20", LoadOptions())


def test_a_pin_of_another_version_is_told_with_the_command():
    pinned = LoadOptions(flink="1.20", flink_pin="requirements.txt names Flink 1.17")
    assert choosing.unlike_pin(pinned, "2.3.0") == (
        "requirements.txt names Flink 1.17, and PyFlink 2.3.0 builds the program.",
        "compat setup pyflink 1.20",
    )
    assert choosing.unlike_pin(pinned, "1.20.5") is None
    assert choosing.unlike_pin(LoadOptions(flink="1.20"), "2.3.0") is None


def test_pythons_that_have_it_are_said_and_not_run(tmp_path, monkeypatch):
    given = program(tmp_path)
    environment(tmp_path / "project" / ".venv", "1.20.1")
    environment(tmp_path / "home" / ".pyenv" / "versions" / "3.10.1", "2.3.0")
    conda = environment(tmp_path / "conda" / "flink", "2.2.0")
    (tmp_path / "home" / ".conda").mkdir()
    (tmp_path / "home" / ".conda" / "environments.txt").write_text(f"/nowhere\n{conda}\n")
    monkeypatch.chdir(tmp_path / "project")
    for flink, option in (
        ("1.20", "--pyflink .venv"),
        ("2.3", f"--pyflink {tmp_path / 'home' / '.pyenv' / 'versions' / '3.10.1'}"),
    ):
        with pytest.raises(JvmError, match="needs PyFlink itself") as raised:
            choosing.choose(given, LoadOptions(flink=flink))
        assert raised.value.option == option
        assert f"give {option}. Or: compat setup pyflink {flink} makes" in raised.value.hint
    monkeypatch.setenv("CONDA_PREFIX", str(environment(tmp_path / "active", "2.3.2")))
    with pytest.raises(JvmError) as raised:
        choosing.choose(given, LoadOptions(flink="2.3"))
    assert raised.value.option == f"--pyflink {tmp_path / 'active'}"


def test_a_machine_without_any_says_how_one_is_made(tmp_path):
    with pytest.raises(JvmError) as raised:
        choosing.choose(program(tmp_path), LoadOptions(flink="1.20"))
    assert raised.value.option is None
    assert raised.value.hint.startswith("compat setup pyflink 1.20 makes an environment for it, once.")
    assert raised.value.command == "compat setup pyflink 1.20"


def test_pip_itself_installs_what_the_index_has(tmp_path, monkeypatch):
    """With the network: the real pip gets to the index, and says that there is no such release."""
    if environments._asked(sys.executable) is None:
        needs.without(Need.PYTHON)
    with pytest.raises(JvmError) as raised:
        make("2.3.99", sys.executable)
    if "2.3.99" not in str(raised.value):
        needs.without(Need.PACKAGES, raised.value)
    assert "No matching distribution found for apache-flink==2.3.99" in str(raised.value)
    assert made() == ()
