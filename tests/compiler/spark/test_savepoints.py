"""The check of a savepoint and a program agrees with the restore: a law over generated pairs of programs."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, note, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from compat.check.findings import Fate, Report, Verdict
from compat.comparison import Comparison, decide
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.datastream.program import Program, start
from compat.execution.failures import Refused
from compat.execution.snapshots import checker, plan_of
from compat.plan.reading import from_plain
from compat.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

WORDS = [f"w{(i * i) % 11}" for i in range(100)]
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
_TYPES = {"long": Types.LONG(), "string": Types.STRING(), "pickled": None}


class Shape(Struct, frozen=True):
    """A program: numbers → [map] → count words by key → [sum by key].

    ``pin`` gives the counter the id that it has in the other version.
    """

    parallelism: int = 2
    max_parallelism: int | None = None
    source: str = "numbers"
    source_uid: bool = True
    map: str = "none"
    uid: str | None = "count"
    pin: bool = False
    state: str = "count"
    type: str = "long"
    second: str = "none"


SHAPES = st.builds(
    Shape,
    parallelism=st.integers(1, 3),
    max_parallelism=st.sampled_from([None, None, 128, 64]),
    source=st.sampled_from(["numbers", "numbers", "collection"]),
    source_uid=st.booleans(),
    map=st.sampled_from(["none", "plain", "uid", "spread"]),
    uid=st.sampled_from(["count", "count", None, "other"]),
    pin=st.booleans(),
    state=st.sampled_from(["count", "count", "number"]),
    type=st.sampled_from(["long", "long", "string", "pickled"]),
    second=st.sampled_from(["none", "none", "plain", "uid"]),
)


class Count(KeyedProcessFunction):
    """Counts, in a state of any type."""

    def __init__(self, name: str, type: str) -> None:
        self.name, self.type = name, type

    def open(self, runtime_context: Any) -> None:
        type_info = _TYPES[self.type] or Types.PICKLED_BYTE_ARRAY()
        self.count = runtime_context.get_state(ValueStateDescriptor(self.name, type_info))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = int(self.count.value() or 0) + 1
        self.count.update(str(count) if self.type == "string" else count)
        self.seen.put(WORDS[value], count)
        yield WORDS[value], count


def run(cluster: Cluster, shape: Shape, pinned: str | None = None, **options: Any) -> list[Any]:
    env = cluster.environment(shape.parallelism, plan_of=plan_of("job.py"), **options)
    if shape.max_parallelism is not None:
        env.set_max_parallelism(shape.max_parallelism)
    if shape.source == "collection":
        stream = env.from_collection(list(range(len(WORDS))), Types.LONG())
    else:
        source = NumberSequenceSource(0, len(WORDS) - 1)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    if shape.source_uid:
        stream = stream.uid("words")
    if shape.map != "none":
        stream = stream.map(lambda number: number, Types.LONG())
        stream = stream.uid("map") if shape.map == "uid" else stream
        stream = stream.rebalance() if shape.map == "spread" else stream
    keyed = stream.key_by(lambda number: WORDS[number], Types.STRING())
    counted = keyed.process(Count(shape.state, shape.type), PAIR).name("count")
    counted = counted if shape.uid is None else counted.uid(shape.uid)
    counted = counted.set_uid_hash(pinned) if shape.pin and pinned is not None else counted
    if shape.second != "none":
        counted = counted.key_by(lambda pair: pair[0], Types.STRING()).sum(1)
        counted = counted.uid("sum") if shape.second == "uid" else counted
    counted.print()
    cluster.lines.clear()
    env.execute("words")
    pairs = (line.rpartition("> ")[2].strip("()").split(",") for line in cluster.lines)
    return [(word, int(count)) for word, count in pairs]


def expected(shape: Shape) -> Counter[tuple[str, int]]:
    made = []
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for word in WORDS:
        counts[word] += 1
        sums[word] += counts[word]
        made.append((word, counts[word] if shape.second == "none" else sums[word]))
    return Counter(made)


def whole(report: Report) -> bool:
    """True if all state is restored and none starts empty."""
    dropped = any(finding.rule == "CMP401" for finding in report.findings)
    return not dropped and all(row.fate in (Fate.RESTORED, Fate.MIGRATED) for row in report.mapping)


def obey(folder: Path, old: Shape, new: Shape, allow: bool) -> Verdict:
    """Run OLD to a savepoint, and NEW from it: it must do what the check says."""
    cluster = Cluster(folder)
    try:
        first = run(cluster, old, epochs=2, epoch_records=20)
        master = cluster.last.master
        path = master.job.savepoint
        assert path is not None
        id = next(spec.id for _, spec in master.job.plan.operators() if spec.name.startswith("count"))
        check = checker("job.py", lambda text: None)
        common: dict[str, Any] = {"savepoint": path, "allow_non_restored": allow}
        verdicts: list[Verdict] = []

        def told(*arguments: Any) -> None:
            comparison = Comparison(old=path, new="job.py", allow_non_restored=allow)
            report = decide(from_plain(arguments[1]), from_plain(arguments[2]), comparison, {})
            verdicts.append(report.verdict)
            lost.append(not whole(report))
            check(*arguments)

        lost: list[bool] = []
        try:
            rest = run(cluster, new, pinned=id, check=told, **common)
        except Refused:
            assert verdicts == [Verdict.INCOMPATIBLE]
            return verdicts[0]
        assert verdicts[0] is not Verdict.INCOMPATIBLE
        if not lost[0]:
            assert Counter(first) + Counter(rest) == expected(new)
        return verdicts[0]
    finally:
        start(Program())


def one_edit(old: Shape, new: Shape, fields: set[str]) -> Shape:
    """OLD with some fields as NEW has them: most edits are small."""
    return replace(old, **{name: getattr(new, name) for name in fields})


EDITS = st.sets(st.sampled_from(sorted(set(Shape.__struct_fields__) - {"source"})), max_size=3)
_folders = itertools.count()


def _law(tmp_path: Path, old: Shape, new: Shape, fields: set[str], allow: bool) -> None:
    before, after = replace(old, pin=False), one_edit(old, new, fields)
    note(f"{before}\n{after}")
    event(obey(tmp_path / f"pair-{next(_folders)}", before, after, allow).value)


_SETTINGS = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@settings(_SETTINGS, max_examples=40)
@given(SHAPES, SHAPES, EDITS, st.booleans())
def test_a_restore_does_what_the_check_says(
    tmp_path: Path, old: Shape, new: Shape, fields: set[str], allow: bool
) -> None:
    _law(tmp_path, old, new, fields, allow)


@pytest.mark.slow
@settings(_SETTINGS, max_examples=300)
@given(SHAPES, SHAPES, EDITS, st.booleans())
def test_a_restore_does_what_the_check_says_of_many(
    tmp_path: Path, old: Shape, new: Shape, fields: set[str], allow: bool
) -> None:
    _law(tmp_path, old, new, fields, allow)


AUTO = Shape(uid=None, source_uid=True)


@pytest.mark.parametrize(
    ("old", "new", "allow", "verdict"),
    [
        (Shape(), Shape(parallelism=3), False, Verdict.COMPATIBLE),
        (Shape(), Shape(parallelism=1), False, Verdict.COMPATIBLE),
        (Shape(map="uid"), Shape(map="none"), False, Verdict.COMPATIBLE),
        (Shape(), Shape(map="uid"), False, Verdict.COMPATIBLE),
        (AUTO, replace(AUTO, map="spread", pin=True), False, Verdict.COMPATIBLE),
        (AUTO, replace(AUTO, map="spread"), False, Verdict.INCOMPATIBLE),
        (Shape(second="uid"), Shape(), False, Verdict.INCOMPATIBLE),
        (Shape(second="uid"), Shape(), True, Verdict.COMPATIBLE),
        (Shape(second="uid"), Shape(second="uid", parallelism=3), False, Verdict.COMPATIBLE),
        (Shape(), Shape(uid="other"), True, Verdict.COMPATIBLE),
        (Shape(), Shape(max_parallelism=64), False, Verdict.INCOMPATIBLE),
        (Shape(max_parallelism=64), Shape(), False, Verdict.COMPATIBLE),
        (Shape(), Shape(type="string"), False, Verdict.INCOMPATIBLE),
        (Shape(), Shape(state="number"), False, Verdict.INCOMPATIBLE),
    ],
)
def test_edits(tmp_path: Path, old: Shape, new: Shape, allow: bool, verdict: Verdict) -> None:
    assert obey(tmp_path, old, new, allow) is verdict
