"""What a deployment says of a job's state: the settings that it runs with, and where an upgrade takes its state from.

``files`` reads a resource of Flink's Kubernetes operator, or a configuration of Flink, from a file; ``resources`` knows the
operator's fields and defaults, ``risks`` what the way of an upgrade puts at risk.
"""
