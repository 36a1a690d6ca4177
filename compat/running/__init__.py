"""Jobs that run: what a cluster of Flink tells of them, and where the last snapshot of their state lies.

``rest`` asks Flink's REST API for what changes nothing; ``kubernetes`` finds a job by its resource, with ``kubectl``; ``jobs``
finds the job that is meant, and ``old`` makes the OLD side of a check of it.
"""
