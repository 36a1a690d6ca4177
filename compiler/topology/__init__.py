"""Topology files: a DataStream program as data, in no programming language.

A topology is a JSON object ``{"name", "env", "ops"}``: the job's settings and the API calls in program order. It is a second
way to make a job, beside :mod:`compat.compiler.datastream`, with the names and defaults of Flink's Java API.
"""

from compat.compiler.topology.build import build_job

__all__ = ["build_job"]
