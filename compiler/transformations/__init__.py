"""The pipeline that a program's calls built, before any graph: frozen transformations."""
