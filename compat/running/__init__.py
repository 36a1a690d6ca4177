"""Running jobs: the information from their Flink cluster, and the place of the latest snapshot of their state.

``rest`` sends read-only requests to Flink's REST API; ``kubernetes`` finds a job by its resource, with ``kubectl``;
``jobs``
finds the wanted job, and ``old`` makes it the OLD side of a check.
"""
