"""The process that Spark forks its Python workers from: it has loaded the modules that each needs, so that none has to."""

from __future__ import annotations

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import compat.compiler.spark.driver.runner  # noqa: F401
from compat.compiler.spark.driver.archives import read_archives_when_they_change

if __name__ == "__main__":
    read_archives_when_they_change()
    manager()
