"""What compat says depends on the programs alone: not on where it lies, who runs it, in which language or by which clock."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct, field

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "compat" / "examples"
LONG = "a-folder-with-a-long-name-" * 8
FAULT = (
    (EXAMPLES / "word_count" / "v1.py")
    .read_text(encoding="utf-8")
    .replace("def main", "import compat.plan.encode\n\ncompat.plan.encode._operators = None\n\n\ndef main", 1)
)
"""A program that breaks compat itself."""


class World(Struct, frozen=True):
    """The clone's folder, and the home and folder for temporary files, below one folder; and variables."""

    clone: str = "clone"
    home: str = "home"
    temporary: str = "tmp"
    variables: dict[str, str] = field(default_factory=dict)


PLAIN = World(variables={"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"})
WORLDS = {
    "a blank": World("a place/compat", "my home", "a tmp", {"TZ": "Pacific/Chatham", "LC_ALL": "C"}),
    "our names": World("compat/state/compat", "tests/compat/home", "compat/compiler", {"LC_ALL": "tr_TR.UTF-8"}),
    "long": World(f"{LONG}/compat", LONG, f"{LONG}/tmp", {"TZ": "Asia/Kolkata", "LC_ALL": "de_DE.UTF-8"}),
    "signs": World("(new) [1] a'b/compat", "ö/ß", "(t) $x", {"TZ": "America/St_Johns", "PYTHONHASHSEED": "7"}),
}
COMMANDS = {
    "check": "check v1.py v2.py",
    "all": "check v1.py v2.py --verbose --explain",
    "json": "check v1.py v2.py --output json",
    "plan": "plan v1.py --format json",
    "a fault": "plan fault.py",
    "no module": "plan none.py",
    "no name": "plan name.py",
}


def told(world: World, base: Path, command: str) -> tuple[int, str, str]:
    """The exit code, output and errors of a command, in a project that lies in a world beside its clone."""
    clone, project = base / world.clone, base / world.clone / "my jobs"
    project.mkdir(parents=True)
    for name in ("compat", "compiler", "state"):
        (clone / name).symlink_to(ROOT / name)
    for name in ("v1.py", "v2.py"):
        shutil.copy(EXAMPLES / "word_count" / name, project)
    (project / "fault.py").write_text(FAULT, encoding="utf-8")
    (project / "none.py").write_text("import no_such_module\nno_such_module.run()\n", encoding="utf-8")
    (project / "name.py").write_text("from pyflink.datastream import NoSuch\n", encoding="utf-8")
    for folder in (world.home, world.temporary):
        (base / folder).mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    environment |= {"HOME": str(base / world.home), "TMPDIR": str(base / world.temporary), "PYTHONPATH": str(clone)}
    done = subprocess.run(
        [sys.executable, "-m", "compat", *command.split()],
        cwd=project,
        env=environment | world.variables,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_every_world_is_told_the_same(world: World, command: str, tmp_path: Path) -> None:
    code, output, errors = told(PLAIN, tmp_path / "plain", command)
    assert output or errors
    assert "This is a bug of compat, not a mistake of yours" not in errors
    assert told(world, tmp_path / "other", command) == (code, output, errors)


def test_a_fault_names_our_files_as_they_are_called_in_the_package(tmp_path: Path) -> None:
    code, output, errors = told(WORLDS["our names"], tmp_path, "plan fault.py")
    assert code == 2
    assert 'File "compat/plan/encode.py"' in output + errors
    assert str(tmp_path) not in output + errors
