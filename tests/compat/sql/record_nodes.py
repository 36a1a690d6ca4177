"""Writes which nodes each version's planner has: ``python -m tests.compat.sql.record_nodes``."""

import io
import json
import re
import zipfile
from pathlib import Path

from compat.loader.jvm.distribution import FLINK as GROUP
from compat.loader.jvm.maven import Artifact, fetch

GOLDEN = Path(__file__).parents[2] / "golden" / "sql" / "exec_nodes.json"
VERSIONS = ("1.20.0", "2.0.0", "2.1.0", "2.2.0", "2.3.0")
_LOADER = "flink-table-planner-loader"
_CLASS = re.compile(r"org/apache/flink/table/planner/plan/nodes/exec/stream/(StreamExec\w+)\.class")
_TYPE = re.compile(rb"stream-exec-([a-z-]+)")


def nodes(version):
    """The kind of each class ``StreamExec…`` of a planner; None for one that no plan has."""
    jar = next(path for path in fetch(f"planner-{version}", [_artifact(version)]) if path.name.startswith(_LOADER))
    with zipfile.ZipFile(jar) as outer, zipfile.ZipFile(io.BytesIO(outer.read("flink-table-planner.jar"))) as planner:
        return {
            match[1]: kind[1].decode() if (kind := _TYPE.search(planner.read(name))) else None
            for name in sorted(planner.namelist())
            if (match := _CLASS.fullmatch(name))
        }


def _artifact(version):
    return Artifact(group=GROUP, name=_LOADER, version=version)


def read():
    """The recorded nodes, by version and class."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def main():
    """Record all versions."""
    found = {version: nodes(version) for version in VERSIONS}
    GOLDEN.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
