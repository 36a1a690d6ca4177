"""Rules of family 7: what queries mean."""
