"""Compiles the programs in ``java.tgz`` into ``old.jar`` and ``new.jar``: ``python -m tests.golden.drawn.build`` with a JDK."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.compat.loader.jvm.support import flink_of

HERE = Path(__file__).parent
EPOCH = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Make both jars; the helpers in ``lab`` are in each."""
    flink = flink_of("2.3.0")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(HERE / "java.tgz") as archive:
            archive.extractall(folder, filter="data")
        for side in ("old", "new"):
            classes = Path(folder, "classes", side)
            sources = [*Path(folder, "src", side).rglob("*.java"), *Path(folder, "lab").rglob("*.java")]
            command = ["javac", "--release", "17", "-nowarn", "-g", "-d", str(classes), "-cp", ":".join(flink.classpath)]
            if subprocess.run([*command, *map(str, sorted(sources))]).returncode:
                sys.exit(1)
            with zipfile.ZipFile(HERE / f"{side}.jar", "w", zipfile.ZIP_DEFLATED) as jar:
                for file in sorted(classes.rglob("*.class")):
                    info = zipfile.ZipInfo(str(file.relative_to(classes)), EPOCH)
                    info.compress_type = zipfile.ZIP_DEFLATED
                    jar.writestr(info, file.read_bytes())


if __name__ == "__main__":
    main()
