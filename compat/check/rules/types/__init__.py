"""Rules of family 4: states, their types, and what functions do with them."""
