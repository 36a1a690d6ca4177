"""The process that Spark forks its Python workers from: it loads the modules that all of them need, so that none has to."""

from __future__ import annotations

from compat.compiler.spark.driver.archives import leave_archive_of_installed, read_archives_when_they_change

if __name__ == "__main__":
    leave_archive_of_installed()
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    import compat.compiler.spark.driver.runner  # noqa: F401

    read_archives_when_they_change()
    manager()
