"""PyFlink's second pass: neighbouring Python operators become one operator.

Flink: ``PythonOperatorChainingOptimizer``. Flink works through a queue and rewrites inputs on the way. The ids, the order of
the result and the order of a union's inputs follow from that. So this pass takes the same steps, but builds the merged
operators only at the end, in time linear in the number of operators.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from compat.compiler.errors import FlinkError
from compat.compiler.transformations.kinds import (
    BroadcastStateTransformation,
    CacheTransformation,
    MultipleInputTransformation,
    OneInputTransformation,
    Partition,
    PhysicalTransformation,
    Transformation,
    TwoInputTransformation,
    Union,
)
from compat.compiler.transformations.operators import ChainingStrategy, Operator, PythonFunction, PythonOperator
from compat.compiler.transformations.partitioners import Ship
from compat.compiler.transformations.pipeline import Pipeline

_MERGES_DOWNSTREAM = frozenset(
    {
        PythonOperator.PROCESS,
        PythonOperator.KEYED_PROCESS,
        PythonOperator.CO_PROCESS,
        PythonOperator.KEYED_CO_PROCESS,
        PythonOperator.WINDOW,
    }
)


def merge(pipeline: Pipeline, target: int | None = None) -> int | None:
    """Merge the Python operators of ``pipeline`` and replace its registered list by the resulting one.

    With ``target`` (``execute_and_collect``) only the transformations that it reaches are merged, and stay in the list. Gives
    the transformation that replaces ``target``.
    """
    return _Merger(pipeline).run(target)


class _Merger:
    """One run of the pass. ``parts`` are the two ids that each merged one was made of."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.merged: dict[int, Transformation] = {}
        self.parts: dict[int, tuple[int, int]] = {}
        self.input_lists: dict[int, _InputList] = {}
        self.consumers = self._consumers()

    def run(self, target: int | None) -> int | None:
        queue = deque(self.pipeline.registered if target is None else [target])
        result: dict[int, None] = {}
        done: set[int] = set()
        while queue:
            id = queue.popleft()
            if id in done:
                continue
            done.add(id)
            new = id
            upstream = self._upstream_to_merge_with(id)
            if upstream is None:
                result[id] = None
            else:
                new = self._merge(upstream, id)
                result[new] = None
                for old in (upstream, id):
                    result.pop(old, None)
                    done.add(old)
            queue.append(new)
            queue.extend(self._inputs(new))
            if id == target:
                target = new
        self._write_back(result)
        return target

    def _get(self, id: int) -> Transformation:
        return self.merged.get(id) or self.pipeline[id]

    def _inputs(self, id: int) -> Iterable[int]:
        inputs = self.input_lists.get(id)
        return self._get(id).inputs if inputs is None else inputs.now()

    def _consumers(self) -> dict[int, set[int]]:
        """For each transformation, the transformations that name it as an input."""
        consumers: dict[int, set[int]] = {}
        queue = deque(self.pipeline.registered)
        seen: set[int] = set()
        while queue:
            id = queue.popleft()
            if id in seen:
                continue
            seen.add(id)
            for input in self.pipeline[id].inputs:
                consumers.setdefault(input, set()).add(id)
                queue.append(input)
        return consumers

    def _upstream_to_merge_with(self, id: int) -> int | None:
        down = self._get(id)
        if not isinstance(down, OneInputTransformation) or not _is_process(down.operator):
            return None
        up = self._get(down.input)
        while _python_function(up) is None:
            if not (isinstance(up, Partition) and up.partitioner.ship is Ship.FORWARD):
                return None
            up = self._get(up.input)
        if len(self.consumers.get(up.id, ())) == 1 and _mergeable(up, down):
            return up.id
        return None

    def _merge(self, up_id: int, down_id: int) -> int:
        up, down = self._get(up_id), self._get(down_id)
        id = self.pipeline.new_id()
        self.merged[id] = replace(
            up,
            id=id,
            output_type=down.output_type,
            buffer_timeout=min(up.buffer_timeout, down.buffer_timeout),
            parallelism_configured=False,
        )
        self.parts[id] = (up_id, down_id)
        readers = self.consumers.get(down_id)
        if readers is not None:
            for reader in readers:
                self._redirect(reader, down_id, id)
            self.consumers[id] = readers
        return id

    def _redirect(self, reader_id: int, old: int, new: int) -> None:
        reader = self.pipeline[reader_id]
        if isinstance(reader, BroadcastStateTransformation | CacheTransformation):
            raise _not_redirected(reader, old)
        if isinstance(reader, Union | MultipleInputTransformation):
            if reader_id not in self.input_lists:
                self.input_lists[reader_id] = _InputList(reader.inputs)
            self.input_lists[reader_id].move_to_end(old, new)
        else:
            self.pipeline.update(reader_id, **reader.with_input(old, new))

    def _write_back(self, result: dict[int, None]) -> None:
        for id, inputs in self.input_lists.items():
            self.pipeline.update(id, input_list=inputs.now())
        pending = list(result)
        seen = set(pending)
        while pending:
            id = pending.pop()
            if id in self.parts:
                self.pipeline.add(self._whole(id), register=False)
            for input in self.pipeline[id].inputs:
                if input not in seen:
                    seen.add(input)
                    pending.append(input)
        self.pipeline.replace_registered(list(result))

    def _whole(self, id: int) -> Transformation:
        """The merged transformation ``id`` with the names, descriptions and operators of all its parts."""
        leaves = [self.pipeline[leaf] for leaf in self._leaves(id)]
        head, *others = [leaf.operator for leaf in leaves if isinstance(leaf, PhysicalTransformation)]
        chained: list[Operator] = list(head.chained)
        for operator in others:
            chained += [replace(operator, chained=()), *operator.chained]
        descriptions = [leaf.description for leaf in leaves if leaf.description is not None]
        changes: dict[str, Any] = {
            "name": ", ".join(leaf.name for leaf in leaves),
            "description": ", ".join(descriptions) if descriptions else None,
            "operator": replace(head, chained=tuple(chained)),
            "parts": tuple(leaf.id for leaf in leaves),
        }
        return replace(self.merged[id], **changes)

    def _leaves(self, id: int) -> list[int]:
        leaves: list[int] = []
        stack = [id]
        while stack:
            part = stack.pop()
            if part in self.parts:
                up, down = self.parts[part]
                stack += [down, up]
            else:
                leaves.append(part)
        return leaves


