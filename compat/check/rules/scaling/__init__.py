"""Rules of family 3: parallelism and key groups."""
