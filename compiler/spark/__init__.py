"""The physical layer: a job runs as a sequence of epochs, each one Spark job that ends in one Delta commit."""
