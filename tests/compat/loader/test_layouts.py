"""Programs find the modules of their projects, as ``python``, ``python -m`` and ``flink run -pyfs`` would have it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.loader.layout import find_layout
from compat.loader.process import load_one
from compat.loader.request import Crash, Loaded, Request
from tests.repositories import committed

BUILT = """
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1], Types.LONG())
stream.map(lambda one: one, Types.LONG()).uid(WORD).print()
env.execute("job")
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + BUILT if path.name in ("job.py", "__main__.py") else text)


def load(path: Path, **given: object) -> Loaded:
    outcome = load_one(Request(path=str(path), shown=path.name, **given))  # type: ignore[arg-type]
    assert isinstance(outcome, Loaded)
    return outcome


def uid_of(path: Path, **given: object) -> str | None:
    outcome = load(path, **given)
    assert outcome.crash is None, outcome.crash
    (plan,) = outcome.plans
    return next(node.uid for node in plan.stream_graph.nodes if node.uid)  # type: ignore[union-attr]


def crash_of(path: Path, **given: object) -> Crash:
    crash = load(path, **given).crash
    assert crash is not None
    return crash


IMPORT = "from words import WORD\n"
HERE = "WORD = 'here'\n"
OTHER = "WORD = 'other'\n"

LAYOUTS = {
    "beside": ({"words.py": HERE}, "job.py", IMPORT),
    "beside, before the root": ({"words.py": OTHER, "jobs/words.py": HERE, ".git/HEAD": ""}, "jobs/job.py", IMPORT),
    "root by .git": ({"words.py": HERE, ".git/HEAD": ""}, "jobs/daily/job.py", IMPORT),
    "root by a .git file": ({"words.py": HERE, ".git": "gitdir: elsewhere"}, "jobs/job.py", IMPORT),
    "root by pyproject.toml": ({"words.py": HERE, "pyproject.toml": ""}, "jobs/job.py", IMPORT),
    "root by setup.py": ({"words.py": HERE, "setup.py": ""}, "jobs/job.py", IMPORT),
    "nearest first": ({"words.py": OTHER, "a/words.py": HERE, ".git/HEAD": ""}, "a/jobs/job.py", IMPORT),
    "beyond a nested project": ({"words.py": HERE, ".git/HEAD": "", "a/pyproject.toml": ""}, "a/jobs/job.py", IMPORT),
    "src": ({"src/words.py": HERE, "pyproject.toml": ""}, "jobs/job.py", IMPORT),
    "where poetry takes packages from": (
        {"parts/own/words.py": HERE, "pyproject.toml": "[tool.poetry]\npackages = [{include = 'own', from = 'parts'}]"},
        "jobs/job.py",
        "from own.words import WORD\n",
    ),
    "where setuptools takes packages from": (
        {"lib/words.py": HERE, "pyproject.toml": "[tool.setuptools.packages.find]\nwhere = ['lib']"},
        "jobs/job.py",
        IMPORT,
    ),
    "a package in two folders": (
        {
            "one/own/words.py": "from own.more import WORD\n",
            "two/own/more.py": HERE,
            "pyproject.toml": "[tool.setuptools.package-dir]\na = 'one'\nb = 'two'",
        },
        "jobs/job.py",
        "from own.words import WORD\n",
    ),
    "settings of a project that are none": (
        {"words.py": HERE, "pyproject.toml": "[tool]\npoetry = 1\nsetuptools = [3]"},
        "jobs/job.py",
        IMPORT,
    ),
    "a package beside": ({"own/__init__.py": "", "own/words.py": HERE}, "job.py", "from own.words import WORD\n"),
    "a folder without __init__": ({"own/words.py": HERE, ".git": ""}, "jobs/job.py", "from own.words import WORD\n"),
    "its own package": ({"own/__init__.py": "", "own/words.py": HERE}, "own/job.py", "from own.words import WORD\n"),
    "its own package in src": (
        {"src/own/__init__.py": "", "src/own/words.py": HERE, "pyproject.toml": ""},
        "src/own/job.py",
        "from own.words import WORD\n",
    ),
    "relative": ({"own/__init__.py": "", "own/words.py": HERE}, "own/job.py", "from .words import WORD\n"),
    "relative without __init__": ({"own/words.py": HERE}, "own/job.py", "from .words import WORD\n"),
    "relative, twice up": (
        {"own/__init__.py": "", "own/words.py": HERE, "own/jobs/__init__.py": ""},
        "own/jobs/job.py",
        "from ..words import WORD\n",
    ),
    "relative, twice up without __init__": (
        {"own/words.py": HERE, "pyproject.toml": ""},
        "own/jobs/job.py",
        "from ..words import WORD\n",
    ),
    "relative, of the package": (
        {"own/__init__.py": "WORD = 'here'\n"},
        "own/job.py",
        "from . import WORD\n",
    ),
    "__main__": ({"own/__init__.py": "", "own/words.py": HERE}, "own/__main__.py", "from .words import WORD\n"),
    "modules like Python's in its package": (
        {"own/__init__.py": "", "own/words.py": HERE, "own/json.py": "raise SystemExit(9)", "own/types.py": ""},
        "own/job.py",
        "import json\nfrom .words import WORD\njson.loads('1')\n",
    ),
    "modules like Python's in the root": (
        {"json.py": "raise SystemExit(9)", ".git": "", "words.py": HERE},
        "jobs/job.py",
        "import json\nfrom words import WORD\njson.loads('1')\n",
    ),
    "modules like installed ones in the root": (
        {"click/__init__.py": "WORD = 'here'\n", ".git": ""},
        "jobs/job.py",
        "from click import WORD\n",
    ),
    "folders of data like installed ones": (
        {"click/compose.yaml": "", ".git": ""},
        "jobs/job.py",
        "import click\nWORD = 'here' if click.command else 'other'\n",
    ),
}


