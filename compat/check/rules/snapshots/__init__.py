"""Rules of family 5: what a savepoint or checkpoint holds."""
