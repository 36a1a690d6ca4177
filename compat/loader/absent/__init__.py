"""Stand-ins for modules that are not installed, where building the job does not need them."""
