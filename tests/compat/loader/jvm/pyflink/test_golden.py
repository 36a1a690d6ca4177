"""Programs that PyFlink itself builds have the operators and ids that were seen in real jobs, and what our compiler says."""

import gzip
import json
import re
from pathlib import Path

import pytest

from compat.loader.inputs import LoadOptions, load, opened
from compat.loader.jvm.plans import plan_of
from compat.loader.jvm.pyflink.proof import differences

GOLDEN = Path(__file__).parents[4] / "golden" / "pyflink-2.3"
PARALLELISM = {"parallelism.default": "2"}
_NUMBER = re.compile(r"\$?\d+(?=[\]*])")
_SAMPLE = ("keyed_all_states", "event_time_windows", "union_streams", "file_sink_no_uid", "collect_results")
_WITHOUT = ("kafka_pipeline",)
"""Programs that need a jar which PyFlink does not bring along."""

_NOT_TOLD = ("broadcast_state", "file_sink_no_uid", "collect_results")
"""Programs with operators of which one of the two tells more: what a broadcast function keeps, what sinks keep inside."""


def records(file):
    with gzip.open(GOLDEN / f"{file}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def operators(names):
    """Ids and names, without the numbers that the planner's counters give."""
    return {id: _NUMBER.sub("N", name) for id, name in names}


def seen(record):
    jobs = record["expected"].get("jobs", [])
    graphs = [job["stream_graph"]["nodes"] for job in jobs if not job.get("hash_error")]
    return [operators((node["hash"], node["name"]) for node in nodes) for nodes in graphs]


def submitted(outcome):
    return [operators((node.generated_id, node.name) for node in job.nodes) for job in outcome.jobs]


@pytest.mark.slow
def test_the_examples_of_pyflink_with_the_table_api(pyflink, build):
    table = records("table_examples")
    paths = [pyflink.folder.parent / (one["script"].replace(".", "/") + ".py") for one in table]
    outcomes = build(paths, PARALLELISM)
    assert [outcome.crash for outcome in outcomes] == [None] * len(table)
    for record, outcome in zip(table, outcomes, strict=True):
        assert submitted(outcome) == seen(record), record["name"]
        for job in outcome.jobs:
            assert plan_of(job, record["name"]).language == "python"


def _programs(build, names):
    known = {one["name"]: one for one in records("programs")}
    names = [name for name in known if name not in _WITHOUT] if names is None else names
    paths = [GOLDEN / "programs" / f"{name}.py" for name in names]
    for name, path, outcome in zip(names, paths, build(paths, PARALLELISM), strict=True):
        assert submitted(outcome) == seen(known[name]), name
        assert (outcome.crash is None) == ("error" not in known[name]["expected"] and not _refused(known[name])), name
        if outcome.crash is None:
            _as_our_compiler_says(name, path, outcome)


def _refused(record):
    return any(job.get("hash_error") for job in record["expected"].get("jobs", []))


def _as_our_compiler_says(name, path, outcome):
    with opened(str(path)) as given:
        ours = load(given, LoadOptions(options=PARALLELISM))
    real = [plan_of(job, str(path)) for job in outcome.jobs]
    assert list(differences(ours, real)) == [], name
    for mine, flinks in zip(ours, real, strict=True):
        told = {one.id: one for one in flinks.operators}
        for one in mine.operators:
            assert one.source.line == told[one.id].source.line, (name, one.label)
            assert [part.name for part in one.merged] == [part.name for part in told[one.id].merged], (name, one.label)
            if name not in _NOT_TOLD:
                assert states(one) == states(told[one.id]), (name, one.label)


def states(operator):
    return {
        one.name: (
            one.kind,
            one.scope,
            one.type,
            one.key_type,
            one.namespace_type,
            one.ttl,
            one.source and one.source.line,
        )
        for one in operator.states
    }


def test_a_sample_of_programs_of_the_datastream_api(build):
    _programs(build, _SAMPLE)


@pytest.mark.slow
def test_programs_of_the_datastream_api(build):
    _programs(build, None)
