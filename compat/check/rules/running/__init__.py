"""Rules of family 9: the check itself."""
