"""State as tasks use it: keyed backends, timers, broadcast and operator state."""
