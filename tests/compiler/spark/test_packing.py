"""The environment that travels to other machines."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver import packing
from compat.compiler.spark.driver.packing import packed_environment
from compat.state.tar import tarfile
from tests import needs


@pytest.mark.parametrize(
    ("requirement", "extras", "required"),
    [
        ("numpy>=1.26", (), ["numpy[]"]),
        ("Typing_Extensions (>=4)", (), ["typing-extensions[]"]),
        ("psycopg[binary,pool]>=3.2; extra == 'postgresql'", ("postgresql",), ["psycopg[binary,pool]"]),
        ("psycopg[binary]>=3.2; extra == 'postgresql'", ("spark",), []),
        ('tzdata; sys_platform == "win32"', (), ["tzdata[]"]),
        ('x ; python_version < "3" and extra == "a"', ("a",), ["x[]"]),
    ],
)
def test_requirements(requirement: str, extras: tuple[str, ...], required: list[str]) -> None:
    assert list(packing._required([requirement], extras)) == required


def test_packages_come_with_what_they_need_but_not_spark() -> None:
    found = packing._distributions(["pandas", "delta-spark", "no-such-package"])
    assert {"pandas", "numpy", "python-dateutil", "six", "delta-spark"} <= set(found)
    assert not {"pyspark", "py4j", "no-such-package"} & set(found)
    assert metadata.version("numpy") == found["numpy"].version


def test_conda_is_told_of_its_own_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conda-meta").mkdir()
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    with pytest.raises(
        ProgramError, match=r"conda pack -o env\.tar\.gz, and then -D spark\.archives=env\.tar\.gz#environment"
    ):
        packed_environment()


def test_what_is_installed_to_be_edited_travels_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edited_here").mkdir()
    (tmp_path / "edited_here" / "__init__.py").write_text("")
    (tmp_path / "edited_file.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("edited_here")
    __import__("edited_file")
    found = packing._imported_besides(())
    assert {tmp_path / "edited_here", tmp_path / "edited_file.py"} <= set(found)
    assert not {path for path in packing._imported_besides([str(tmp_path)]) if path.parent == tmp_path}
    for name in ("edited_here", "edited_file"):
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.slow
def test_it_runs_where_nothing_of_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacked elsewhere, with the folders of this environment hidden."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    archive = packed_environment()
    assert packed_environment() == archive, "it is packed once"
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "there", filter="tar")
    hidden = {sysconfig.get_path("purelib"), str(Path(packing.PACKAGE).parent)}
    hidden |= set() if sys.base_prefix in ("/usr", "/usr/local") else {sys.base_prefix}
    mounts = "; ".join(f"mount -t tmpfs tmpfs '{path}'" for path in sorted(hidden))
    command = ["unshare", "-m", "sh", "-c", f'set -e; {mounts}; exec "$@"', "sh"]
    needs.mounts([*command, "true"])
    modules = "sys, ssl, lzma, sqlite3, numpy, pandas, pyarrow.parquet, deltalake, lmdb, pip, compat.state.delta.log"
    code = f"import {modules}; print(sys.prefix)"
    done = subprocess.run(
        [*command, "./bin/python", "-c", code],
        cwd=tmp_path / "there",
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / "there")), done.stderr