def _not_redirected(reader: Transformation, old: int) -> FlinkError:
    """PyFlink cannot give these another input: it knows no caches, and misses the inherited fields of its subclass."""
    if isinstance(reader, BroadcastStateTransformation):
        side = "regularInput" if reader.regular_input == old else "broadcastInput"
        message = f"java.lang.NoSuchFieldException: {side}"
    else:
        message = (
            f"Unsupported transformation: CacheTransformation{{id={reader.id}, name='{reader.name}', "
            f"outputType={reader.output_type}, parallelism={reader.parallelism}}}"
        )
    return FlinkError("java.lang.RuntimeException", message, operator=reader.name, location=reader.location)


class _InputList:
    """The inputs of a union while they are redirected: in order, with repetitions, each change in constant time."""

    def __init__(self, inputs: tuple[int, ...]) -> None:
        self._next = len(inputs)
        self._places = dict(enumerate(inputs))
        self._places_of: dict[int, deque[int]] = {}
        for place, input in self._places.items():
            self._places_of.setdefault(input, deque()).append(place)

    def move_to_end(self, old: int, new: int) -> None:
        """Take the first ``old`` out and put ``new`` at the end."""
        if places := self._places_of.get(old):
            del self._places[places.popleft()]
        self._places[self._next] = new
        self._places_of.setdefault(new, deque()).append(self._next)
        self._next += 1

    def now(self) -> tuple[int, ...]:
        return tuple(self._places.values())


def _is_process(operator: Operator) -> bool:
    return operator.python is PythonOperator.PROCESS


def _python_function(transformation: Transformation) -> PythonFunction | None:
    if isinstance(transformation, OneInputTransformation | TwoInputTransformation | BroadcastStateTransformation):
        operator = transformation.operator
        return operator if isinstance(operator, PythonFunction) else None
    return None


def _mergeable(up: Transformation, down: OneInputTransformation) -> bool:
    upper, lower = _python_function(up), _python_function(down)
    return (
        isinstance(up, OneInputTransformation | TwoInputTransformation)
        and upper is not None
        and lower is not None
        and upper.python in _MERGES_DOWNSTREAM
        and upper.thread_mode == lower.thread_mode
        and up.parallelism == down.parallelism
        and up.max_parallelism == down.max_parallelism
        and up.slot_sharing_group == down.slot_sharing_group
        and up.slot_resources == down.slot_resources
        and up.chaining is not ChainingStrategy.NEVER
        and down.chaining is ChainingStrategy.ALWAYS
    )
