"""Rules of family 1: which operator of NEW takes which state."""
