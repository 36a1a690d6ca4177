"""Compiles the pairs: ``python -m tests.compat.java_pairs.build`` with a JDK makes ``old.jar`` and ``new.jar`` anew."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from compat.loader.jvm.distribution import FlinkPlaces, find_flink
from tests.compat.java_pairs.model import digest
from tests.compat.java_pairs.programs import JAVA_PAIRS, PARTS

JARS = Path(__file__).parents[2] / "golden" / "java" / "pairs"
VERSION = "2.3.0"
DIGEST = "programs.sha256"


def main() -> None:
    """Make both jars."""
    found = find_flink(FlinkPlaces(version=VERSION))
    JARS.mkdir(parents=True, exist_ok=True)
    for side in ("old", "new"):
        with tempfile.TemporaryDirectory() as folder:
            sources = Path(folder, "pairs")
            classes = Path(folder, "classes")
            sources.mkdir()
            (sources / "Parts.java").write_text(PARTS, encoding="utf-8")
            for pair in JAVA_PAIRS:
                (sources / f"{pair.class_name}.java").write_text(pair.source(side), encoding="utf-8")
            command = ["javac", "--release", "11", "-nowarn", "-g:lines", "-d", str(classes)]
            command += ["-cp", ":".join(found.classpath), *map(str, sorted(sources.iterdir()))]
            if subprocess.run(command).returncode:
                sys.exit(1)
            with zipfile.ZipFile(JARS / f"{side}.jar", "w", zipfile.ZIP_DEFLATED) as jar:
                for file in sorted(classes.rglob("*.class")):
                    info = zipfile.ZipInfo(str(file.relative_to(classes)))
                    info.compress_type = zipfile.ZIP_DEFLATED
                    jar.writestr(info, file.read_bytes())
    (JARS / DIGEST).write_text(digest(JAVA_PAIRS, PARTS) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
