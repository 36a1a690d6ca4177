"""Which paths name folders of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.state.delta.errors import StoreError
from compat.state.stores.schemes import local_path


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("relative/folder", "relative/folder"),
        ("/absolute", "/absolute"),
        ("file:///absolute", "/absolute"),
        ("file:/absolute", "/absolute"),
        ("file://localhost/absolute", "/absolute"),
        ("FILE:///absolute", "/absolute"),
        ("a:b/c", "a:b/c"),
        ("C:/data", "C:/data"),
        ("folder/s3://x", "folder/s3:/x"),
    ],
)
def test_local_paths(given: str, found: str) -> None:
    assert local_path(given, "The store") == Path(found)


@pytest.mark.parametrize(
    "given",
    ["s3://bucket/x", "s3://bucket", "hdfs:///x", "hdfs:/x", "abfss://c@a.dfs.core.windows.net/x", "file://host/x"],
)
def test_other_storage_is_refused(given: str) -> None:
    with pytest.raises(StoreError, match=r"The store: .* is not on this machine's file system"):
        local_path(given, "The store")
