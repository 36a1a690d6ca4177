"""A wheel and an sdist hold one import package with all of our code in it."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from compat.compiler.versions import FLINK_VERSIONS

ROOT = Path(__file__).parents[1]
FOLDERS = {"compat": "compat", "compiler": "compat/compiler", "state": "compat/state"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel of this checkout."""
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a source distribution, below its folder."""
    (path,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("sdist")), versions=["standard"])
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}


def code() -> set[str]:
    """The source files of the three folders, as they are called in the package."""
    return {
        f"{name}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, name in FOLDERS.items()
        for path in (ROOT / folder).rglob("*.py")
        if folder != "compat" or path.relative_to(ROOT / folder).parts[0] not in ("compiler", "state")
    }


def tops(names: Iterable[str]) -> set[str]:
    return {name.partition("/")[0] for name in names}


def test_a_wheel_holds_one_package_and_all_of_its_modules(wheel: set[str]) -> None:
    assert {top for top in tops(wheel) if not top.endswith(".dist-info")} == {"compat"}
    assert {name for name in wheel if name.endswith(".py")} == code()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel)


def test_a_wheel_holds_what_is_not_code(wheel: set[str]) -> None:
    assert {"compat/py.typed", "compat/schemas/report.json", "compat/view/static/view.js"} <= wheel
    assert {f"compat/compiler/datastream/recorded/pyflink-{flink}.txt" for flink in FLINK_VERSIONS} <= wheel


def test_a_source_distribution_holds_the_package_and_what_describes_it(sdist: set[str]) -> None:
    assert {name for name in sdist if name.endswith(".py") and name.startswith("compat/")} == code()
    folders = {name.partition("/")[0] for name in sdist if "/" in name}
    assert folders == {"compat", "deploy", "docs"}
    assert {"LICENSE", "SECURITY.md", "mkdocs.yml", "README.md", "pyproject.toml"} <= sdist
