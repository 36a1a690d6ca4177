"""The interfaces between connectors, state, operators, tasks and the driver: records, and their metadata."""
