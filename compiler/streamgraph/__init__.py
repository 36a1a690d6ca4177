"""The StreamGraph: one node an operator, one edge a stream, and the operator ids."""
