"""Rules of family 2: chains, loops, and what finished or waits between operators."""
