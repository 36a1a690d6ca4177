"""Every command of every page is run as it stands there, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs
from tests.compat import walks
from tests.compat.walks import PAGES, ROOT, Block

WALKED = {
    path.relative_to(PAGES).as_posix(): walks.blocks(path.read_text(encoding="utf-8"))
    for path in sorted(PAGES.rglob("*.md"))
}
"""The blocks of each page."""

SPARK = re.compile(r"\bcompat (?:demo(?! --java)|run|job run)\b")
JVM = re.compile(r"\.jar\b|\.sql\b|--java\b")


def _pages(*, sampled: bool = False) -> list[object]:
    """The pages that have commands which are run, with what they start.

    Of a sample, those that start a JVM or Spark are slow, but for tutorials.
    """
    found: list[object] = []
    for name, page in WALKED.items():
        commands = "\n".join(walks.typed(page))
        marks = [pytest.mark.spark] if SPARK.search(commands) else []
        if sampled and not name.startswith("tutorials/") and (marks or JVM.search(commands)):
            marks.append(pytest.mark.slow)
        if commands:
            found.append(pytest.param(name, marks=marks, id=name))
    return found


@pytest.mark.parametrize("name", _pages(sampled=True))
def test_a_page(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = WALKED[name]
    commands = "\n".join(walks.typed(page))
    if JVM.search(commands):
        request.getfixturevalue("flink")
    if re.search(r"^mvn ", commands, re.MULTILINE) and shutil.which("mvn") is None:
        needs.without(needs.Need.MVN)
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "compat" / "examples", clone / "compat" / "examples")
    for entry in ("tests", "deploy", "docs"):
        (clone / entry).symlink_to(ROOT / entry)
    told = walks.walk(page, clone, walks.environment(tmp_path))
    wrong = walks.differences(page, told)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", _pages())
def test_a_page_in_a_fresh_clone_and_a_fresh_environment(name: str, tmp_path: Path) -> None:
    """Needs the package index; pip caches what is installed."""
    page = WALKED[name]
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    beside = tmp_path / "bin"
    beside.mkdir()
    (beside / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "http", "HTTP"))}
    kept |= {name: os.environ[name] for name in ("HOME", "LANG", "COMPAT_CACHE") if name in os.environ}
    made = walks.environment(tmp_path)
    kept |= {name: made[name] for name in ("GIT_CONFIG_GLOBAL", "COMPAT_DATABASE", "NO_COLOR", "COLUMNS")}
    path = f"{beside}:/usr/local/bin:/usr/bin:/bin"
    wrong = walks.differences(page, walks.walk(page, clone, {**kept, "PATH": path}, installs=True))
    assert not wrong, "\n\n".join(wrong)
    shutil.rmtree(clone)


@pytest.mark.parametrize("name", WALKED)
def test_commands_are_marked_as_such_and_known(name: str) -> None:
    """What no test types is parsed."""
    page = WALKED[name]
    assert not {block.language for block in page} & {"sh", "bash", "shell"}
    lines = [line for block in page if block.language == "console" for line in block.lines]
    lines += [line for block in page if block.language in ("yaml", "groovy") for line in _of_pipeline(block.text)]
    assert not list(filter(None, map(walks.unknown, lines)))


def _of_pipeline(text: str) -> list[str]:
    """The commands of compat in a file of a CI system."""
    return re.findall(r"(?:^ *- |sh ')((?:\.compat/bin/)?compat .*?)'?$", text, re.MULTILINE)


_PATCH = re.compile(r"^patch -s (\S+) (\S+)$", re.MULTILINE)


@pytest.mark.parametrize("name", [name for name, page in WALKED.items() if _PATCH.search("\n".join(walks.typed(page)))])
def test_the_changes_of_a_page_are_at_the_lines_that_they_name(name: str, tmp_path: Path) -> None:
    """``patch`` finds what has moved, and leaves a copy of the file behind then."""
    for block in WALKED[name]:
        if block.title is not None:
            (tmp_path / block.title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    commands = [line for line in walks.typed(WALKED[name]) if re.match(r"cp old|patch ", line)]
    done = subprocess.run(
        ["bash", "-ec", "\n".join(commands)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert not list(tmp_path.rglob("*.orig"))


@pytest.mark.parametrize("name", ["howto/gitlab.md", "howto/jenkins.md"])
def test_a_guide_types_the_command_of_its_pipeline(name: str) -> None:
    (block,) = [block for block in WALKED[name] if block.language in ("yaml", "groovy")]
    (command,) = _of_pipeline(block.text)
    here = command.removeprefix(".compat/bin/").replace("origin/main", "main")
    assert here in walks.typed(WALKED[name])


@pytest.mark.parametrize("name", _pages())
def test_a_page_installs_what_it_types(name: str) -> None:
    commands = walks.typed(WALKED[name])
    uses = [number for number, line in enumerate(commands) if re.match(r"compat |mvn |python ", line)]
    installs = [number for number, line in enumerate(commands) if "pip install" in line]
    assert installs, "a page begins with what it installs"
    assert min(installs) < min(uses, default=len(commands))


def test_few_commands_are_not_run() -> None:
    every = [block for page in WALKED.values() for block in page if block.language == "console"]
    untyped = [block for block in every if block.untyped is not None]
    assert len(untyped) < len(every) / 3
    assert all(len(str(block.untyped)) > 5 for block in untyped)


# The walk itself


def walked(text: str, folder: Path) -> list[str]:
    page = walks.blocks(text)
    return walks.differences(page, walks.walk(page, folder, walks.environment(folder)))


def console(*lines: str, before: str = "", behind: str = "") -> str:
    return "\n".join([before, "```console", *lines, "```", behind])


def test_a_walk_sees_exit_codes(tmp_path: Path) -> None:
    assert not walked(console("true", "false", before="<!-- exit 1 -->"), tmp_path)
    assert walked(console("true", "false"), tmp_path)
    assert walked(console("true", before="<!-- exit 1 -->"), tmp_path)
    assert walked(console("false", "true", before="<!-- exit 1 -->"), tmp_path)


def test_a_walk_sees_what_is_printed(tmp_path: Path) -> None:
    def shown(*lines: str) -> str:
        return console("seq 5", behind="\n".join(["", "```text", *lines, "```"]))

    assert not walked(shown("1", "2"), tmp_path)
    assert not walked(shown("1", "…", "5"), tmp_path)
    assert not walked(shown("…", "4", "5"), tmp_path)
    assert walked(shown("1", "3"), tmp_path)
    assert walked(shown("1", "…", "6"), tmp_path)


def test_a_walk_writes_files_and_keeps_the_shell(tmp_path: Path) -> None:
    text = console("mkdir inner && cd inner", "NAME=file") + '\n```python title="file"\nprint(1 + 1)\n```\n'
    assert not walked(text + console("python3 \\", "  $NAME", behind="\n```text\n2\n```"), tmp_path)
    assert (tmp_path / "inner" / "file").is_file()


def test_what_is_not_run_is_parsed(tmp_path: Path) -> None:
    text = console("kubectl logs deploy/orders | compat diagnose --verbos", before="<!-- not run: no cluster -->")
    (block,) = walks.blocks(text)
    assert not walks.walk([block], tmp_path, walks.environment(tmp_path))
    assert walks.unknown(block.lines[0]) == f"{block.lines[0]}: diagnose has no option --verbos"
    assert walks.unknown("A=1 compat chekc old.py new.py") is not None
    assert walks.unknown("new/bin/compat job list --format json") is None


def test_blocks_are_all_found() -> None:
    """No fence is written in a way that the walk passes over."""
    for name, page in WALKED.items():
        text = (PAGES / name).read_text(encoding="utf-8")
        assert len(page) == len(re.findall(r"^```\w", text, re.MULTILINE)), name
        assert len([one for one in page if isinstance(one, Block)]) * 2 == len(re.findall(r"^```", text, re.MULTILINE))
