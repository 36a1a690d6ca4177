"""Running programs on Spark: in this process, with progress shown as lines or as JSON."""
