"""Each Python that the package says it is for runs a small suite: examples, checks, plans, and a job in its process.

An interpreter that this machine lacks, or packages that it cannot fetch, skip the test with a word about it. By default one
interpreter other than this one runs the part that needs no Spark.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import needs
from tests.needs import Need

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [
    found.group(1)
    for text in PROJECT["classifiers"]
    if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text))
]
SAMPLE = ["tests/compat/cli/test_examples.py", "tests/compat/loader/test_absent.py"]
SUITE = [
    *SAMPLE,
    "tests/compat/loader/test_layouts.py",
    "tests/compat/loader/test_crashes.py",
    "tests/compat/loader/test_steadiness.py",
    "tests/compat/loader/test_imports.py",
    "tests/compiler/datastream/test_golden_programs.py",
    "tests/compiler/test_shipping.py",
]
RUN = ["tests/compat/cli/test_run.py", "-k", "test_a_job_that_finishes"]
TESTING = ["pytest>=8.2", "hypothesis>=6.100"]
NO_NETWORK = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|NameResolutionError|ProxyError|Network is unreachable"
)
HERE = "{}.{}".format(*sys.version_info)


def interpreter(version: str) -> str | None:
    """The command of a Python of a version on this machine; None if there is none that runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = [str(one) for one in sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)]
    for command in (shutil.which(f"python{version}"), *found):
        if command is not None and _answers(command, version):
            return command
    return None


def _answers(command: str, version: str) -> bool:
    """Whether a command is a Python of that version: a shim of pyenv may name one that is not chosen."""
    code = "import sys, venv; print('{}.{}'.format(*sys.version_info))"
    done = subprocess.run([command, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def environment(version: str, folder: Path, *wanted: str) -> str:
    """The Python of a new environment with this checkout's dependencies. Skips what this machine cannot give."""
    command = interpreter(version)
    if command is None:
        needs.without(Need.PYTHON, f"Python {version} is not here")
    subprocess.run([command, "-m", "venv", str(folder)], check=True, capture_output=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted]
    done = subprocess.run(install, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0 and NO_NETWORK.search(done.stderr):
        needs.without(Need.PACKAGES)
    assert done.returncode == 0, done.stderr
    return python


def passes(python: str, *arguments: str) -> None:
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    plain = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout or "[100%]" in done.stdout, done.stdout


def test_what_is_required_is_what_is_tested() -> None:
    minors = [int(version.partition(".")[2]) for version in PYTHONS]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert PROJECT["requires-python"] == f">=3.{minors[0]},<3.{minors[-1] + 1}"


def test_a_sample_runs_on_another_python(tmp_path: Path) -> None:
    others = [version for version in reversed(PYTHONS) if version != HERE and interpreter(version) is not None]
    if not others:
        needs.without(Need.PYTHON, f"none of {', '.join(PYTHONS)} is here besides {HERE}")
    python = environment(others[0], tmp_path / "venv", ".[fix]", *TESTING)
    passes(python, *SAMPLE, "-k", "metaclasses or decorators or passed or except or main_job")


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
def test_the_suite_runs(version: str, tmp_path: Path) -> None:
    passes(environment(version, tmp_path / "venv", ".[fix]", *TESTING), *SUITE)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("version", PYTHONS)
def test_a_job_runs_in_process(version: str, tmp_path: Path) -> None:
    passes(environment(version, tmp_path / "venv", ".[spark,java]", *TESTING), *RUN)
