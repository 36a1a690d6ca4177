"""Golden migrations whose result is written natively, as real Flink restored them.

``python -m tests.compat.migration.record_forms FILE NAME…`` migrates pairs with ``--native`` for each state backend, and
records what a real Flink reads of them on that backend.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from compat.loader.jvm.messages import NativeBackend
from compat.loader.jvm.warm import WarmJvms
from tests.compat.loader.jvm.support import flink_of
from tests.compat.migration.in_flink import compiled, migrated, pairs, read_in_flink

VERSIONS = ("2.3.0", "1.20.0")
BACKENDS: tuple[NativeBackend, ...] = ("hashmap", "rocksdb")


def main(path: str, names: Collection[str]) -> None:
    """Record what Flink reads, a line a pair."""
    with WarmJvms() as jvms, tempfile.TemporaryDirectory() as folder, open(path, "a", encoding="utf-8") as out:
        for version in VERSIONS:
            classpath = compiled(folder, ":".join(map(str, flink_of(version).classpath)))
            for pair in pairs(version):
                if pair["name"] not in names:
                    continue
                read: dict[str, Any] = {}
                for backend in BACKENDS:
                    target = str(Path(folder, f"{version}-{pair['name']}-{backend}"))
                    done = migrated(pair, target, jvms, backend)
                    assert done is not None, pair["name"]
                    read[backend] = read_in_flink(pair, target, backend, classpath)
                record = {"version": version, "name": pair["name"], "read": read}
                print(json.dumps(record), flush=True)
                out.write(json.dumps(record) + "\n")
                out.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
