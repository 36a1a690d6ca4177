"""What CI does before the tests: a browser where one can be had, and a word where it cannot."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import needs
from tests.needs import Need
from tests.repositories import committed

SCRIPT = Path(__file__).parents[1] / ".ci" / "browser"
NEEDED = ("bash", "env", "id", "mktemp", "tail", "timeout", "sleep")


def run(folder: Path, **commands: str) -> subprocess.CompletedProcess[str]:
    """Run the script where there are only these commands, besides what it cannot do without."""
    for name in NEEDED:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    for name, text in commands.items():
        path = folder / name.replace("_", "-")
        path.unlink(missing_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)
    environment = {"PATH": str(folder), "SECONDS_TO_UPDATE": "5", "SECONDS_TO_INSTALL": "1", "TMPDIR": str(folder)}
    return subprocess.run(
        [str(folder / "bash"), str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


INSTALL = 'if [ "$1" = install ]; then {}; fi'


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        ({}, "no apt-get to install it with"),
        ({"id": "echo 1000", "apt_get": "true"}, "nobody here may install it"),
        ({"id": "echo 0", "apt_get": INSTALL.format("echo E: no such package; exit 100")}, "100: E: no such package"),
        ({"id": "echo 0", "apt_get": INSTALL.format("sleep 30")}, "within 1 seconds"),
        ({"id": "echo 1000", "sudo": "exit 1", "apt_get": "true"}, "nobody here may install it"),
    ],
    ids=["no apt-get", "not root", "refused", "too slow", "sudo asks"],
)
def test_without_a_browser_it_is_said_why_and_no_failure(tmp_path, commands, told):
    done = run(tmp_path, **commands)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("browser tests: skipped, ")
    assert told in done.stdout


def test_a_browser_is_installed_where_it_can_be(tmp_path):
    made = shlex.quote(f"{tmp_path}/chromium")
    make = f"echo > {made}; {shutil.which('chmod')} 755 {made}"
    done = run(tmp_path, id="echo 0", apt_get=INSTALL.format(make))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{tmp_path}/chromium"]
    (tmp_path / "apt-get").unlink()
    again = subprocess.run([tmp_path / "bash", SCRIPT], env={"PATH": str(tmp_path)}, capture_output=True, check=False)
    assert again.returncode == 0
    assert b"skipped" not in again.stdout


PYTHON = """#!/usr/bin/env bash
if [ "$2" = pip ]; then echo /the/cache; exit; fi
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "pip $* in $PWD"\\n' > "$3/bin/pip"
told='echo "python $*"; printf "%s\\\\n" "$PWD" "$HOME" "$TZ" "$PIP_CACHE_DIR" "$COMPAT_PYFLINK" "$PIP_NO_CACHE_DIR"; exit 7'
printf '#!/bin/sh\\n%s\\n' "$told" > "$3/bin/python"
chmod 755 "$3/bin/pip" "$3/bin/python"
"""


DF = """#!/bin/sh
[ "$1" = --output=avail ] || exit 0
echo Avail; echo {}
"""


@needs.unless(shutil.which("git"), Need.GIT)
@pytest.mark.parametrize(("kilobytes", "keeps"), [(13_000_000, ""), (11_000_000, "1")])
def test_ci_runs_in_a_clone_where_nobody_wrote_it(kilobytes, keeps, tmp_path):
    """And where there is little room, it keeps no packages."""
    source, tools = tmp_path / "source", tmp_path / "tools"
    (source / ".ci").mkdir(parents=True)
    shutil.copy(SCRIPT.parent / "run", source / ".ci" / "run")
    for path, text in (
        (source / ".ci" / "browser", ""),
        (source / ".ci" / "check", ""),
        (tools / "python3", PYTHON),
        (tools / "df", DF.format(kilobytes)),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text or "#!/bin/sh\n")
        path.chmod(0o755)
    committed(source)
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(tmp_path / "tmp"), "TZ": "UTC"}
    environment.pop("PIP_CACHE_DIR", None)
    done = subprocess.run([source / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    pyflink, installed, tested, place, home, zone, cache, found, without_cache = done.stdout.splitlines()
    assert pyflink == f"pip install -q apache-flink==2.3.* in {place}"
    assert without_cache == keeps
    assert found == f"{home}/pyflink/bin/python"
    assert installed == f"pip install -q --no-compile .[test,browser,lint] in {place}"
    assert tested == "python -m pytest -n 3"
    assert place.endswith("/a place/compat")
    assert home == place.replace("/a place/compat", "/a home") != os.environ.get("HOME")
    assert (zone, cache) == ("Pacific/Chatham", "/the/cache")
    assert not any((tmp_path / "tmp").iterdir())


def test_ci_installs_it_and_what_drives_it():
    text = (SCRIPT.parent / "run").read_text()
    assert ".ci/browser" in text
    assert "[test,browser,lint]" in text
    assert os.access(SCRIPT, os.X_OK)
