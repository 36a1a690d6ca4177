"""Pairs of programs with the Table API: what keeps its state, what the check says of it, and what rules of SQL read."""

import json
import re

import pytest

from compat.comparison import Comparison, decide
from compat.loader.jvm.plans import plan_of
from compat.loader.shown import show_path
from tests.compat.loader.jvm.pyflink.pairs import KEPT, PAIRS, TABLES

_SAMPLE = ("inline_function_moved", "aggregate_exchanged", "pandas_aggregate", "mixed_state_renamed")


def check(pairs, build, folder):
    """Build all programs of pairs, each once, and check the pairs."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.old, pair.new)))
    paths = [folder / f"job{number}.py" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(TABLES + text)
    outcomes = build(paths)
    assert [outcome.crash for outcome in outcomes] == [None] * len(texts)
    plans = {
        text: plan_of(outcome.jobs[-1], path.name, show_path(str(path), path.name))
        for text, path, outcome in zip(texts, paths, outcomes, strict=True)
    }
    for pair in pairs:
        judged(pair, plans[pair.old], plans[pair.new])


def judged(pair, old, new):
    report = decide(old, new, Comparison("old.py", "new.py"), {})
    assert report.verdict.value == pair.verdict, pair.name
    assert set(pair.rules) <= {finding.rule for finding in report.findings}, pair.name
    named = {re.split(r"[\[(]", one.name)[0]: one for one in old.operators if one.has_state}
    assert named.keys() == pair.stateful.keys(), pair.name
    by_id = {one.id: one for one in new.operators}
    for name, becomes in pair.stateful.items():
        assert (named[name].id in by_id) == (becomes is KEPT), pair.name
        if pair.meaning:
            before, after = named[name], by_id[named[name].id]
            assert before.exec_node, pair.name
            assert after.exec_node, pair.name
            assert json.loads(before.exec_node)["type"].startswith(f"stream-exec-{_dashed(name)}_"), pair.name
            assert (before.exec_node, before.description) != (after.exec_node, after.description), pair.name
    for operator in old.operators:
        assert operator.source is not None, (pair.name, operator.label)
        assert operator.source.file.startswith("job"), operator.source
    assert [one.text.split()[:2] for one in new.statements][:1] == [["INSERT", "INTO"]]


def _dashed(name):
    """``group-aggregate`` for ``GroupAggregate``, as compiled plans spell it."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def test_a_sample(build, tmp_path):
    check([pair for pair in PAIRS if pair.name in _SAMPLE], build, tmp_path)


@pytest.mark.slow
def test_all(build, tmp_path):
    check(PAIRS, build, tmp_path)
