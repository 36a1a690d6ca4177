"""Builds programs that clients send, if the operator allows it: confined, in a separate process and folder."""