@pytest.mark.parametrize(("files", "job", "line"), LAYOUTS.values(), ids=LAYOUTS)
def test_modules_of_the_project_are_found(project: Path, files: dict[str, str], job: str, line: str) -> None:
    write(project, {**files, job: line})
    assert uid_of(project / job) == "here"


@pytest.mark.parametrize(
    ("files", "job", "line"),
    [
        ({"words.py": HERE}, "jobs/job.py", IMPORT),
        ({"words/compose.yaml": "", ".git": ""}, "jobs/job.py", "import words.none\n"),
        ({"own/words.py": HERE}, "job.py", IMPORT),
    ],
    ids=["no project", "no modules", "below"],
)
def test_what_no_python_would_find_is_not_found(project: Path, files: dict[str, str], job: str, line: str) -> None:
    write(project, {**files, job: line})
    crash = crash_of(project / job, strict_imports=True)
    assert (crash.type, crash.message) == ("ModuleNotFoundError", "No module named 'words'")


def test_the_working_directory_is_the_root_where_nothing_else_tells(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, {"words.py": HERE, "jobs/job.py": IMPORT})
    monkeypatch.chdir(project)
    assert uid_of(project / "jobs" / "job.py") == "here"


def test_functions_of_a_package_that_the_program_is_in_have_its_name(project: Path) -> None:
    write(
        project,
        {"own/__init__.py": "ran = []\n", "own/job.py": "from . import ran\nWORD = f'{__package__} {__spec__.name}'\n"},
    )
    assert uid_of(project / "own" / "job.py") == "own own.job"


# What is given with --pyfiles


def pyfile(project: Path, form: str) -> Path:
    lib = project / "lib"
    write(project, {"lib/words.py": HERE})
    if form == "module":
        return lib / "words.py"
    if form == "archive":
        with zipfile.ZipFile(project / "lib.zip", "w") as archive:
            archive.write(lib / "words.py", "words.py")
        return project / "lib.zip"
    return lib


def plan(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


@pytest.mark.parametrize("form", ["module", "folder", "archive"])
@pytest.mark.parametrize("option", ["--pyfiles", "-pyfs", "--pyFiles"])
def test_pyfiles_are_searched(project: Path, form: str, option: str) -> None:
    write(project, {"jobs/job.py": IMPORT})
    lib = pyfile(project, form)
    result = plan(str(project / "jobs" / "job.py"), option, f"{project / 'jobs'},{lib}")
    assert (result.exit_code, "here" in result.output) == (0, True), result.output


def test_a_module_of_pyfiles_does_not_bring_its_neighbours(project: Path) -> None:
    write(project, {"lib/words.py": HERE, "lib/others.py": "", "jobs/job.py": "import others\n" + IMPORT})
    path = project / "jobs" / "job.py"
    crash = crash_of(path, pyfiles=(str(project / "lib" / "words.py"),), strict_imports=True)
    assert crash.message == "No module named 'others'"


@pytest.mark.parametrize(
    ("given", "says"), [("nowhere", "does not exist"), ("notes.txt", "is neither a folder, nor a file of .py, .zip")]
)
def test_pyfiles_that_python_cannot_import_from_are_refused(project: Path, given: str, says: str) -> None:
    write(project, {"job.py": "WORD = 'here'\n", "notes.txt": ""})
    result = plan(str(project / "job.py"), "--pyfiles", str(project / given))
    assert result.exit_code == 2
    assert says in " ".join(result.output.replace("│", " ").split())


def test_settings_name_pyfiles_and_variables(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "import os\nfrom words import WORD\nWORD += os.environ['MARK']\n"
    write(project, {"jobs/job.py": words, "lib/words.py": HERE})
    write(project, {"jobs/compat.toml": 'pyfiles = "../lib"\nenv = { MARK = "!" }\n'})
    result = plan(str(project / "jobs" / "job.py"))
    assert (result.exit_code, "here!" in result.output) == (0, True), result.output
    told = plan(str(project / "jobs" / "job.py"), "--env", "MARK=?")
    assert "here?" in told.output


def test_pythonpath_is_searched_before_the_project(project: Path) -> None:
    write(project, {"words.py": OTHER, "lib/words.py": HERE, "jobs/job.py": IMPORT, ".git": ""})
    command = [sys.executable, "-m", "compat", "plan", str(project / "jobs" / "job.py")]
    paths = os.pathsep.join([str(project / "lib"), str(Path(__file__).parents[3])])
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "here" in done.stdout


# What was a program's at a revision


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments, "--output", "concise"])


