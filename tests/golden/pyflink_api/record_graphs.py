"""Writes down the graphs that PyFlink itself makes of the programs beside this file.

Run it with the Python that has PyFlink 1.20 and with ``JAVA_HOME`` set: ``python record_graphs.py > graphs-1.20.json``.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from pyflink.datastream import StreamExecutionEnvironment

PROGRAMS = Path(__file__).parent / "programs"


def nodes(graph: Any) -> list[dict[str, Any]]:
    """The nodes of a stream graph, by id."""
    return [
        {
            "id": node.getId(),
            "name": node.getOperatorName(),
            "parallelism": node.getParallelism(),
            "factory": node.getOperatorFactory().getClass().getSimpleName(),
            "chaining": node.getOperatorFactory().getChainingStrategy().toString(),
        }
        for node in sorted(graph.getStreamNodes().toArray(), key=lambda node: node.getId())
    ]


def vertices(job: Any) -> list[dict[str, Any]]:
    """The vertices of a job graph, each with the ids of its operators, those that end its chain first."""
    made = [
        {
            "name": vertex.getName(),
            "parallelism": vertex.getParallelism(),
            "operators": [str(pair.getGeneratedOperatorID()) for pair in vertex.getOperatorIDs().toArray()],
        }
        for vertex in job.getVerticesAsArray()
    ]
    return sorted(made, key=lambda vertex: (vertex["name"], vertex["operators"]))


def execute(self: StreamExecutionEnvironment, job_name: str | None = None) -> None:
    """Stands for ``env.execute``: prints the graphs of what was built."""
    interval = self.get_config().get_auto_watermark_interval()
    graph = self._generate_stream_graph(clear_transformations=True, job_name=job_name)
    print(json.dumps({"nodes": nodes(graph), "watermark_interval": interval, "vertices": vertices(graph.getJobGraph())}))


def main() -> None:
    """Record one program, or all of them, each in a process of its own: ids are counted in a process."""
    if len(sys.argv) > 1:
        warnings.simplefilter("ignore")
        StreamExecutionEnvironment.execute = execute
        runpy.run_path(sys.argv[1])
        return
    recorded = {}
    for program in sorted(PROGRAMS.glob("*.py")):
        made = subprocess.run([sys.executable, __file__, str(program)], capture_output=True, text=True, check=True)
        recorded[program.stem] = json.loads(made.stdout.splitlines()[-1])
    print(json.dumps(recorded, indent=1))


if __name__ == "__main__":
    main()
