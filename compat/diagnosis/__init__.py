"""Explains why Flink did not restore a job: reads exceptions and logs with a catalogue of what Flink throws at a restore."""
