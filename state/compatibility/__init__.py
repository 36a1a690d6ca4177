"""Decides whether a type can read what another one wrote, and brings the old bytes into the new form.

Flink: ``TypeSerializerSchemaCompatibility``. There is one set of rules for each way to keep state: as Java's serializers write
it (:data:`JAVA`), as PyFlink's coders do in process mode (:data:`PROCESS`), as PyFlink hands it to Java
in thread mode (:data:`THREAD`), and as the snapshot log of this project has it (:data:`STORE`). Only the last one migrates, by
:mod:`compat.state.compatibility.migration`, which is not imported here, as a check does not need it.
"""

from compat.state.compatibility.answers import Answer, Compatibility
from compat.state.compatibility.dialects import JAVA, PROCESS, STORE, THREAD, Dialect
from compat.state.compatibility.snapshots import SnapshotError, TypeSnapshot, snapshot_of
from compat.state.compatibility.states import resolve_map, resolve_state

__all__ = [
    "JAVA",
    "PROCESS",
    "STORE",
    "THREAD",
    "Answer",
    "Compatibility",
    "Dialect",
    "SnapshotError",
    "TypeSnapshot",
    "resolve_map",
    "resolve_state",
    "snapshot_of",
]
