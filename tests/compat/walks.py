"""Pages as a stranger types them: in one shell, one command after another, with the files that the page has one write.

In a page

- a block ``console`` is typed, a line a command; a line that ends with a backslash goes on;
- a block with ``title="FILE"`` is written to that file first;
- a block ``text`` without a title behind a ``console`` block is what its commands print: ``…`` stands for any text, and for
  any lines where it is a line of its own;
- ``<!-- exit 1 -->`` before a ``console`` block says how its last command ends; the others end with 0;
- ``<!-- not run: REASON -->`` before a ``console`` block says that no test types it: its commands of compat are only parsed.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from compat.cli import main

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "pages"
_FENCE = re.compile(
    r"^(?:<!-- (?P<mark>exit|not run)[: ]+(?P<value>.+?) -->\n+)?```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_INSTALLS = re.compile(r"\bpip install\b|\bpython3 -m venv\b")
_MARK = "@@ended"


@dataclass(frozen=True)
class Block:
    """A block of a page."""

    language: str
    text: str
    title: str | None
    code: int
    untyped: str | None
    """Why no test types it."""

    @property
    def lines(self) -> list[str]:
        """Its commands."""
        return self.text.replace("\\\n", " ").splitlines()


@dataclass(frozen=True)
class Typed:
    """A command that was typed."""

    line: str
    code: int
    expected: int
    printed: str
    block: int


def blocks(text: str) -> list[Block]:
    """The blocks of a page in order."""
    found = []
    for match in _FENCE.finditer(text):
        mark, value = match["mark"], match["value"]
        code = int(value) if mark == "exit" else 0
        found.append(
            Block(match["language"], match["text"], match["title"], code, value if mark == "not run" else None)
        )
    return found


def typed(page: Sequence[Block]) -> list[str]:
    """The commands that are run."""
    return [line for block in page if block.language == "console" and block.untyped is None for line in block.lines]


def walk(page: Sequence[Block], folder: Path, environment: Mapping[str, str], *, installs: bool = False) -> list[Typed]:
    """Type a page in a folder; commands that install are passed over unless ``installs``."""
    script, lines = ["set -m", "exec 2>&1"], []
    for number, block in enumerate(page):
        if block.title is not None:
            script.append(f"cat > {shlex.quote(block.title)} <<'@@END'\n{block.text}@@END")
        if block.language != "console" or block.untyped is not None:
            continue
        for place, line in enumerate(block.lines):
            if installs or not _INSTALLS.search(line):
                script.append(f'{line}\nCODE=$?; echo; echo "{_MARK} $CODE"')
                lines.append((line, block.code if place == len(block.lines) - 1 else 0, number))
    done = subprocess.run(
        ["bash", "-c", _with_free_ports("\n".join(script))],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=1200,
        check=False,
    )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)  # Maven colours the end of a line wherever it prints
    printed = re.split(rf"^{_MARK} (\d+)\n", plain, flags=re.MULTILINE)
    assert len(printed) == 2 * len(lines) + 1, done.stdout
    return [
        Typed(line, int(code), expected, text.removesuffix("\n"), number)
        for (line, expected, number), text, code in zip(lines, printed[::2], printed[1::2], strict=False)
    ]


def _with_free_ports(script: str) -> str:
    """A script that listens where nobody else does."""
    for port in set(re.findall(r"--port (\d+)", script)):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            script = re.sub(rf"\b{port}\b", str(listener.getsockname()[1]), script)
    return script


def differences(page: Sequence[Block], told: Sequence[Typed]) -> list[str]:
    """Where a page says other than what happened: exit codes, what is printed, tracebacks."""
    wrong = [
        f"{one.line}\nended with {one.code}, not with {one.expected}:\n{one.printed}"
        for one in told
        if one.code != one.expected or "Traceback (most recent call last)" in one.printed
    ]
    for number, block in enumerate(page[1:], 1):
        before = page[number - 1]
        if block.language != "text" or block.title or before.language != "console" or before.untyped is not None:
            continue
        printed = "".join(one.printed for one in told if one.block == number - 1)
        if not re.search(_pattern(block.text), printed):
            wrong.append(f"{before.text}printed\n{printed}\nand the page shows\n{block.text}")
    return wrong


def _pattern(shown: str) -> str:
    lines = []
    for line in shown.splitlines():
        lines.append(r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r" *\n")
    return r"(?m)^" + "".join(lines)


def unknown(line: str) -> str | None:
    """Why ``compat`` does not know a command; None where it does, and for commands of others."""
    for part in re.split(r"\s(?:\||&&|&|;)(?:\s|$)", line):
        words = shlex.split(part, comments=True)
        while words and re.fullmatch(r"\w+=.*", words[0]):
            del words[0]
        if not words or words[0].rpartition("/")[2] != "compat":
            continue
        command: click.Command = main
        context = click.Context(main, info_name="compat")
        arguments = words[1:]
        while isinstance(command, click.Group):
            name = arguments[0] if arguments else ""
            found = command.get_command(context, name)
            if found is None and command is not main:  # a word that a group takes for its first command's
                found = command.get_command(context, "take")
            else:
                arguments = arguments[1:]
            if found is None:
                return f"{line}: there is no command {name!r}"
            command, context = found, click.Context(found, info_name=name, parent=context)
        options = {
            each for one in command.params if isinstance(one, click.Option) for each in (*one.opts, *one.secondary_opts)
        }
        for word in arguments:
            option = word.partition("=")[0]
            if option.startswith("--") and option not in options | {"--help"}:
                return f"{line}: {command.name} has no option {option}"
    return None


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Where ``compat`` is the one under test, and git knows who commits."""
    settings = folder / "gitconfig"
    settings.write_text(
        "[user]\nname = A Reader\nemail = reader@example.org\n[init]\ndefaultBranch = main\n", encoding="utf-8"
    )
    beside = str(Path(sys.executable).parent)
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GIT_", "COMPAT_SERVER", "PYTEST"))
        },
        "PATH": f"{beside}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "GIT_CONFIG_GLOBAL": str(settings),
        "COMPAT_DATABASE": f"sqlite:///{folder}/compat.db",
        "NO_COLOR": "1",
        "COLUMNS": "100",
        **more,
    }
