"""State that moves: a recipe says what becomes of what a new version cannot restore, and a savepoint is written by it."""
