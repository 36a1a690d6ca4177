"""Moves state: a recipe says what happens to state that a new version cannot restore, and a savepoint is written by it."""