COUNTING = """
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor(WORD, Types.LONG()))

    def process_element(self, value, context):
        yield value


env = StreamExecutionEnvironment.get_execution_environment()
keyed = env.from_collection([1], Types.LONG()).key_by(lambda one: one, Types.LONG())
keyed.process(Count(), Types.LONG()).uid("count").print()
env.execute("job")
"""
REVISED = {
    "the root's": ({"common/words.py": HERE}, "from common.words import WORD\n"),
    "its package's": ({"jobs/__init__.py": "", "jobs/words.py": HERE}, "from .words import WORD\n"),
    "from src": ({"src/own/__init__.py": "", "src/own/words.py": HERE}, "from own.words import WORD\n"),
    "a file's": (
        {"conf/words.py": HERE},
        "WORD = open('conf/words.py').read().split()[-1]\n",
    ),
}


@pytest.mark.parametrize(("files", "line"), REVISED.values(), ids=REVISED)
@pytest.mark.parametrize("path", ["", "PYTHONPATH"])
def test_a_program_of_a_revision_has_the_modules_of_that_revision(
    project: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], line: str, path: str
) -> None:
    """The name of the state is in another file: OLD's own, wherever the search path of today points to."""
    write(project, {**files, "pyproject.toml": ""})
    (project / "jobs").mkdir(exist_ok=True)
    (project / "jobs" / "count.py").write_text(line + COUNTING)
    committed(project)
    monkeypatch.chdir(project)
    if path:
        monkeypatch.setenv(path, os.pathsep.join([str(project), str(project / "src"), os.environ.get(path, "")]))
    assert check("--against", "HEAD", "jobs/count.py").exit_code == 0
    (name,) = (name for name in files if name.endswith("words.py"))
    (project / name).write_text(OTHER)
    changed = check("--against", "HEAD", "jobs/count.py")
    assert (changed.exit_code, "CMP4" in changed.output) == (1, True), changed.output
    monkeypatch.chdir(project / "jobs")
    if "open(" not in line:
        assert check("git:HEAD:count.py", "count.py").exit_code == 1
        assert check(f"git:HEAD:{project / 'jobs' / 'count.py'}", "count.py").exit_code == 1


def test_pyfiles_of_a_revision_are_those_of_that_revision(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, {"lib/words.py": HERE, "jobs/count.py": "from words import WORD\n" + COUNTING})
    committed(project)
    monkeypatch.chdir(project)
    arguments = ("--against", "HEAD", "jobs/count.py", "--pyfiles", "lib")
    assert check(*arguments).exit_code == 0
    (project / "lib" / "words.py").write_text(OTHER)
    assert check(*arguments).exit_code == 1


def test_each_side_has_its_own_pyfiles_and_variables(project: Path) -> None:
    write(
        project,
        {
            "one/words.py": HERE,
            "two/words.py": OTHER,
            "count.py": "import os\nfrom words import WORD\nWORD += os.environ['MARK']\n" + COUNTING,
        },
    )
    job, one, two = (str(project / name) for name in ("count.py", "one", "two"))
    assert check(job, job, "--pyfiles", one, "--env", "MARK=a").exit_code == 0
    assert check(job, job, "--pyfiles", one, "--old-pyfiles", two, "--env", "MARK=a").exit_code == 1
    assert check(job, job, "--pyfiles", one, "--env", "MARK=a", "--old-env", "MARK=b").exit_code == 1


def test_the_places_of_a_layout_are_told_in_their_order(project: Path) -> None:
    write(project, {"src/x": "", "pyproject.toml": "", "jobs/x": ""})
    layout = find_layout(str(project / "jobs" / "job.py"), b"", (str(project / "lib"),))
    assert layout.described(lambda path: os.path.relpath(path, project)) == (
        "jobs (the program's folder), lib (--pyfiles), . (the project's root, by its pyproject.toml), src"
    )
    layout = find_layout(str(project / "jobs" / "job.py"), b"from .words import WORD")
    assert layout.described(lambda path: os.path.relpath(path, project)).startswith(
        ". (for python -m jobs.job), jobs, src"
    )
