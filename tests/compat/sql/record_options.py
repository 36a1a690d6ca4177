"""Writes which options each version's planner has: ``python -m tests.compat.sql.record_options``."""

import json
import re
import zipfile
from pathlib import Path

from compat.loader.jvm.distribution import FLINK as GROUP
from compat.loader.jvm.maven import Artifact, fetch
from tests.compat.sql.record_nodes import VERSIONS

GOLDEN = Path(__file__).parents[2] / "golden" / "sql" / "options.json"
_API = "flink-table-api-java"
_CLASS = re.compile(r"org/apache/flink/table/api/config/(\w*ConfigOptions)\.class")
_CONSTANT = re.compile(rb"\x01(..)(table\.[a-z0-9.-]+)", re.DOTALL)
"""A text among the constants of a class: its length in two bytes, and itself."""


def options(version):
    """The names of the options in each class ``…ConfigOptions`` of the Table API, those of earlier versions too."""
    jars = fetch(f"table-api-{version}", [Artifact(group=GROUP, name=_API, version=version)])
    with zipfile.ZipFile(next(path for path in jars if path.name == f"{_API}-{version}.jar")) as jar:
        return {
            match[1]: sorted(
                {name[: int.from_bytes(size)].decode() for size, name in _CONSTANT.findall(jar.read(path))}
            )
            for path in sorted(jar.namelist())
            if (match := _CLASS.fullmatch(path))
        }


def read():
    """The recorded options, by version and class."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def main():
    """Record all versions."""
    found = {version: options(version) for version in VERSIONS}
    GOLDEN.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
