"""From a savepoint or checkpoint of Flink to a snapshot that jobs on Spark restore."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from compat.compiler.spark.flink.declared import Declarations, broadcast_states, keyed_states
from compat.compiler.spark.flink.positions import splits_of
from compat.compiler.spark.flink.sinks import OF_SINKS, require_nothing_to_publish
from compat.compiler.spark.flink.states import BroadcastStates, KeyedStates, name_of
from compat.compiler.spark.plan import OperatorSpec
from compat.compiler.spark.runtime_api.internal_states import STATES
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.compiler.streamgraph.graph import Task
from compat.compiler.transformations import operators as ops
from compat.state import names
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import NO_KEY_GROUP, DataFile, Kind, Row, write_rows
from compat.state.flink.errors import SavepointError
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.state_entries import EntryKind, StateEntry, StoredState, entries, stored_states
from compat.state.stores.paths import Place

_ROWS, _BYTES = 100_000, 64 * 1024 * 1024
"""The maximum number of rows, and of their bytes, in one file."""
_EPOCH = 1


class NotTranslated(Exception):
    """A savepoint that cannot be taken over completely; one line for each reason."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def translate(
    savepoint: Savepoint, partners: Mapping[str, OperatorSpec], plan: Mapping[str, Any], folder: Place
) -> SnapshotLog:
    """Write a savepoint's state as a snapshot into an empty folder, under the savepoint's own operator ids.

    ``partners`` are the program's operators that take over state, by the ids of the savepoint's operators. State of other
    operators is described, but not taken over. ``plan`` is the program's plan. Raises NotTranslated, with all state that cannot
    be taken over.
    """
    return _Translation(savepoint, partners, plan).into(folder)


