"""The driver of a job: its master, the coordination of checkpoints and sources, restores and restarts."""
