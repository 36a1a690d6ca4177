"""What went wrong when Flink restored a job: exceptions and logs, read with a catalogue of what Flink throws on the way."""
