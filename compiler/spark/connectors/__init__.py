"""Sources and sinks: a folder for each connector, which a line of ``table`` names."""
