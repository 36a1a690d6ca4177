"""File and message formats. Flink: ``pyflink.datastream.formats``."""
