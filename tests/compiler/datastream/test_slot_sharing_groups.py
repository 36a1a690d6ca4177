"""Which resources of a slot sharing group count where a program gives them more than once, as PyFlink 2.3 does."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from compat.compiler.datastream import SlotSharingGroup, StreamExecutionEnvironment
from compat.compiler.errors import ProgramError
from compat.compiler.streamgraph.generator import generate
from tests import needs
from tests.needs import Need

REFUSED = "The slot sharing group g has been configured with two different resource spec."
PROGRAMS: dict[str, tuple[str, float | str | None]] = {
    "registered twice": ("env.register_slot_sharing_group(g(1.0)); env.register_slot_sharing_group(g(2.0))", 2.0),
    "registered without resources": (
        "env.register_slot_sharing_group(g(1.0)); env.register_slot_sharing_group(G.builder('g').build())",
        1.0,
    ),
    "registered and used by nobody": ("env.register_slot_sharing_group(g(64.0))", 64.0),
    "registered and another operator's": (
        "env.register_slot_sharing_group(g(1.0)); stream.slot_sharing_group(g(2.0))",
        REFUSED,
    ),
    "registered after an operator": (
        "stream.slot_sharing_group(g(2.0)); env.register_slot_sharing_group(g(1.0))",
        REFUSED,
    ),
    "two operators": (
        "stream.slot_sharing_group(g(1.0)); stream = stream.map(same).slot_sharing_group(g(2.0))",
        REFUSED,
    ),
    "two that agree": ("stream.slot_sharing_group(g(1.0)); stream = stream.map(same).slot_sharing_group(g(1.0))", 1.0),
    "an operator twice": ("stream.slot_sharing_group(g(1.0)); stream.slot_sharing_group(g(2.0))", 2.0),
    "an operator that is in another one": ("stream.slot_sharing_group(g(1.0)); stream.slot_sharing_group('h')", None),
}
"""What each does with a stream, and the cores of the group in the graph; or what it is refused with."""

ASKING = """
import json, sys
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.slot_sharing_group import SlotSharingGroup as G
told = {}
for name, program in json.loads(sys.argv[1]).items():
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1]).map(lambda n: n)
    space = {"env": env, "stream": stream, "G": G, "same": lambda n: n}
    space["g"] = lambda cores: G.builder("g").set_cpu_cores(cores).set_task_heap_memory_mb(1).build()
    exec(program, space)
    space["stream"].print()
    try:
        graph = env._j_stream_execution_environment.getStreamGraph()
        found = graph.getSlotSharingGroupResource("g")
        told[name] = float(found.get().getCpuCores().getValue()) if found.isPresent() else None
    except Exception as error:
        told[name] = next(line.partition("Exception: ")[2] for line in str(error).splitlines() if "Exception: " in line)
print(json.dumps(told))
"""


@pytest.fixture
def environment(recorder: Any) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_counts(environment: StreamExecutionEnvironment, name: str) -> None:
    program, expected = PROGRAMS[name]

    def group(cores: float) -> SlotSharingGroup:
        return SlotSharingGroup.builder("g").set_cpu_cores(cores).set_task_heap_memory_mb(1).build()

    stream = environment.from_collection([1]).map(lambda n: n)
    space: dict[str, Any] = {
        "env": environment,
        "stream": stream,
        "G": SlotSharingGroup,
        "same": lambda n: n,
        "g": group,
    }
    exec(program, space)
    space["stream"].print()
    job = environment._job("job", attached=True, collect=None)
    if isinstance(expected, str):
        with pytest.raises(ProgramError) as refused:
            generate(job)
        assert (str(refused.value), refused.value.stage) == (expected, "streamGraph")
        return
    found = generate(job).slot_resources.get("g")
    assert (None if found is None else found.spec.cpu_cores) == expected


def test_what_counts_in_pyflink() -> None:
    python = os.environ.get("COMPAT_PYFLINK")
    if python is None:
        needs.without(Need.PYFLINK)
    programs = json.dumps({name: program for name, (program, _) in PROGRAMS.items()})
    asked = subprocess.run([python, "-c", ASKING, programs], capture_output=True, text=True, timeout=300, check=True)
    told = json.loads(asked.stdout.splitlines()[-1])
    assert told == {name: expected for name, (_, expected) in PROGRAMS.items()}
