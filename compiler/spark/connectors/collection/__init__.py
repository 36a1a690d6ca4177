"""Collections of the program."""
