"""Chains of NEW that mix finished and running operators, and finished ones that read from others.

Flink: ``VertexFinishedStateChecker``. An operator that is new counts as running. Two programs do not show which operators will
have finished when the snapshot is taken. A source that ends beside others that do not is finished in all snapshots but the
first ones. If all sources end, one may end before another, or some of its subtasks before the rest; a warning says what that
means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.finishing import Basis, Finishing, Progress
from compat.check.mapping import Pair
from compat.check.pinning import uid_call
from compat.check.rule import Rule
from compat.plan.facts import Vertex


def _find(check: Check) -> Iterator[Finding]:
    graph = _Graph(check)
    for vertex in check.new.vertices:
        ways = [] if check.finishing is None else [check.finishing]
        if check.endings is not None:
            ways += check.endings.among(graph.old_ids(vertex))
        for progress in ways:
            finding = _Finished(check, graph, progress).finding(vertex)
            if finding is not None:
                yield finding
                break


@dataclass
class _Graph:
    """NEW's graph, and what its operators were in OLD."""

    check: Check

    @cached_property
    def taken(self) -> dict[str, Pair]:
        return {pair.new.id: pair for pair in self.check.mapping.pairs}

    @cached_property
    def vertices(self) -> dict[str, Vertex]:
        return {vertex.id: vertex for vertex in self.check.new.vertices}

    @cached_property
    def brought_back(self) -> frozenset[str]:
        """Operators of NEW, by id, that count as new only because their id moved, which another error reports and mends."""
        owners = (self.check.successor(old) for old in self.check.mapping.lost)
        return frozenset(new.id for new in owners if new is not None)

    def old_ids(self, vertex: Vertex) -> Iterator[str]:
        """The operators of OLD whose state a vertex takes over, and those that it reads from."""
        read = (self.vertices[source] for source, _ in vertex.inputs if source in self.vertices)
        for each in (vertex, *read):
            yield from (self.taken[id].old.id for id in each.operators if id in self.taken)


@dataclass
class _Finished:
    check: Check
    graph: _Graph
    progress: Finishing

    def finding(self, vertex: Vertex) -> Finding | None:
        """Flink's refusal of a vertex of NEW, as a finding."""
        members = {id: self.of_operator(id) for id in vertex.operators}
        if len(set(members.values())) > 1:
            brought_back = not self.graph.brought_back.isdisjoint(vertex.operators)
            return None if self.progress.basis is Basis.POSSIBLE and brought_back else self.mixed(members)
        now = next(iter(members.values()))
        for source, pointwise in dict.fromkeys(vertex.inputs):
            feeder = self.graph.vertices.get(source)
            before = None if feeder is None else self.of_vertex(feeder)
            if feeder is not None and before is not None and _refused(now, before, pointwise):
                return self.behind(vertex, now, feeder, before)
        return None

    @property
    def level(self) -> Level:
        return _LEVELS[self.progress.basis]

    @property
    def when(self) -> str:
        return _WHEN[self.progress.basis]

    @property
    def why(self) -> str:
        return _WHY[self.progress.basis]

    def of_operator(self, id: str) -> Progress:
        pair = self.graph.taken.get(id)
        return Progress.RUNNING if pair is None else self.progress.of(pair.old.id)

    def of_vertex(self, vertex: Vertex) -> Progress | None:
        """The progress of a vertex; None for a mixed chain, which has its own finding."""
        members = {self.of_operator(id) for id in vertex.operators}
        return members.pop() if len(members) == 1 else None

    @staticmethod
    def finished(progress: Progress) -> str:
        return "finished" if progress is Progress.FULLY else "finished in part of its subtasks"

    def mixed(self, members: dict[str, Progress]) -> Finding:
        running, done = (choose(members, key=lambda id: _order(members[id])) for choose in (min, max))
        culprit, finished = self.check.new.by_id[running], self.check.new.by_id[done]
        pair = self.graph.taken.get(done)
        new_here = " It is new in the chain." if running not in self.graph.taken else ""
        return self.check.finding(
            RULE,
            f"{culprit.label} is {members[running].value}, and {finished.label} of the same chain is {members[done].value}"
            if self.progress.certain
            else f"once {finished.label} has {self.finished(members[done])}, {culprit.label} cannot be in its chain",
            level=self.level,
            consequence=f"{self.when}Flink refuses the restore: a vertex cannot contain mixed operator finished state.",
            reason=f"{self.why}, and all operators of a chain finish together.{new_here}",
            old=None if pair is None else pair.old,
            new=culprit,
            fixes=(
                Fix(
                    text=f"Run {culprit.label} in a chain of its own (.start_new_chain()) that is not before a finished "
                    "one, or restore from a savepoint taken before the operators finished.",
                    code=".start_new_chain()",
                ),
            ),
        )

    def behind(self, vertex: Vertex, now: Progress, source: Vertex, before: Progress) -> Finding:
        head, feeder = self.check.new.by_id[vertex.operators[0]], self.check.new.by_id[source.operators[-1]]
        pair = self.graph.taken.get(head.id)
        return self.check.finding(
            RULE,
            f"{head.label} is {now.value}, and reads from {feeder.label}, which is {before.value}"
            if self.progress.certain
            else f"once {head.label} has {self.finished(now)}, it cannot read from {feeder.label}",
            level=self.level,
            consequence=f"{self.when}Flink refuses the restore: illegal modification of the job graph.",
            reason="Nothing may reach an operator that finished before the snapshot was taken; what feeds it has to be "
            "finished too.",
            old=None if pair is None else pair.old,
            new=head,
            fixes=(
                Fix(
                    text=f"Let {feeder.label} feed an operator of its own, keep the finished part as it was, or restore from a "
                    "savepoint taken before it finished.",
                    code=uid_call(head, self.check),
                ),
            ),
        )


_LEVELS = {Basis.RECORDED: Level.ERROR, Basis.EXPECTED: Level.UNKNOWN, Basis.POSSIBLE: Level.WARNING}
_WHEN = {
    Basis.RECORDED: "",
    Basis.EXPECTED: "If the snapshot is taken after that, ",
    Basis.POSSIBLE: "If the snapshot is taken after that and before the job has ended, ",
}
_WHY = {
    Basis.RECORDED: "The snapshot was taken after some subtasks had finished",
    Basis.EXPECTED: "It reads only from sources that end, beside others that do not",
    Basis.POSSIBLE: "What it reads from ends, and may do so before the rest of the job",
}


def _order(progress: Progress) -> int:
    return list(Progress).index(progress)


def _refused(now: Progress, before: Progress, pointwise: bool) -> bool:
    if now is Progress.FULLY:
        return before is not Progress.FULLY
    if now is Progress.PARTLY:
        return before is Progress.RUNNING if pointwise else before is not Progress.FULLY
    return False


RULE = Rule(
    id="CMP204",
    name="finished-operators",
    level=Level.ERROR,
    other_levels=(Level.UNKNOWN, Level.WARNING),
    when="unknown for two programs if some sources end and others do not, as it depends on the time of the snapshot; "
    "warning if all sources end, as few snapshots are taken when only some have ended",
    fate=Fate.REFUSED,
    summary="The topology of a partly finished job changed in a way that Flink refuses.",
    why="A checkpoint records which operators had finished. Flink cannot start a new operator before a finished one, or "
    "a chain of finished and running ones, from it.",
    old='bounded.map(f).uid("f")   # finished at the time of the checkpoint',
    new='bounded.map(extra).uid("extra").map(f).uid("f")',
    fix="Keep the finished part as it was, or restore from a savepoint taken before it finished.",
    find=_find,
)
