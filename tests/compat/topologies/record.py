"""Record what Flink does with random versions of topologies: ``python -m tests.compat.topologies.record PYTHON FIRST COUNT``.

PYTHON is an interpreter that has PyFlink, whose libraries are the Flink to run; a JDK compiles ``RestoreTopologies.java``
against them. What came of each seed is added to the records of that version of Flink; those that are there are not run again.
With a recorded version of Flink in the place of FIRST and COUNT, its savepoints are restored.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.compat.restores.record import keep, version_of
from tests.compat.topologies.judging import GOLDEN, Record, Restored, records
from tests.compat.topologies.versions import versions

PLACE = Path(tempfile.gettempdir()) / "compat-topologies"
"""Where savepoints are written. A checkpoint names its files by their whole paths, so this is the same each time."""
PROGRAM = Path(__file__).with_name("RestoreTopologies.java")
_BEFORE_2 = (
    ("functions.sink.legacy.", "functions.sink."),
    ("functions.source.legacy.", "functions.source."),
    (
        "createWriter(WriterInitContext context) { return new Writing(); }",
        "createWriter(WriterInitContext context) { return new Writing(); }\n"
        "        @Override public SinkWriter<Long> createWriter(InitContext context) { return new Writing(); }",
    ),
)
"""What the program says where it is compiled against Flink 1.20."""
_OPENED = ("java.base/java.util", "java.base/java.lang", "java.base/java.time")


def main(python: str, *what: str) -> None:
    """Record the seeds that are not recorded, or those that another version of Flink has recorded."""
    flink = version_of(python)
    before = what[0] if len(what) == 1 else None
    path = GOLDEN / (f"{flink}.jsonl.gz" if before is None else f"{before}-to-{flink}.jsonl.gz")
    known = {record.seed: record for record in records(path)} if path.exists() else {}
    if before is None:
        first, count = map(int, what)
        given: Iterable[Record] = (given_of(seed) for seed in range(first, first + count) if seed not in known)
    else:
        given = (record for record in records(GOLDEN / f"{before}.jsonl.gz") if record.seed not in known)
    for record in restored(python, flink, given, before):
        print(record.seed, *(each.outcome for each in record.restored), file=sys.stderr, flush=True)
        known[record.seed] = record
        keep(path, known)


def given_of(seed: int) -> Record:
    """The versions of a seed, of which nothing is known yet."""
    drawn = versions(seed)
    restored = tuple(
        Restored(edits=new.edits, topology=new.topology, allow=new.allow, outcome="") for new in drawn.news
    )
    return Record(seed=seed, flink="", old=drawn.old, kept=(), files={}, restored=restored, saved=drawn.saved)


def restored(python: str, flink: str, given: Iterable[Record], written_by: str | None = None) -> Iterator[Record]:
    """What Flink does with each topology and its versions; those of which OLD did not run are left out.

    ``written_by`` is the version of Flink that wrote the savepoints, where it is another one.
    """
    code = "import os, pyflink; print(os.path.join(os.path.dirname(pyflink.__file__), 'lib', '*'))"
    libraries = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        classes = os.pathsep.join((_compiled(Path(folder), flink, libraries), libraries))
        java = ["java", "-Xmx1500m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes]
        java += [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        java += ["-Dlog4j2.level=OFF", PROGRAM.stem, str(PLACE / (written_by or flink))]
        with subprocess.Popen(
            java, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for record in given:
                process.stdin.write(_asked(record) + "\n")
                process.stdin.flush()
                did = json.loads(process.stdout.readline())
                if "error" in did:
                    print(record.seed, did["error"], file=sys.stderr, flush=True)
                else:
                    yield _answered(record, did, flink)
            process.stdin.close()


def _asked(record: Record) -> str:
    news = [{"topology": each.topology, "allow": each.allow} for each in record.restored]
    files = {"files": record.files} if record.files else {}
    return json.dumps({"seed": record.seed, "old": record.old, "saved": record.saved, "news": news, **files})


def _answered(record: Record, did: dict[str, Any], flink: str) -> Record:
    answers = (
        msgspec.convert({**msgspec.to_builtins(each), "seen": {}, "error": None, **answer}, Restored)
        for each, answer in zip(record.restored, did["restored"], strict=True)
    )
    return replace(
        record,
        flink=flink,
        old_flink=record.flink or None,
        kept=tuple(sorted(did.get("kept", record.kept))),
        files=did.get("files", record.files),
        restored=tuple(answer for answer in answers if answer.judged),
    )


def _compiled(folder: Path, flink: str, libraries: str) -> str:
    """The folder of the compiled program."""
    text = PROGRAM.read_text(encoding="utf-8")
    for now, before in _BEFORE_2 if flink.startswith("1.") else ():
        text = text.replace(now, before)
    source = folder / PROGRAM.name
    source.write_text(text, encoding="utf-8")
    subprocess.run(["javac", "-nowarn", "-Xlint:none", "-d", str(folder), "-cp", libraries, str(source)], check=True)
    return str(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
