"""Which interpreter has PyFlink, and the sentence where none has."""

import sys
from pathlib import Path

import pytest

from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.pyflink.installed import find_pyflink


def environment(folder: Path, *, jars: bool) -> Path:
    """An environment whose interpreter finds a package ``pyflink``."""
    package = folder / "site" / "pyflink"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    if jars:
        (package / "opt").mkdir()
        (package / "lib" / "flink-dist-2.3.0.jar").touch()
        (package / "opt" / "flink-python-2.3.0.jar").touch()
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder / "site"}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python


def test_an_environment_and_its_interpreter_are_the_same(tmp_path, monkeypatch):
    monkeypatch.delenv("FLINK_HOME", raising=False)
    python = environment(tmp_path, jars=True)
    for given in (str(tmp_path), str(python)):
        found = find_pyflink(given)
        assert found.python == str(python)
        assert found.python_version == sys.version_info[:2]
        assert [Path(jar).name for jar in found.jars] == ["flink-dist-2.3.0.jar", "flink-python-2.3.0.jar"]


def test_the_variable_names_one_where_nothing_else_does(tmp_path, monkeypatch):
    monkeypatch.delenv("FLINK_HOME", raising=False)
    python = environment(tmp_path, jars=True)
    monkeypatch.setenv("COMPAT_PYFLINK", str(tmp_path))
    assert find_pyflink().python == str(python)
    with pytest.raises(JvmError, match="nowhere"):
        find_pyflink("nowhere")


def test_flinks_jars_are_those_of_an_installation_where_pyflink_takes_them_from_there(tmp_path, monkeypatch):
    environment(tmp_path, jars=True)
    (tmp_path / "flink" / "lib").mkdir(parents=True)
    (tmp_path / "flink" / "lib" / "flink-dist-2.3.1.jar").touch()
    monkeypatch.setenv("FLINK_HOME", str(tmp_path / "flink"))
    assert [Path(jar).name for jar in find_pyflink(str(tmp_path)).jars] == ["flink-dist-2.3.1.jar"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: str(folder / "nowhere"), "is not a working Python interpreter"),
        (lambda folder: str(environment(folder, jars=False)), "has no jars of Flink"),
        (lambda folder: "/bin/true", "is not a working Python interpreter"),
    ],
)
def test_what_has_no_pyflink_is_refused_with_what_to_do(tmp_path, monkeypatch, make, says):
    monkeypatch.delenv("FLINK_HOME", raising=False)
    with pytest.raises(JvmError, match=says) as raised:
        find_pyflink(make(tmp_path))
    assert "pip install 'stream-compat[pyflink]'" in raised.value.hint
    assert "--pyflink PYTHON" in raised.value.hint
