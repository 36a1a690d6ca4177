"""Lines from a socket."""
