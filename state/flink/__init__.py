"""Reading real Flink savepoints and checkpoints without a JVM.

    savepoint = read_metadata("savepoint-1a2b3c")        # operators, handles, sizes; state files stay closed
    states = read_states(savepoint, "count")             # by id, uid or name: states with their serializers
    for entry in entries(savepoint): ...                 # what the states hold: keys, namespaces and values, typed
    inspect("savepoint-1a2b3c")                          # all of it as a dictionary for JSON
    with_references(read_draft(savepoint), Changes(ids={"cbc3…": NewId("7df1…")}))  # its metadata with other operator ids

Metadata formats 2 to 6 are read, so Flink 1.3 to 2.3. Java-serialized and pickled bytes are never
deserialized, and nothing is fetched. All that is raised is a `SavepointError`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from compat.state.flink.errors import (
    DamagedSavepoint,
    IdConflict,
    MissingStateFile,
    NotASavepoint,
    NotWritten,
    RefusedStateFile,
    SavepointError,
    SavepointTooLarge,
    TruncatedSavepoint,
    UnknownOperator,
    UnknownVersion,
    UnreadableSavepoint,
    UnreadableTable,
    UnreadableValue,
)

if TYPE_CHECKING:
    from compat.state.flink.backends import keyed_format
    from compat.state.flink.files import NeededFile, list_files
    from compat.state.flink.formats import KeyedFormat, Restores, restores
    from compat.state.flink.headers import BackendHeader, StateMeta, Unreadable
    from compat.state.flink.inspection import inspect, inspect_savepoint
    from compat.state.flink.metadata import parse_metadata, read_metadata
    from compat.state.flink.remapping import (
        Remapped,
        StateCopy,
        require_free,
        self_contained,
        with_references,
        write_folder,
    )
    from compat.state.flink.rewriting import Changes, Draft, NewId, read_draft
    from compat.state.flink.samples import sample_values
    from compat.state.flink.savepoint import MasterState, OperatorState, Properties, Savepoint, SubtaskState
    from compat.state.flink.snapshots import SerializerSnapshot
    from compat.state.flink.state_entries import EntryKind, StateEntry, StoredState, Undecoded, entries, stored_states
    from compat.state.flink.states import HeaderReader, OperatorStates, find_operator, read_states
    from compat.state.flink.summary import KeyGroupBalance, OperatorSummary, StateTotal, Summary, summarize

__all__ = [
    "BackendHeader",
    "Changes",
    "DamagedSavepoint",
    "Draft",
    "EntryKind",
    "HeaderReader",
    "IdConflict",
    "KeyGroupBalance",
    "KeyedFormat",
    "MasterState",
    "MissingStateFile",
    "NeededFile",
    "NewId",
    "NotASavepoint",
    "NotWritten",
    "OperatorState",
    "OperatorStates",
    "OperatorSummary",
    "Properties",
    "RefusedStateFile",
    "Remapped",
    "Restores",
    "Savepoint",
    "SavepointError",
    "SavepointTooLarge",
    "SerializerSnapshot",
    "StateCopy",
    "StateEntry",
    "StateMeta",
    "StateTotal",
    "StoredState",
    "SubtaskState",
    "Summary",
    "TruncatedSavepoint",
    "Undecoded",
    "UnknownOperator",
    "UnknownVersion",
    "Unreadable",
    "UnreadableSavepoint",
    "UnreadableTable",
    "UnreadableValue",
    "Versioned",
    "entries",
    "find_operator",
    "inspect",
    "inspect_savepoint",
    "keyed_format",
    "list_files",
    "parse_metadata",
    "read_draft",
    "read_metadata",
    "read_states",
    "read_versioned",
    "require_free",
    "restores",
    "sample_values",
    "self_contained",
    "stored_states",
    "summarize",
    "with_references",
    "write_folder",
]

_HOMES = {
    "backends": "keyed_format",
    "state_entries": "EntryKind StateEntry StoredState Undecoded entries stored_states",
    "files": "NeededFile list_files",
    "formats": "KeyedFormat Restores restores",
    "headers": "BackendHeader StateMeta Unreadable",
    "inspection": "inspect inspect_savepoint",
    "lists": "Versioned read_versioned",
    "metadata": "parse_metadata read_metadata",
    "savepoint": "MasterState OperatorState Properties Savepoint SubtaskState",
    "remapping": "Remapped StateCopy require_free self_contained with_references write_folder",
    "rewriting": "Changes Draft NewId read_draft",
    "samples": "sample_values",
    "snapshots": "SerializerSnapshot",
    "states": "HeaderReader OperatorStates find_operator read_states",
    "summary": "KeyGroupBalance OperatorSummary StateTotal Summary summarize",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    # The modules are imported when first asked for, so that a command which reads no savepoint does not pay
    # for them.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
