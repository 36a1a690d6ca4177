"""The facts about a job's state in a deployment: its settings, and where an upgrade takes its state from.

``files`` reads a resource of Flink's Kubernetes operator, or a configuration of Flink, from a file; ``resources`` knows the
operator's fields and defaults, ``risks`` the risks of its upgrade mode.
"""
