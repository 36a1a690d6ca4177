"""What runs on a worker: hosts, subtasks, and what flows between them."""
