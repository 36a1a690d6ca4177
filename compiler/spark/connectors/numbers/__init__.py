"""Number sequences and generated records."""
