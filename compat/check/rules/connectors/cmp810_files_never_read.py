"""Sources of files that read once, with paths that OLD's did not have.

Flink: ``AbstractFileSource.restoreEnumerator``, ``StaticFileSplitEnumerator``.
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.connectors import restored
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.state.model.connectors import FileSource


def _find(check: Check) -> Iterator[Finding]:
    for pair, old, new in restored(check, FileSource):
        if old.paths is None or new.paths is None or new.looks_for_more:
            continue
        added = [path for path in new.paths if path not in old.paths]
        if not added:
            continue
        yield check.finding(
            RULE,
            f"{pair.new.label} does not read {', '.join(map(repr, added))}, which OLD did not name",
            consequence="Flink restores this without an error. The source reads what it had found and not read, under the "
            "paths of OLD, and then ends.",
            reason="A source that reads once looks for files only at its first start; after a restore it uses the files that "
            "it found.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Read new paths by a source of their own beside this one; or give the source a uid that OLD did not "
                    "have, to read all of its paths from the beginning.",
                    code=uid_call(pair.new, check),
                ),
            ),
            silent=True,
        )


RULE = Rule(
    id="CMP810",
    name="files-never-read",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A source of files that reads once has new paths, and never reads them.",
    why="A FileSource that reads once found its splits when OLD started. After a restore it has only these, and does "
    "not look for files again, whatever its paths. A source that looks for new files finds new paths.",
    old='FileSource.for_record_stream_format(lines, "in").build()',
    new='FileSource.for_record_stream_format(lines, "in", "more").build()',
    fix="Read the new paths with a separate source.",
    find=_find,
)
