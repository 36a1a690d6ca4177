"""The digest of a program: the same for the same files wherever they are, another one for any change of them."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.loader.digests import of_file
from compat.loader.inputs import LoadOptions, load, opened
from compat.plan.reading import PlanError, from_plain
from compat.plan.writing import plain

PROGRAM = """
from pyflink.datastream import StreamExecutionEnvironment
from common.words import clean

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(["a"]).map(clean).print()
env.execute("job")
"""


@pytest.fixture
def project(tmp_path):
    """A program with a module of its own, and files that it does not load."""
    folder = tmp_path / "one"
    (folder / "jobs").mkdir(parents=True)
    (folder / "common").mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "jobs" / "job.py").write_text(PROGRAM)
    (folder / "common" / "__init__.py").write_text("")
    (folder / "common" / "words.py").write_text("def clean(word):\n    return word\n")
    (folder / "common" / "unused.py").write_text("")
    return folder


def program(path, **options):
    with opened(str(path), ()) as given:
        (plan,) = load(given, LoadOptions(**options))
    return plan.program


def test_it_is_of_the_programs_own_files_and_not_of_where_they_are(project, tmp_path):
    first = program(project / "jobs" / "job.py")
    assert first.startswith("sha256:")
    shutil.copytree(project, tmp_path / "elsewhere")
    shutil.move(tmp_path / "elsewhere" / "jobs" / "job.py", tmp_path / "elsewhere" / "jobs" / "renamed.py")
    assert program(tmp_path / "elsewhere" / "jobs" / "renamed.py") == first
    (project / "common" / "unused.py").write_text("x = 1")
    assert program(project / "jobs" / "job.py") == first


@pytest.mark.parametrize("file", ["jobs/job.py", "common/words.py"])
def test_it_is_another_one_for_any_change(project, file):
    before = program(project / "jobs" / "job.py")
    (project / file).write_text((project / file).read_text() + "\n# a comment\n")
    assert program(project / "jobs" / "job.py") != before


def test_modules_that_change_places_are_another_program(project):
    words = project / "common" / "words.py"
    words.write_text("from common import unused\n" + words.read_text())
    before = program(project / "jobs" / "job.py")
    unused = project / "common" / "unused.py"
    (project / "common" / "other.py").write_text(unused.read_text())
    words.write_text(words.read_text().replace("import unused", "import other as unused"))
    assert program(project / "jobs" / "job.py") != before


def test_of_a_topology_it_is_that_of_the_file(tmp_path):
    file = tmp_path / "job.json"
    file.write_text(
        json.dumps(
            {"name": "job", "ops": [{"id": "in", "kind": "source"}, {"id": "out", "kind": "print", "inputs": ["in"]}]}
        )
    )
    assert program(file) == f"sha256:{sha256(file.read_bytes()).hexdigest()}" == of_file(str(file))
    assert of_file(str(tmp_path)) is None
    assert of_file(str(tmp_path / "nothing")) is None


def test_a_plan_keeps_it_and_takes_nothing_else_for_one(project):
    job = str(project / "jobs" / "job.py")
    printed = json.loads(CliRunner().invoke(main, ["plan", job, "--format", "json"]).output)
    assert printed["program"] == program(job)
    assert from_plain(printed).program == printed["program"]
    assert plain(from_plain(printed))["program"] == printed["program"]
    assert from_plain({name: value for name, value in printed.items() if name != "program"}).program is None
    with pytest.raises(PlanError, match="program"):
        from_plain({**printed, "program": "sha256:<b>"})
