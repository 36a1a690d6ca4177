"""Jobs in SQL: the meaning of an operator's state, derived from the nodes of Flink's compiled plans.

Flink finds an operator's state by the operator's id and never asks whether the operator still computes the same. Here the nodes
of both versions are read into records (one module for each family) and compared. Every column is traced back to the tables, or
to the stateful operators before it.
"""
