"""The settings of a cluster."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from compat.cluster.directories import Directories
from compat.cluster.retention import Retention


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a cluster. Times are in seconds.

    ``slots`` is their total number. A dispatcher without a sign of life leads for ``lease`` more seconds; a JobMaster or Spark
    may be silent for ``heartbeat_timeout``; ended jobs are kept for ``retention``. ``options`` are those of its Spark, at
    ``master``. ``directories`` are the defaults for the folders of jobs, ``restarts`` the default options of the restart
    strategy.
    """

    slots: int
    master: str
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    lease: float = 10.0
    heartbeat_timeout: float = 60.0
    retention: Retention = Retention()
    directories: Directories = Directories()
    restarts: dict[str, str] = msgspec.field(default_factory=dict)
