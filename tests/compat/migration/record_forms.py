"""Golden migrations whose result is written natively, as real Flink restored them.

``python -m tests.compat.migration.record_forms FILE NAME…`` migrates pairs with ``--native`` for each state backend, and
records what a real Flink reads of them on that backend, and of RocksDB's files on ForSt, too.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from compat.loader.jvm.distribution import FLINK
from compat.loader.jvm.maven import Artifact, fetch
from compat.loader.jvm.messages import NativeBackend
from compat.loader.jvm.warm import WarmJvms
from tests.compat.loader.jvm.support import flink_of
from tests.compat.migration.in_flink import compiled, migrated, pairs, read_in_flink

VERSIONS = ("2.3.0", "1.20.0")
BACKENDS: tuple[NativeBackend, ...] = ("hashmap", "rocksdb")
READERS = {("2.3.0", "rocksdb"): ("forst",)}
"""The other backends that read a form, by the version of Flink."""


def main(path: str, names: Collection[str]) -> None:
    """Record what Flink reads, a line a pair."""
    with WarmJvms() as jvms, tempfile.TemporaryDirectory() as folder, open(path, "a", encoding="utf-8") as out:
        for version in VERSIONS:
            classpath = compiled(folder, ":".join(map(str, (*flink_of(version).classpath, *_forst(version)))))
            for pair in pairs(version):
                if pair["name"] not in names:
                    continue
                read: dict[str, Any] = {}
                for backend in BACKENDS:
                    target = str(Path(folder, f"{version}-{pair['name']}-{backend}"))
                    done = migrated(pair, target, jvms, backend)
                    assert done is not None, pair["name"]
                    for reader in (backend, *READERS.get((version, backend), ())):
                        read[reader] = read_in_flink(pair, target, reader, classpath)
                record = {"version": version, "name": pair["name"], "read": read}
                print(json.dumps(record), flush=True)
                out.write(json.dumps(record) + "\n")
                out.flush()


def _forst(version: str) -> Sequence[Path]:
    """The jars of ForSt, where a version has it."""
    asked = [Artifact(group=FLINK, name="flink-statebackend-forst", version=version)]
    return fetch(f"forst-{version}", asked) if (version, "rocksdb") in READERS else ()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
