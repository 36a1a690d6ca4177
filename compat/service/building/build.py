"""Has a program built by a confined process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from compat.service.building.__main__ import NO_PLAN, NOT_CONFINED
from compat.service.building.confinement import PATH, CannotConfine
from compat.service.building.program import Sent
from compat.service.building.request import ProgramRequest
from compat.service.pool import WorkFailed
from compat.service.untrusted import RefusedBody

MOST_TOLD = 4000
"""The most characters of an error message that are passed on."""


async def build(request: ProgramRequest, job: str, memory: int, seconds: float) -> bytes:
    """The plan of a program, as JSON. Raises RefusedBody for a program without one, WorkFailed, CannotConfine."""
    with TemporaryDirectory(prefix="compat-build-") as place:
        folder = Path(place, "project")
        await asyncio.to_thread(_write, folder, request.files)
        sent = Sent(
            program=request.program,
            job=job,
            arguments=request.arguments,
            options=request.options,
            flink=request.flink,
            seconds=seconds,
        )
        asked = Path(place, "request")
        asked.write_bytes(msgspec.json.encode(sent))
        with (
            asked.open("rb") as given,
            open(Path(place, "plan"), "wb") as plan,
            open(Path(place, "said"), "wb") as said,
        ):
            process = await asyncio.create_subprocess_exec(
                *_command(folder, memory, seconds),
                env=_environment(folder),
                stdin=given,
                stdout=plan,
                stderr=said,
                start_new_session=True,
            )
            try:
                code = await asyncio.wait_for(process.wait(), seconds + 5)
            except TimeoutError:
                raise WorkFailed(f"The program did not end within {seconds:g} seconds and was given up.") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        told = Path(place, "said").read_text("utf-8", "replace").strip()[-MOST_TOLD:]
        if code == NOT_CONFINED:
            raise CannotConfine(0, told)
        if code == NO_PLAN:
            raise RefusedBody(f"The program gives no plan: {told}", "program")
        if code:
            raise WorkFailed("Building the program took more memory or time than it may, and was given up.")
        return Path(place, "plan").read_bytes()


def require_confinement() -> None:
    """Raise CannotConfine if this machine's kernel lacks a feature that is needed to build foreign programs."""
    with TemporaryDirectory(prefix="compat-build-") as folder:
        command = _command(Path(folder), 1024**3, 10)
        done = subprocess.run(
            command, env=_environment(Path(folder)), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    if done.returncode:
        raise CannotConfine(0, done.stderr.decode("utf-8", "replace").strip())


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(mode=0o700)
    for place, text in files.items():
        path = folder / place
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise RefusedBody(f"{place!r} is a file and a folder.", "files") from None


def _command(folder: Path, memory: int, seconds: float) -> list[str]:
    return [sys.executable, "-m", "compat.service.building", str(folder), str(memory), str(round(seconds))]


def _environment(folder: Path) -> dict[str, str]:
    """All that the program sees of the service's own environment: nothing."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PYTHONPATH": PATH,
        "LC_ALL": "C.UTF-8",
    }
