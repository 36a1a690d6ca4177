"""Delta tables, as sources and as sinks."""
