"""The facts of a savepoint in the form of a program's: under the names of the program that will restore it, as far as
these match.

A savepoint knows a state by its name, the kind of its container and its serializers. PyFlink keeps value, list, reducing and
aggregating states all in a list of bytes, and does not record their kind and type. So a state of OLD takes both from the
program that wrote the savepoint, if that is known. Otherwise it takes them from NEW, if NEW would store its declared state in
the same way; otherwise it keeps what the savepoint says. Facts taken from NEW never make a finding; differences do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.plan.claims import partners
from compat.plan.facts import Program, Snapshot, StateFile
from compat.plan.pickled import DATACLASS, OBJECT
from compat.plan.recorded_states import RecordedState, kept_by_flink
from compat.plan.shapes import Shape, of_type
from compat.savepoint.connectors import FilesLeft, KafkaSplits, KafkaWriters, NumbersLeft, OtherLeft
from compat.savepoint.evidence import Evidence, classes_named, judge, pickles_tell
from compat.savepoint.kinds import is_python, kind_of, served
from compat.savepoint.names import Names
from compat.savepoint.pickled import attributes_of, shape_of, shape_of_text
from compat.savepoint.recorded import Recorded, RecordedOperator
from compat.state import names as framework
from compat.state.assignment import Assignable
from compat.state.compatibility import THREAD as THREAD_DIALECT
from compat.state.model.connectors import Connector
from compat.state.model.contents import Shapes, any_of
from compat.state.model.job import PYTHON_EXECUTION_MODE, Settings
from compat.state.model.operators import Detail, Operator
from compat.state.model.source_line import SourceLine
from compat.state.model.states import FUNCTIONS_OF_CONTENTS, Known, State, StateKind, StateScope
from compat.state.types import ListTypeInfo, MapTypeInfo
from compat.state.types.spelling import parse_type

PROCESS, THREAD = "process", "thread"
FOLDING = ("reduce", "aggregate")
"""Window calls that keep one value per window, in place of its records."""
COLLECTING = ("process", "apply")
"""Window calls that keep the records."""
_ANY_TIME = 0
"""A time to live of unknown length."""


def program(recorded: Recorded, name: str, new: Program, names: Names | None = None) -> Program:
    """The OLD side of a check of ``new`` against a savepoint; ``name`` is its name in the report."""
    names = names or Names()
    mode = _mode(recorded, new)
    heirs = partners(map(_assignable, recorded.operators), new)
    owners = served(heirs, {operator.id: operator for operator in recorded.operators})
    operators = tuple(
        _Translation(
            operator, position, heirs.get(operator.id), names.operator(operator.id), mode, new, owners
        ).operator(names)
        for position, operator in enumerate(recorded.operators)
    )
    settings: Settings = {} if names.program is None else {**names.program.settings}
    if mode is not None:
        settings[PYTHON_EXECUTION_MODE] = mode
    return Program(
        name=name,
        kind="savepoint",
        job_name="" if names.program is None else names.program.job_name,
        flink=new.flink,
        operators=operators,
        vertices=() if names.program is None else names.program.vertices,
        settings=settings,
        sides={} if names.program is None else names.program.sides,
        source=SourceLine(recorded.metadata, 0),
        snapshot=Snapshot(
            path=recorded.metadata,
            format_version=recorded.format_version,
            files=tuple(
                StateFile(
                    name=file.location.name,
                    status=file.location.status,
                    operators=file.operators,
                    missing=file.missing,
                )
                for file in recorded.files
            ),
            formats={operator.id: operator.format for operator in recorded.operators if operator.format is not None},
            without_timers=frozenset(operator.id for operator in recorded.operators if operator.without_timers),
            types_known=names.program is not None,
            newer=recorded.newer,
        ),
    )


def _assignable(operator: RecordedOperator) -> Assignable:
    return Assignable(operator.id, operator.has_state, operator.keyed, operator.max_parallelism)


def _mode(recorded: Recorded, new: Program) -> str | None:
    """The mode in which PyFlink ran; None if the savepoint does not tell, or no Python ran at all."""
    states = [(operator, state) for operator in recorded.operators for state in operator.states if not state.timers]
    if any(state.name.startswith(framework.PYTHON_PREFIX) for _, state in states):
        return PROCESS
    python = any(is_python(operator) for operator in new.operators)
    # In thread mode the program's own states have their own names, in operators whose keys are rows.
    own = any(
        state.scope is StateScope.BROADCAST
        or (state.scope is StateScope.KEYED and operator.key is not None and operator.key.name == "Row")
        for operator, state in states
    )
    return THREAD if python and own else None


class _Translation(Struct, frozen=True):
    """One operator of a savepoint on its way to facts.

    ``partner`` is the operator of NEW that finds this one's state, ``known`` the operator of the program that wrote it;
    ``served`` are the ids of NEW's operators that find the states that they declare.
    """

    recorded: RecordedOperator
    position: int
    partner: Operator | None
    known: Operator | None
    mode: str | None
    new: Program
    served: frozenset[str]

    def operator(self, names: Names) -> Operator:
        recorded, known = self.recorded, self.known
        uid = recorded.uid or names.uid(recorded.id)
        name = recorded.name or names.name(recorded.id)
        facts: dict[str, Any] = {
            "id": recorded.id,
            "uid": uid,
            "parallelism": recorded.parallelism,
            "max_parallelism": recorded.max_parallelism,
            "states": self.of_its_program() if recorded.unreadable else self.states(),
            "states_unknown": "; ".join(recorded.unreadable) or None,
            "has_state": recorded.has_state,
            "detail": self.detail(unnamed=name is None),
        }
        if known is not None:
            return replace(known, **facts, name=name or known.name)
        return Operator(
            **facts,
            name=name or f"operator {recorded.id[:8]}",
            user_hash=None,
            kind=kind_of(recorded, self.partner, self.new, self.served),
            parallelism_configured=False,
            max_parallelism_configured=False,
            vertex=recorded.id,
            node=-1,
            position=self.position,
            chained_outputs=0,
            inputs=(),
            source=None,
            connector=self.connector(),
        )

    def connector(self) -> Connector | None:
        """The source that left its state behind, or the sink of Kafka; none if the class in a named program tells it."""
        new = None if self.partner is None else self.partner.connector
        match self.recorded.connector:
            case FilesLeft() as files:
                return files.source(None if self.known is None else self.known.connector, new)
            case (NumbersLeft() | OtherLeft()) as left if self.known is None:
                return left.source()
            case KafkaSplits() as splits:
                return splits.source(new)
            case KafkaWriters() as writers:
                return writers.sink(new)
        return None

    def detail(self, *, unnamed: bool) -> Detail:
        recorded, partner = self.recorded, self.partner
        detail: Detail = {} if self.known is None else {**self.known.detail}
        window = next((state.namespace for state in recorded.states if state.namespace is not None), None)
        if self.known is None:
            detail["recorded"] = True
            if unnamed:
                detail["unnamed"] = True
            contents = next((state for state in recorded.states if state.name == framework.WINDOW_CONTENTS), None)
            if self.mode == THREAD and contents is not None:
                now = None if partner is None else partner.detail.get("window_function")
                told = FOLDING if _keeps_one(contents) else COLLECTING
                detail["window_function"] = now if now in told else told[0]
            elif self.mode is None and contents is not None and contents.kind in FUNCTIONS_OF_CONTENTS:
                detail["window_function"] = FUNCTIONS_OF_CONTENTS[contents.kind]
            if window is not None:
                text, merging = self.namespace(window), self.merging()
                same = partner is not None and _namespaces(partner) <= {text}
                if merging is not None:
                    detail["window_merging"] = merging
                    same = same and partner is not None and partner.detail.get("window_merging") in (None, merging)
                detail["window"] = partner.detail.get("window") if partner is not None and same else f"{text}s"
        timers = [state.bytes for state in recorded.states if state.timers]
        if timers:
            detail["timers"] = any(timers) if None not in timers else detail.get("timers")
            if window is not None and detail["timers"]:
                detail["timers"] = None  # a window's trigger registers timers, whatever its function does
        if recorded.finished is not None:
            detail["finished"] = recorded.finished
        if any(recorded.channels):
            detail["records_in_flight"] = [
                place for place, there in zip(("before", "behind"), recorded.channels, strict=True) if there
            ]
        contradictions = self.contradictions() if self.mode == PROCESS else {}
        if contradictions:
            detail["contradicted_types"] = contradictions
        pickled = {
            self.declared_name(state): sorted(names) for state in recorded.states if (names := self.classes(state))
        }
        if pickled:
            detail["classes_pickled"] = pickled
            if self.known is None:
                detail["classes_put"] = pickled
                detail["classes_shaped"] = self.classes_shaped()
        found = {self.declared_name(state): shapes for state in recorded.states if (shapes := self.shapes(state))}
        if found:
            put = detail.get("shapes_put", {})
            detail["shapes_put"] = put | {name: any_of([put.get(name, ()), shapes]) for name, shapes in found.items()}
        kryo = [self.declared_name(state) for state in recorded.states if state.kryo]
        if kryo:
            detail["kryo_states"] = kryo
        if recorded.unreadable:
            detail["known_states"] = [self.declared_name(state) for state in recorded.states]
        return detail

    # States

    def contradictions(self) -> dict[str, str]:
        """For each state whose bytes are not of the type that NEW declares for it, why not."""
        declared = {} if self.partner is None else {state.name: state for state in self.partner.states or ()}
        found: dict[str, str] = {}
        for state in self.recorded.states:
            twin = declared.get(self.declared_name(state))
            why = None if twin is None else self.evidence(state, twin).contradiction
            if twin is not None and why is not None:
                found[twin.name] = why
        return found

    def classes(self, state: RecordedState) -> set[str]:
        """The classes that the pickles in a state name; in process mode each is behind its length."""
        begin = 4 if self.mode == PROCESS else 0
        return set().union(*(classes_named(each[begin:]) for each in state.elements))

    def shapes(self, state: RecordedState) -> Shapes:
        """The structure of the pickles, or of the texts of JSON, that are stored in a state, as far as it is known."""
        values = (value for each in state.elements for value in self._values(each))
        return any_of(shape_of(value) or shape_of_text(value) for value in values)

    def classes_shaped(self) -> dict[str, list[str]]:
        """The attributes of pickled objects, for classes whose objects are only that in NEW."""
        new = {} if self.partner is None else self.partner.detail.get("classes_shaped", {})
        pickles = (value for state in self.recorded.states for each in state.elements for value in self._values(each))
        return {
            name: [new[name][0], *(f"field {attribute}" for attribute in sorted(attributes))]
            for name, attributes in attributes_of(pickles).items()
            if name in new and new[name][0] in (DATACLASS, OBJECT)
        }

    def _values(self, stored: bytes) -> Iterator[bytes]:
        """The values in stored bytes: process mode writes them one behind the other, each behind its length."""
        if self.mode != PROCESS:
            yield stored
            return
        at = 0
        while at + 4 <= len(stored):
            end = at + 4 + int.from_bytes(stored[at : at + 4], "big")
            yield stored[at + 4 : end]
            at = end

    def merging(self) -> bool | None:
        """Whether the windows melt into each other: Flink and PyFlink's process mode keep a set of those that did, of others
        none (`WindowOperator.open`); None if that cannot be told."""
        names = {self.declared_name(state) for state in self.recorded.states}
        if self.mode == THREAD or framework.WINDOW_CONTENTS not in names:
            return None
        return framework.MERGING_WINDOWS in names

    def evidence(self, state: RecordedState, twin: State) -> Evidence:
        """The evidence of a state's stored bytes about the type that NEW declares under the same name.

        Where nothing is stored, nothing can be read wrongly.
        """
        windows = self.is_python_window(state)
        if twin.built_in is not windows or twin.name != self.declared_name(state) or not self.stored_alike(state, twin):
            return Evidence()
        if state.bytes == 0:
            return Evidence(told=True)
        combined = windows and self.partner is not None and self.partner.detail.get("window_function") in FOLDING
        container = StateKind.VALUE if combined else twin.kind
        return judge(twin.type, container.value, state.elements) if state.elements else Evidence()

    def pickles_tell(self, state: RecordedState, twin: State) -> bool:
        """Whether what thread mode keeps pickled is of the type that is declared for it."""
        whole = parse_type(twin.type) if twin.type is not None else None
        if whole is None or state.bytes == 0:
            return True
        if isinstance(whole, ListTypeInfo) and twin.kind is StateKind.LIST and not twin.built_in:
            return pickles_tell(whole.element_type, state.elements)
        if isinstance(whole, MapTypeInfo) and twin.kind is StateKind.MAP:
            return pickles_tell(whole.key_type, ()) and pickles_tell(whole.value_type, state.elements)
        return pickles_tell(whole, state.elements)

    def is_python_window(self, state: RecordedState) -> bool:
        """Whether it is what PyFlink keeps in windows, of which it shows Flink bytes only."""
        return self.mode == PROCESS and self.declared_name(state) == framework.WINDOW_CONTENTS

    def kept_in_windows(self, state: RecordedState) -> str | None:
        """The type of what windows hold: what the program that wrote the savepoint keeps there, else what NEW does, where the
        stored bytes tell that they are of that."""
        writer = self.known or self.partner
        states = () if writer is None else writer.states or ()
        twin = next((one for one in states if one.built_in and one.name == framework.WINDOW_CONTENTS), None)
        if self.known is not None and twin is not None:
            return twin.type
        return twin.type if twin is not None and self.evidence(state, twin).told else None

    def in_windows(self, state: RecordedState) -> State | None:
        """What windows hold in thread mode, where the operator declares a function that keeps it in the same way.

        Flink keeps one value for a reduce or aggregate, and a list for other functions. Pickled bytes may be of any type that
        is
        not a basic one.
        """
        writer = self.known or self.partner
        states = () if writer is None else writer.states or ()
        twin = next((one for one in states if one.built_in and one.name == framework.WINDOW_CONTENTS), None)
        function = None if writer is None else writer.detail.get("window_function")
        return twin if function is not None and (function in FOLDING) == _keeps_one(state) else None

    def states(self) -> tuple[State, ...]:
        """The states, each with the kind and type of a declared one that is stored in the same way, if there is one."""
        declared = self.declared()
        left = dict(declared)
        twins: dict[str, State | None] = {}
        for state in self.recorded.states:
            key = (self.declared_name(state), state.scope is StateScope.KEYED)
            twins[state.name] = left.pop(key, None)
            if self.mode == THREAD and state.name == framework.WINDOW_CONTENTS:
                twins[state.name] = self.in_windows(state)
        for state in self.recorded.states:
            if twins[state.name] is None and not self.is_built_in(state):
                # What only has another name is a renamed state; the rules look for one of the same kind.
                alike = next((key for key, other in left.items() if self.stored_alike(state, other)), None)
                twins[state.name] = None if alike is None else left.pop(alike)
        key_text = self.key_text()
        states = [self.state(state, twins[state.name], key_text) for state in self.recorded.states]
        if self.recorded.coordinated:
            states.append(
                State(
                    name="coordinator",
                    kind=StateKind.COORDINATOR,
                    scope=StateScope.OPERATOR,
                    built_in=True,
                    known=Known.RECORDED,
                )
            )
        return tuple(states)

    def of_its_program(self) -> tuple[State, ...] | None:
        """The states that Flink made for the program that wrote the savepoint, for one whose own headers cannot be read."""
        states = None if self.known is None else self.known.states
        made_by_flink = states is not None and any(state.serializers is not None for state in states)
        return states if made_by_flink else None

    def declared(self) -> dict[tuple[str, bool], State]:
        """The program's own states by name, as far as they are known: those of the program that wrote the savepoint, else
        those of NEW."""
        source = self.partner if self.known is None or self.known.states is None else self.known
        states = () if source is None else source.states or ()
        return {(state.name, state.scope is StateScope.KEYED): state for state in states if not state.built_in}

    def state(self, recorded: RecordedState, twin: State | None, key_text: str | None) -> State:
        in_windows = self.mode == THREAD and recorded.name == framework.WINDOW_CONTENTS
        alike = twin is not None and (in_windows or self.stored_alike(recorded, twin))
        kind = twin.kind if twin is not None and alike else recorded.kind or StateKind.VALUE
        return State(
            name=self.declared_name(recorded),
            kind=kind,
            scope=recorded.scope,
            type=self.type_text(recorded, twin if alike else None),
            key_type=key_text if recorded.scope is StateScope.KEYED else None,
            namespace_type=None if recorded.namespace is None else self.namespace(recorded.namespace),
            ttl=self.ttl(recorded, twin),
            built_in=self.is_built_in(recorded),
            known=Known.RECORDED,
            unstable=self.declared_name(recorded).startswith(framework.PYTHON_REDUCE),
            bytes=recorded.bytes,
            **self.written(recorded),
        )

    def written(self, recorded: RecordedState) -> dict[str, Any]:
        """What the program that wrote the savepoint says of the classes and the function behind a state."""
        states = () if self.known is None else self.known.states or ()
        name, keyed = self.declared_name(recorded), recorded.scope is StateScope.KEYED
        told = next((one for one in states if (one.name, one.scope is StateScope.KEYED) == (name, keyed)), None)
        if told is None:
            return {}
        return {"classes": told.classes, "function": told.function, "serializers": told.serializers}

    def declared_name(self, state: RecordedState) -> str:
        return state.name.removeprefix(framework.PYTHON_PREFIX) if self.mode == PROCESS else state.name

    def is_built_in(self, state: RecordedState) -> bool:
        name = self.declared_name(state)
        declared = (name, state.scope is StateScope.KEYED) in self.declared()
        return kept_by_flink(state, name) and not (declared and name in framework.OF_CONNECTORS)

    def stored_alike(self, recorded: RecordedState, declared: State) -> bool:
        """Whether the declared state would be in the same kind of container."""
        if recorded.scope is not declared.scope or recorded.kind is None:
            return recorded.scope is declared.scope
        if recorded.scope is not StateScope.KEYED:
            return True
        return recorded.kind is _container(declared.kind, self.mode)

    def type_text(self, recorded: RecordedState, twin: State | None) -> str | None:
        if self.known is not None and twin is not None:
            return twin.type
        if self.mode == PROCESS and not self.is_built_in(recorded):
            return twin.type if twin is not None and self.evidence(recorded, twin).told else None
        if self.is_python_window(recorded):
            return self.kept_in_windows(recorded)
        if recorded.value is None:
            return None
        declared = None if twin is None else of_type(twin.type)
        if twin is not None:
            elements = recorded.value.parts[0] if recorded.value.name == "List" and recorded.value.parts else None
            if declared is None or declared in (recorded.value, elements):
                return twin.type
            if self.mode == THREAD and not _kept_in_thread_mode(twin.type).isdisjoint((recorded.value, elements)):
                return twin.type if self.pickles_tell(recorded, twin) else None
        return str(recorded.value)

    def ttl(self, recorded: RecordedState, twin: State | None) -> int | None:
        if not recorded.ttl:
            return None
        return twin.ttl if twin is not None and twin.ttl is not None else _ANY_TIME

    # Keys and windows

    def key_text(self) -> str | None:
        """The key's type; in the declared spelling if it is the same."""
        key = self.recorded.key
        if key is None:
            return None
        for operator in (self.known, self.partner):
            declared = None if operator is None else _key_type(operator)
            if operator is None or declared is None:
                continue
            shape = of_type(declared)
            if shape is None or shape == key:
                return declared
        return str(key)

    def namespace(self, window: Shape) -> str:
        """The windows' type as the plan of a program for this version of Flink has it."""
        python = self.known or self.partner
        python_before_2 = self.new.flink.startswith("1.") and python is not None and is_python(python)
        if window.name == framework.JAVA_GLOBAL_WINDOW and python_before_2:
            return "GlobalWindow"
        if window.name == "GlobalWindow" and python_before_2:
            return "org.apache.flink.table.runtime.operators.window.GlobalWindow"
        return str(window)


def _container(kind: StateKind, mode: str | None) -> StateKind:
    """The kind of state in which the backend keeps a declared one."""
    if mode == PROCESS:
        return StateKind.MAP if kind is StateKind.MAP else StateKind.LIST
    if mode == THREAD and kind in (StateKind.REDUCING, StateKind.AGGREGATING):
        return StateKind.VALUE
    return kind


def _keeps_one(state: RecordedState) -> bool:
    """Whether windows hold one value, and not a list."""
    return state.kind is StateKind.VALUE


def _kept_in_thread_mode(declared: str | None) -> set[Shape | None]:
    """The serializers with which thread mode keeps a declared type, or the elements of a declared list."""
    whole = parse_type(declared) if declared is not None else None
    if whole is None:
        return set()
    kept = {whole, whole.element_type} if isinstance(whole, ListTypeInfo) else {whole}
    return {of_type(str(THREAD_DIALECT.kept(one))) for one in kept} - {None}


def _key_type(operator: Operator) -> str | None:
    return next((state.key_type for state in operator.states or () if state.key_type is not None), None)


def _namespaces(operator: Operator) -> set[str | None]:
    return {state.namespace_type for state in operator.states or () if state.kind is StateKind.TIMERS}
