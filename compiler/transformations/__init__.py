"""What a program's calls built, before any graph: frozen transformations in a pipeline."""
