"""The ExecutionGraph: every vertex with its subtasks, the partitions between them, and their life cycles."""
