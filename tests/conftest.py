"""Settings of all tests."""

import os
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import settings

settings.register_profile("compat", deadline=None)  # a loaded machine is no failure
settings.load_profile("compat")


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of a bucket on an S3 server of this machine, which the environment says how to reach."""
    pytest.importorskip("obstore")
    pytest.importorskip("moto")
    from tests import object_store

    with object_store.serving() as address, patch.dict(os.environ, object_store.variables(address)):
        object_store.make_bucket(address, "bucket")
        forget_buckets()
        yield "s3://bucket"
    forget_buckets()


@pytest.fixture(scope="session")
def hadoop_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an HDFS on this machine."""
    pytest.importorskip("hdfs_native")
    from tests import hadoop

    with hadoop.running(tmp_path_factory.mktemp("hadoop")) as found:
        yield found.address


def forget_buckets() -> None:
    """Have buckets be looked for where the environment says now."""
    from compat.state.stores.objects import bucket_at

    bucket_at.cache_clear()
