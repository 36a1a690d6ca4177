"""The pipeline of a program's calls, before any graph: frozen transformations."""