class _Translation:
    def __init__(self, savepoint: Savepoint, partners: Mapping[str, OperatorSpec], plan: Mapping[str, Any]) -> None:
        self._savepoint, self._partners = savepoint, partners
        planned = {each["operator_id"]: each.get("states") for each in plan.get("operators") or ()}
        self._operators = {operator.id: operator for operator in savepoint.operators}
        self._problems: dict[str, None] = {}
        self._elements: defaultdict[str, list[bytes]] = defaultdict(list)
        self._reduced: dict[tuple[str, int, bytes], str] = {}
        self._keyed: dict[str, KeyedStates] = {}
        self._broadcast: dict[str, BroadcastStates] = {}
        for id, spec in partners.items():
            key_type = None if spec.key_type is None else spec.key_type.field_types[0]
            states = planned.get(spec.id)
            declared = Declarations(keyed_states(spec, states or ()), complete=states is not None)
            self._keyed[id] = KeyedStates(id, key_type, self._operators[id].max_parallelism, declared)
            self._broadcast[id] = BroadcastStates(id, broadcast_states(spec))

    def into(self, folder: Place) -> SnapshotLog:
        try:
            return self._into(folder)
        except SavepointError as error:
            raise NotTranslated([str(error)]) from error

    def _into(self, folder: Place) -> SnapshotLog:
        self._refuse(stored_states(self._savepoint))
        log = SnapshotLog.create(folder)
        files: list[DataFile] = []
        rows: list[Row] = []
        size = 0
        for row in self._rows():
            rows.append(row)
            size += len(row.key) + len(row.map_key) + len(row.value or b"")
            if len(rows) >= _ROWS or size >= _BYTES:
                files.append(write_rows(log.path, rows, _EPOCH))
                rows, size = [], 0
        rows += self._positions()
        rows += self._descriptions()
        self._give_up_on_problems()
        files.append(write_rows(log.path, rows, _EPOCH))
        log.commit(_EPOCH, files, {"token": "flink"})
        return log

    def _refuse(self, states: Iterable[StoredState]) -> None:
        """Say what cannot be read before anything is."""
        for state in states:
            if state.operator_id not in self._partners:
                continue
            if state.problem is not None:
                self._problem(state.operator_id, f"state {state.declared_name!r} cannot be read: {state.problem}")
                continue
            try:
                if state.kind is EntryKind.BROADCAST:
                    self._broadcast[state.operator_id].describe(state)
                elif state.kind.keyed:
                    self._refuse_evicted(state)
                    self._keyed[state.operator_id].describe(state)
            except Untranslatable as error:
                self._problem(state.operator_id, str(error))
        for operator in self._savepoint.operators:
            if any(subtask.input_channels or subtask.output_channels for subtask in operator.subtasks):
                self._problem(operator.id, "it has records in flight: take a savepoint, or an aligned checkpoint")
        self._give_up_on_problems()

    def _refuse_evicted(self, state: StoredState) -> None:
        """The contents of a window with an evictor are records with their timestamps, in a form that differs."""
        operator = self._partners[state.operator_id].operator
        if isinstance(operator, ops.Window) and operator.evictor is not None and not state.kind.timers:
            raise Untranslatable("windows with an evictor keep records in another form than jobs on Spark do")

    def _rows(self) -> Iterator[Row]:
        for entry in entries(self._savepoint, lambda state: state.operator_id in self._partners):
            try:
                yield from self._translated(entry)
            except Untranslatable as error:
                self._problem(entry.state.operator_id, str(error))
                self._give_up_on_problems()

    def _translated(self, entry: StateEntry) -> Iterable[Row]:
        state = entry.state
        if state.kind is EntryKind.BROADCAST:
            return self._broadcast[state.operator_id].rows(entry)
        if state.kind.keyed:
            rows = list(self._keyed[state.operator_id].rows(entry))
            if name_of(state) == names.PYTHON_REDUCE:
                self._only_once(state, rows)
            return rows
        if state.name == names.SOURCE_READER:
            self._elements[state.operator_id].append(entry.value)
            return ()
        if state.name in OF_SINKS:
            operator = self._partners[state.operator_id].operator
            require_nothing_to_publish(state.name, entry.value, operator and operator.function)
            return ()
        raise Untranslatable(f"operator state {state.declared_name!r} of Flink's own is none that jobs on Spark have")

    def _only_once(self, state: StoredState, rows: Iterable[Row]) -> None:
        """Refuse a rolling aggregate that a key has twice: PyFlink gives it a new name at each restore and keeps the old."""
        for row in rows:
            place = (state.operator_id, row.key_group, row.key)
            if self._reduced.setdefault(place, state.name) != state.name:
                raise Untranslatable(
                    "the state of its aggregate is there several times, as PyFlink begins anew at each restore and "
                    "keeps the old: it is unknown which is the latest"
                )

    def _positions(self) -> Iterator[Row]:
        for id, spec in self._partners.items():
            operator = self._operators[id]
            read_anew = spec.task is Task.LEGACY_SOURCE and not operator.fully_finished
            if spec.task not in (Task.SOURCE, Task.LEGACY_SOURCE) or spec.operator is None or read_anew:
                continue
            try:
                for name, value in splits_of(spec.operator.function, operator, self._elements[id]):
                    yield Row(id, Kind.OPERATOR, NO_KEY_GROUP, names.SOURCE_READER, b"", b"", name, value)
            except Untranslatable as error:
                self._problem(id, str(error))

    def _descriptions(self) -> Iterator[Row]:
        """The description of each operator, also of those whose state nobody takes."""
        for operator in self._savepoint.operators:
            spec = self._partners.get(operator.id)
            described: dict[str, Any] = {}
            if spec is not None:
                described = self._keyed[operator.id].described | self._broadcast[operator.id].described
            facts = {
                "name": operator.name or (spec.name if spec is not None else operator.uid or operator.id),
                "uid": operator.uid or (spec.uid if spec is not None else None),
                "user_hash": None,
                "replayed": False,
                "parallelism": operator.parallelism,
                "max_parallelism": operator.max_parallelism,
                "stateful": operator.has_state,
                "keyed": any(subtask.managed_keyed is not None for subtask in operator.subtasks),
                "states": list(described.values()),
            }
            yield Row(operator.id, Kind.OPERATOR, NO_KEY_GROUP, STATES, b"", b"", b"", json.dumps(facts).encode())

    def _problem(self, id: str, text: str) -> None:
        operator, spec = self._operators[id], self._partners.get(id)
        name = operator.name or (spec.name if spec is not None else None) or operator.uid or id
        self._problems[f"Operator {name!r}: {text}."] = None

    def _give_up_on_problems(self) -> None:
        if self._problems:
            raise NotTranslated(list(self._problems))
