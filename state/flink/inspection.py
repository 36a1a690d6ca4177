"""The whole description of a savepoint, as one dictionary that JSON can hold."""

from __future__ import annotations

import os

from msgspec import to_builtins

from compat.state.flink.describe import (
    Json,
    describe_master_state,
    describe_properties,
    describe_subtask,
)
from compat.state.flink.files import NeededFile
from compat.state.flink.metadata import MAGIC, read_metadata
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.states import HeaderReader
from compat.state.flink.summary import OperatorSummary, Summary, summarize


def inspect(path: str | os.PathLike[str]) -> Json:
    """Read a savepoint and the headers of its state files, and describe them in a dictionary.

    Sizes are bytes. Handles with the same header share one dictionary for it. A missing, damaged or remote state file does not
    end the reading: its handle has `backend_error`, and `missing_files` lists
    it. A header that could not be read to its end has `unknown`. Raises a `SavepointError` if the metadata
    itself cannot be read.
    """
    return inspect_savepoint(read_metadata(path))


def inspect_savepoint(savepoint: Savepoint) -> Json:
    """The description of a savepoint whose metadata has been read."""
    headers = HeaderReader(savepoint)
    summary = summarize(savepoint, headers)
    described: Json = {
        "path": savepoint.path,
        "folder": savepoint.folder,
        "magic": f"{MAGIC:08x}",
        "format_version": savepoint.format_version,
        "metadata_bytes": savepoint.metadata_bytes,
        "digest": savepoint.digest,
        "checkpoint_id": savepoint.checkpoint_id,
        "master_states": [describe_master_state(state) for state in savepoint.master_states],
    }
    if savepoint.properties is not None:
        described["properties"] = describe_properties(savepoint.properties)
    described["operators"] = [
        _operator(operator, totals, headers)
        for operator, totals in zip(savepoint.operators, summary.operators, strict=True)
    ]
    return described | _totals(summary)


def _operator(operator: OperatorState, totals: OperatorSummary, headers: HeaderReader) -> Json:
    return {
        "id": operator.id,
        "name": operator.name,
        "uid": operator.uid,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
        "class": "FullyFinishedOperatorState" if operator.fully_finished else "OperatorState",
        "fully_finished": operator.fully_finished,
        "has_state": operator.has_state,
        "coordinator_state_bytes": operator.coordinator.size if operator.coordinator else None,
        "subtasks": [describe_subtask(subtask, headers) for subtask in operator.subtasks],
        "totals": {key: value for key, value in to_builtins(totals).items() if key != "id"},
    }


def _totals(summary: Summary) -> Json:
    return {
        "total_bytes": summary.bytes,
        "files": [_file(file) for file in summary.files],
        "missing_files": [_file(file) for file in summary.missing],
    }


def _file(file: NeededFile) -> Json:
    return {
        "name": file.location.name,
        "status": file.location.status,
        "path": file.location.path,
        "size": file.size,
        "operators": list(file.operators),
    }
