"""Time to compile a job, for each operator, over sizes from 10 to 100,000.

    python tests/benchmarks/bench_plan.py [--flink PYTHON]

Prints microseconds of processor time for each operator: from the topology to the ExecutionGraph, and with the plan written as
JSON. Equal numbers in a column mean linear time. With `--flink`, the path of a Python that has PyFlink and a JVM, the same
chains are built there (StreamGraph and JobGraph, warm), up to the size that Flink's recursion allows.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from compat.compiler.driver import compile_job
from compat.compiler.topology.build import build_job
from compat.plan.encode import encode
from compat.plan.writing import dump

SIZES = (10, 100, 1_000, 10_000, 100_000)
WIDTH = 5
FLINK = """
import sys, time
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
stream = env.from_collection([1])
for _ in range(int(sys.argv[1]) - 2):
    stream = stream.map(lambda x: x)
stream.print()
java = env._j_stream_execution_environment
times, end = [], time.perf_counter() + 20
while time.perf_counter() < end or len(times) < 20:
    started = time.perf_counter()
    java.getStreamGraph(False).getJobGraph()
    times.append(time.perf_counter() - started)
warm = sorted(times[len(times) // 2 :])
print(warm[len(warm) // 2])
"""


def chain(size: int) -> Iterator[dict[str, Any]]:
    """A source, maps, a sink: one chain."""
    yield {"id": "n0", "kind": "source"}
    for number in range(1, size - 1):
        yield {"id": f"n{number}", "kind": "map", "inputs": [f"n{number - 1}"]}
    yield {"id": f"n{size - 1}", "kind": "sink", "inputs": [f"n{size - 2}"]}


def keyed(size: int) -> Iterator[dict[str, Any]]:
    """As a chain, but every map works on a keyed stream: no operator is chained to the one before it."""
    yield {"id": "n0", "kind": "source"}
    for number in range(1, size - 1):
        yield {"id": f"k{number}", "kind": "key_by", "inputs": [f"n{number - 1}"]}
        yield {"id": f"n{number}", "kind": "process", "inputs": [f"k{number}"]}
    yield {"id": "end", "kind": "sink", "inputs": [f"n{size - 2}"]}


def layered(size: int) -> Iterator[dict[str, Any]]:
    """Layers of a few maps; each reads the union of two of the layer before."""
    yield {"id": "n0", "kind": "source"}
    last = ["n0"] * WIDTH
    for layer in range((size - 2) // WIDTH):
        names = [f"l{layer}-{place}" for place in range(WIDTH)]
        for place, name in enumerate(names):
            left, right = last[place], last[(place + 1) % WIDTH]
            if left == right:
                yield {"id": name, "kind": "map", "inputs": [left]}
                continue
            yield {"id": f"u-{name}", "kind": "union", "inputs": [left, right]}
            yield {"id": name, "kind": "map", "inputs": [f"u-{name}"]}
        last = names
    yield {"id": "all", "kind": "union", "inputs": list(dict.fromkeys(last)) * (2 if len(set(last)) == 1 else 1)}
    yield {"id": "end", "kind": "sink", "inputs": ["all"]}


SHAPES: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {"chain": chain, "keyed": keyed, "layered": layered}


def microseconds(work: Callable[[], object], size: int) -> float:
    """The median of some rounds, for each operator; fewer rounds for the large ones."""
    times = []
    for _ in range(5 if size <= 10_000 else 3):
        gc.collect()
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times) / size * 1e6


def main() -> None:
    for name, shape in SHAPES.items():
        for size in SIZES:
            spec = {"name": name, "env": {"parallelism": 2}, "ops": list(shape(size))}
            graphs = microseconds(lambda spec=spec: compile_job(build_job(spec)), size)
            written = microseconds(lambda spec=spec: dump(encode(compile_job(build_job(spec)))), size)
            print(
                f"{name:8} {size:7,} operators: graphs {graphs:6.1f} us, plan as JSON {written:6.1f} us each",
                flush=True,
            )
    if "--flink" in sys.argv:
        python = sys.argv[sys.argv.index("--flink") + 1]
        for size in (10, 100, 1_000):
            result = subprocess.run([python, "-c", FLINK, str(size)], capture_output=True, text=True, check=True)
            flink = float(json.loads(result.stdout.split()[-1]))
            spec = {"name": "chain", "env": {"parallelism": 1}, "ops": list(chain(size))}
            ours = microseconds(lambda spec=spec: compile_job(build_job(spec)), size) * size / 1e6
            print(
                f"chain of {size:,}: Flink {flink * 1000:.1f} ms, ours {ours * 1000:.1f} ms, ratio {flink / ours:.2f}"
            )


if __name__ == "__main__":
    main()
