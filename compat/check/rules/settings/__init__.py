"""Rules of family 6: options and versions."""
