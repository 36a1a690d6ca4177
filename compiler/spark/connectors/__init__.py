"""Sources and sinks, those of one system together, and what a source or sink of your own is made of."""
