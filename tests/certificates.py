"""Certificates for servers of this machine, made when they are needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests import needs
from tests.needs import Need


def certificate(folder: Path, subject: str) -> Path:
    """A certificate that vouches for itself, and its key, in a folder. Skips where nothing makes one."""
    if shutil.which("openssl") is None:
        needs.without(Need.OPENSSL)
    folder.mkdir(exist_ok=True)
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    named = ["-subj", f"/CN={subject}", "-addext", f"subjectAltName=DNS:{subject},IP:127.0.0.1"]
    for name in ("crt", "key"):
        (folder / f"tls.{name}").unlink(missing_ok=True)
    subprocess.run(
        [*made, *named, "-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.crt")],
        check=True,
        capture_output=True,
    )
    return folder
