"""State: what a job remembers, and where it is written down."""
