"""The settings of a cluster."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from compat.cluster.directories import Directories
from compat.cluster.retention import Retention


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a cluster. Times are in seconds.

    ``slots`` are all it has. ``lease`` is how long a dispatcher that gives no sign of life still leads,
    ``heartbeat_timeout`` how long a JobMaster or Spark may give none, ``retention`` how long jobs are kept that have ended.
    ``options`` are those of its Spark, at ``master``. ``directories`` are where jobs write that say nothing of it, ``restarts``
    the options of the restart strategy of jobs that choose none.
    """

    slots: int
    master: str
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    lease: float = 10.0
    heartbeat_timeout: float = 60.0
    retention: Retention = Retention()
    directories: Directories = Directories()
    restarts: dict[str, str] = msgspec.field(default_factory=dict)
