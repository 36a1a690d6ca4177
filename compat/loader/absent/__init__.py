"""Stand-ins for modules that are not installed and that building the job does not need."""
