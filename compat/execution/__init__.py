"""Running programs on Spark: in this process, with what happens told as lines or as JSON."""
