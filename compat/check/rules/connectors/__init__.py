"""Rules of family 8: sources and sinks."""
