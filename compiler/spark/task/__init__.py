"""The part that runs on a worker: hosts, subtasks, and the elements that flow between them."""
