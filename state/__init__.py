"""State: the memory of a job, and its stored forms."""
