"""The texts of the rules, one module a family."""
