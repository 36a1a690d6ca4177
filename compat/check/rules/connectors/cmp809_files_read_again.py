"""Sources of files that read what is there once, and in NEW look for more.

Flink: ``AbstractFileSource.restoreEnumerator``, ``StaticFileSplitEnumerator``, ``ContinuousFileSplitEnumerator``.
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.connectors import restored
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.model.connectors import FileSource


def _find(check: Check) -> Iterator[Finding]:
    progress = check.finishing
    for pair, old, new in restored(check, FileSource):
        if old.looks_for_more or not new.looks_for_more:
            continue
        if progress is not None and progress.is_over(pair.old.id):
            continue  # CMP207
        yield check.finding(
            RULE,
            f"{pair.new.label} read its files once, and reads all of them again now that it looks for more",
            consequence="Flink restores this without an error. Files that OLD had read to their end are read a second time, "
            "and those that it was reading both from where it was and from their beginning.",
            reason="Only a source that looks for more files records which ones it has found. To NEW, all files are new.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Let the source go on reading once (process_static_file_set), and put one with a uid of its own "
                    "beside it that looks for files in a folder where only new ones come.",
                    code=".process_static_file_set()",
                ),
            ),
            silent=True,
        )


RULE = Rule(
    id="CMP809",
    name="files-read-again",
    level=Level.ERROR,
    fate=Fate.LOST,
    summary="A source of files that read once now looks for new files, and reads all files again.",
    why="A FileSource that reads once keeps its unread splits, but not the files that it has found. A source that looks "
    "for new files takes every file without a record for a new one. In the other direction, no file is read twice: "
    "the source reads the found files to their end, and then ends.",
    old="FileSource.for_record_stream_format(lines, folder).build()",
    new="FileSource.for_record_stream_format(lines, folder).monitor_continuously(Duration.of_seconds(10)).build()",
    fix="Let the old source end, and look for new files in another folder, with a separate source.",
    find=_find,
)
