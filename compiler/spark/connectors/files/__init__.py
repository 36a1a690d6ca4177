"""Files, as sources and as sinks."""
