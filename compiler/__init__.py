"""The graph stack: a DataStream program becomes transformations, a StreamGraph, a JobGraph, an ExecutionGraph.

Each layer is a package and imports only the ones that come after it in the program's way down::

    datastream -> transformations -> streamgraph -> jobgraph -> executiongraph -> spark
"""
