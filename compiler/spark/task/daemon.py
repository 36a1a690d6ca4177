"""What Spark forks its Python workers from: it has loaded what each of them needs, so that none begins with that."""

from __future__ import annotations

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import compat.compiler.spark.driver.runner  # noqa: F401

if __name__ == "__main__":
    manager()
