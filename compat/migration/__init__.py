"""State that moves: a recipe says what happens to what a new version cannot restore, and a savepoint is written by it."""
