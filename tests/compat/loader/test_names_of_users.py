"""A program's own ``state``, ``compiler`` or ``compat_jobs`` is the program's, wherever it stands and whoever imports it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from compat.loader.imports import worker_setup

ROOT = Path(__file__).parents[3]
NAMES = ("state", "compiler", "compat_jobs")
FORMS = ("module", "package", "namespace")
NEVER = "raise RuntimeError('nobody asked for this module')\n"

SCRIPT = "import sys\nfrom compat.__main__ import main\nsys.exit(main())\n"
"""The script that an installer writes for the command; as a file, so that Python searches its folder first."""

JOB = """
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
{imports}

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(lambda n: n + 1, Types.LONG()).name("mapped {words}").print()
env.execute()
"""


def write_modules(folder: Path, form: str, text: str) -> None:
    """The modules of a user in a folder: files, packages, or folders without ``__init__.py``."""
    for name in NAMES:
        source = text.replace("NAME", name)
        if form == "module":
            folder.joinpath(f"{name}.py").write_text(source)
            continue
        folder.joinpath(name).mkdir()
        folder.joinpath(name, "words.py").write_text(source)
        if form == "package":
            folder.joinpath(name, "__init__.py").write_text(source)


def write_job(path: Path, form: str | None) -> None:
    """A job that names an operator with words from the modules of the user; without a form it imports none of them."""
    path.parent.mkdir(exist_ok=True)
    below = "" if form == "module" else ".words"
    imports = "\n".join(f"from {name}{below} import WORD as {name}_word" for name in NAMES) if form else ""
    words = " ".join("{" + name + "_word}" for name in NAMES) if form else "alone"
    text = JOB.format(imports=imports, words=words)
    path.write_text(text.replace('"mapped', 'f"mapped'))


def call(command: list[str], folder: Path, paths: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    if paths:
        environment["PYTHONPATH"] = paths
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def is_installed() -> bool:
    try:
        return bool(distribution("stream-compat"))
    except PackageNotFoundError:
        return False


@pytest.fixture(params=["script", "module", "path"])
def compat(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[str], str | None]:
    """The command and PYTHONPATH: the console script, ``python -m compat`` from a checkout, the script with PYTHONPATH=."""
    if request.param == "module":
        return ["-m", "compat"], str(ROOT)
    script = tmp_path / "bin" / "compat"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    own = "." if request.param == "path" else None
    if is_installed():
        return [str(script)], own
    return [str(script)], os.pathsep.join([*([own] if own else []), str(ROOT)])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def check(compat: tuple[list[str], str | None], folder: Path, job: str) -> None:
    command, paths = compat
    done = call([*command, "check", job, job], folder, paths)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_modules_beside_the_job_are_imported(compat: tuple[list[str], str | None], project: Path, form: str) -> None:
    write_modules(project, form, "WORD = 'NAME of mine'\n")
    write_job(project / "job.py", form)
    check(compat, project, "job.py")
    command, paths = compat
    plan = call([*command, "plan", "job.py"], project, paths)
    assert "mapped state of mine compiler of mine compat_jobs of mine" in plan.stdout, plan.stdout + plan.stderr


@pytest.mark.parametrize("form", FORMS)
def test_modules_beside_the_job_are_imported_from_elsewhere(
    compat: tuple[list[str], str | None], tmp_path: Path, project: Path, form: str
) -> None:
    write_modules(project, form, "WORD = 'NAME of mine'\n")
    write_job(project / "job.py", form)
    check(compat, tmp_path, "project/job.py")


@pytest.mark.parametrize("form", FORMS)
def test_modules_that_nobody_imports_change_nothing(
    compat: tuple[list[str], str | None], project: Path, form: str
) -> None:
    """In the working directory, with the job in a folder below it and beside it."""
    write_modules(project, form, NEVER)
    write_job(project / "job.py", None)
    write_job(project / "jobs" / "job.py", None)
    check(compat, project, "job.py")
    check(compat, project, "jobs/job.py")


@pytest.mark.parametrize("form", FORMS)
def test_modules_of_the_working_directory_are_imported_by_a_job_elsewhere(
    tmp_path: Path, project: Path, form: str
) -> None:
    """With PYTHONPATH=. they are found, as ``python jobs/job.py`` finds them."""
    write_modules(project, form, "WORD = 'NAME of mine'\n")
    write_job(project / "jobs" / "job.py", form)
    done = call(["-m", "compat", "check", "jobs/job.py", "jobs/job.py"], project, f".{os.pathsep}{ROOT}")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("imported", [True, False])
def test_the_fixture_of_pytest_finds_them(project: Path, form: str, imported: bool) -> None:
    write_modules(project, form, "WORD = 'NAME of mine'\n" if imported else NEVER)
    write_job(project / "job.py", form if imported else None)
    project.joinpath("checks").mkdir()
    project.joinpath("checks", "test_job.py").write_text(
        "def test_job(assert_compatible):\n    assert_compatible('job.py', 'job.py')\n"
    )
    plugin = [] if is_installed() else ["-p", "compat.pytest_plugin"]
    command = ["-m", "pytest", *plugin, "-p", "no:cacheprovider", "--rootdir=.", "-q", "checks"]
    done = call(command, project, None if is_installed() else str(ROOT))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_setup_of_workers_gives_them_the_search_path_of_the_program(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", ["/elsewhere", "/jobs"])
    alone, together = worker_setup("/jobs"), worker_setup("/jobs", str(project))
    monkeypatch.setattr(sys, "path", [str(project), "/elsewhere", "/jobs", str(ROOT)])
    pickle.loads(pickle.dumps(alone))()
    assert sys.path == ["/jobs", "/elsewhere"]
    pickle.loads(pickle.dumps(together))()
    assert sys.path == ["/jobs", str(project), "/elsewhere"]


@pytest.mark.parametrize(
    "line", ["from compat import text_type", "import compat.helpers", "import compat; compat.text_type"]
)
@pytest.mark.parametrize("file", ["compat.py", "compat/__init__.py", "compat/helpers.py"])
def test_a_module_called_compat_is_told(project: Path, line: str, file: str) -> None:
    """The one name that a program cannot have: it is said where the module is, and what to do."""
    write(project, {file: "text_type = str\n", "job.py": f"{line}\n"})
    done = call(["-P", "-c", "from compat.cli import main; main()", "check", "job.py", "job.py"], project, str(ROOT))
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"Rename {file.partition('/')[0]}, or move it into a package" in done.stdout


@pytest.mark.parametrize("place", [".", "jobs"])
def test_a_module_called_compat_is_not_run_on_spark(project: Path, place: str) -> None:
    write(project, {f"{place}/compat.py": "", "jobs/job.py": "raise RuntimeError('never')\n", "work/readme": ""})
    code = "import sys; from compat.cli import main; import os; os.chdir(sys.argv.pop(1)); main()"
    done = call(["-P", "-c", code, "..", "run", "jobs/job.py"], project / "work", str(ROOT))
    assert done.returncode == 2
    assert f"{os.path.normpath(f'{place}/compat.py')} has the name of the package compat" in done.stderr


RUNNING = """
{first}
import sys

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
{imports}

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
numbers = env.from_source(NumberSequenceSource(1, 3), WatermarkStrategy.no_watermarks(), "numbers")
told = numbers.map(tell, Types.STRING()).key_by(lambda text: text, Types.STRING())
told.process(Count(), Types.STRING()).map(lambda text: text + MARK, Types.STRING()).print()
env.execute("telling")
"""

COUNTING = """
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.common import Types


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{value}*{self.count.value()}"
"""

TELLING = "def tell(number):\n    return f'number {number}'\n"
TOLD = ["number 1*1!", "number 2*1!", "number 3*1!"]


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.spark
def test_workers_of_compat_run_import_them(project: Path) -> None:
    """Beside the job a package and a folder, in the working directory a module; and one that is hidden by the package."""
    imports = "from state.counting import Count\nfrom compiler.telling import tell\nfrom compat_jobs import MARK"
    write(
        project,
        {
            "state.py": NEVER,
            "compat_jobs.py": "MARK = '!'\n",
            "jobs/job.py": RUNNING.format(first="", imports=imports),
            "jobs/state/__init__.py": "",
            "jobs/state/counting.py": COUNTING,
            "jobs/compiler/telling.py": TELLING,
        },
    )
    done = call(["-m", "compat", "run", "jobs/job.py"], project, f".{os.pathsep}{ROOT}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split("\n")[:-1]) == TOLD


@pytest.mark.spark
def test_workers_of_a_plain_program_import_them(project: Path) -> None:
    imports = "from state import Count\nfrom compiler import tell\nfrom compat_jobs.marks import MARK"
    write(
        project,
        {
            "job.py": RUNNING.format(first="import compat.pyflink", imports=imports),
            "state.py": COUNTING,
            "compiler/__init__.py": TELLING,
            "compat_jobs/marks.py": "MARK = '!'\n",
        },
    )
    done = call(["job.py"], project, str(ROOT))
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split("\n")[:-1]) == TOLD
