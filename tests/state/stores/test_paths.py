"""Places: what paths are on which storage; files here, in memory, on an S3 server and on HDFS give the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from compat.state.delta.errors import StoreError
from compat.state.stores import objects
from compat.state.stores.hdfs import HadoopFiles, hadoop_at
from compat.state.stores.objects import ObjectFiles, bucket_at
from compat.state.stores.paths import LOCAL, Place, place_of
from compat.state.stores.schemes import is_remote, split_remote, why_no_place
from compat.state.stores.system import Entry
from tests.hadoop.double import NameNode

_SERVED = ("s3", "gs", "abfss", "hdfs")


@pytest.fixture(
    params=["here", "in memory", "s3", "gs", "hdfs double"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("abfss", "hdfs")]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "here":
        return place_of(tmp_path / "x")
    if request.param in _SERVED:
        return place_of(f"{request.getfixturevalue(request.param)}/{tmp_path.name}")
    if request.param == "hdfs double":
        return Place(HadoopFiles("hdfs://double:8020", NameNode), "hdfs://double:8020/x")
    memory = MemoryStore()
    return Place(ObjectFiles("s3://memory", memory), "s3://memory/x")


def test_files(place: Place) -> None:
    file = place / "a b" / "50%=ä.txt"
    assert (file.size(), file.exists(), place.exists(), place.list(), list(place.walk())) == (
        None,
        False,
        False,
        [],
        [],
    )
    file.write(b"one\ntwo\nthree")
    assert (file.size(), file.exists(), file.name, file.parent.name) == (13, True, "50%=ä.txt", "a b")
    assert (place.exists(), place.size(), (place / "a").exists()) == (True, None, False)
    assert file.read() == b"one\ntwo\nthree"
    file.write(b"four\nfive")
    with file.open() as opened:
        assert list(opened) == [b"four\n", b"five"]
        assert opened.seek(-4, 2) == 5
        assert opened.read(2) == b"fi"
        opened.seek(0)
        assert opened.readline() == b"four\n"
        assert opened.read() == b"five"
    assert [(entry.name, entry.size) for entry in place.list()] == [("a b", None)]
    assert [(entry.name, entry.size) for entry in file.parent.list()] == [("50%=ä.txt", 9)]
    assert list(map(str, place.walk())) == [str(file)]
    assert file.modified() > 1_500_000_000


def test_a_name_is_taken_once(place: Place) -> None:
    file = place / "lease"
    assert [file.create(b"first"), file.create(b"second")] == [True, False]
    assert file.read() == b"first"
    file.delete()
    file.delete()
    assert file.create(b"third")


def test_moves_copies_uploads_and_removal(place: Place, tmp_path: Path) -> None:
    source, target = place / "from", place / "to"
    source.write(b"data")
    target.write(b"old")
    source.move(target)
    assert (source.exists(), target.read()) == (False, b"data")
    with pytest.raises(FileNotFoundError):
        source.move(target)
    place.system.copy(str(target), str(source))
    assert source.read() == b"data"
    (tmp_path / "local").write_bytes(b"x" * 100_000)
    with open(tmp_path / "local", "rb") as file:
        file.read(5)
        (place / "deep" / "up").upload(file)
    assert (place / "deep" / "up").size() == 100_000
    place.remove()
    assert not place.exists()
    place.remove()


def test_what_is_not_there(place: Place) -> None:
    (place / "file").write(b"")
    assert (place / "file").size() == 0
    for call in (Place.read, Place.open, Place.modified):
        with pytest.raises(FileNotFoundError):
            call(place / "gone")


def test_a_bucket_that_is_not_there(s3: str) -> None:
    gone = place_of("s3://no-such-bucket/x")
    for call in (Place.list, Place.exists, lambda place: place.write(b""), lambda place: place.create(b"")):
        with pytest.raises(OSError, match=r"^there is no bucket s3://no-such-bucket: make it, or give another$"):
            call(gone)


@pytest.mark.parametrize(
    ("given", "bucket", "key"),
    [
        ("s3://bucket/a/b/", "s3://bucket", "a/b"),
        ("s3a://bucket/a", "s3://bucket", "a"),
        ("S3P://bucket", "s3://bucket", ""),
        ("gs://bucket/x", "gs://bucket", "x"),
        ("abfss://c@account.dfs.core.windows.net/x", "abfss://c@account.dfs.core.windows.net", "x"),
    ],
)
def test_addresses(given: str, bucket: str, key: str) -> None:
    assert why_no_place(given) is None
    assert is_remote(given)
    assert split_remote(given) == (bucket, key)
    assert str(place_of(given)) == f"{bucket}/{key}".rstrip("/")
    with pytest.raises(TypeError, match="is no path of this machine"):
        open(place_of(given))  # noqa: SIM115 - it raises


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("ftp://host/x", "nor on a storage that is known.* s3://, gs://, abfss://, hdfs://"),
        ("s3:///x", "names no bucket"),
        ("s3:/x", "names no bucket"),
        ("s3://id:key@bucket/x", "It has a key or password in it"),
        ("abfss://c:secret@account/x", "It has a key or password in it"),
        ("hdfs:///x", r"names no name node.* write hdfs://HOST:PORT/FOLDER, or have HADOOP_CONF_DIR"),
        ("hdfs:/x", "names no name node"),
        ("hdfs://me@host:8020/x", "names a user: give the name by HADOOP_USER_NAME"),
    ],
)
def test_addresses_of_nothing(given: str, told: str) -> None:
    with pytest.raises(StoreError, match=f"The store: .*{told}"):
        place_of(given, "The store")


def test_paths_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of("x").absolute() == Place(LOCAL, str(tmp_path / "x"))
    assert place_of(f"file://{tmp_path}") == place_of(tmp_path)
    assert LOCAL.list(str(tmp_path)) == []
    (tmp_path / "x").mkdir()
    assert place_of(tmp_path).list() == [Entry("x", None)]


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket_at.cache_clear()
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(
        StoreError, match=r"s3://bucket is not on .* needs obstore.*pip install 'stream-compat\[stores\]'"
    ):
        place_of("s3://bucket/x")
    bucket_at.cache_clear()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 5s - HTTP error",
            "there are no credentials for s3://b: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_ENDPOINT_URL",
        ),
        (
            "Error performing GET https://b.s3.amazonaws.com/x?X-Amz-Signature=abc in 1ms - 403 Forbidden: <Error/>",
            "Error performing GET https://b.s3.amazonaws.com/x in 1ms - 403 Forbidden: <Error/>. Look at the credentials: set",
        ),
        ("Server error\n  of two lines\n\nDebug source:\nGeneric { token: 1 }", "Server error of two lines"),
        ("404: <Code>NoSuchBucket</Code>", "there is no bucket s3://b: make it, or give another"),
    ],
)
def test_errors_are_one_line_without_secrets(said: str, told: str) -> None:
    assert objects._told(said, "s3://b").startswith(told)
    assert "\n" not in objects._told(said, "s3://b")
    assert "abc" not in objects._told(said, "s3://b")


def configure(folder: Path, **properties: str) -> None:
    """Hadoop's configuration: a file for each word before an underscore."""
    for name, value in properties.items():
        file, _, key = name.partition("_")
        text = f"<property><name>{key.replace('_', '.')}</name><value>{value}</value></property>"
        (folder / f"{file}-site.xml").write_text(f"<configuration>{text}</configuration>")


@pytest.mark.parametrize(
    ("given", "properties", "found"),
    [
        ("hdfs://nn:9000/a/b/", {}, "hdfs://nn:9000/a/b"),
        ("HDFS://nn/a", {}, "hdfs://nn:8020/a"),
        ("hdfs:///a", {"core_fs_defaultFS": "hdfs://nn:9000/"}, "hdfs://nn:9000/a"),
        ("hdfs:/a", {"core_fs_defaultFS": "hdfs://nn"}, "hdfs://nn:8020/a"),
        ("hdfs://ha/a", {"hdfs_dfs_nameservices": "other, ha"}, "hdfs://ha/a"),
        ("hdfs:///a", {"core_fs_defaultFS": "hdfs://ha", "hdfs_dfs_nameservices": "ha"}, "hdfs://ha/a"),
    ],
)
def test_addresses_of_hdfs(
    given: str, properties: dict[str, str], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    configure(tmp_path, **properties)
    assert (why_no_place(given), is_remote(given)) == (None, True)
    bucket, key = split_remote(given)
    assert f"{bucket}/{key}" == found


@pytest.mark.parametrize("content", ["<configuration/>", "<configuration", "", None])
def test_a_configuration_without_a_name_node(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.setenv("HADOOP_HOME", str(tmp_path))
    (tmp_path / "etc" / "hadoop").mkdir(parents=True)
    if content is not None:
        (tmp_path / "etc" / "hadoop" / "core-site.xml").write_text(content)
    assert "names no name node" in str(why_no_place("hdfs:///a"))
    configure(tmp_path / "etc" / "hadoop", core_fs_defaultFS="s3a://bucket")
    assert "names no name node" in str(why_no_place("hdfs:///a"))
    configure(tmp_path / "etc" / "hadoop", core_fs_defaultFS="hdfs://nn:1")
    assert split_remote("hdfs:///a") == ("hdfs://nn:1", "a")


def test_hdfs_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    hadoop_at.cache_clear()
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(StoreError, match=r"hdfs://nn:1 is not on .* needs hdfs_native.*'stream-compat\[stores\]'"):
        place_of("hdfs://nn:1/x")
    hadoop_at.cache_clear()


def test_a_name_node_that_is_not_there() -> None:
    with pytest.raises(OSError, match=r"Connection refused \(hdfs://127.0.0.1:9\)"):
        place_of("hdfs://127.0.0.1:9/x").list()


def test_a_file_on_hdfs_is_whole_or_not_there() -> None:
    files = HadoopFiles("hdfs://double:8020", NameNode)
    place = Place(files, "hdfs://double:8020/x")
    (place / "file").write(b"old")
    files._client.full = True
    for write in (Place.write, Place.create):
        with pytest.raises(
            OSError, match=r"^could only be written to 0 of the 1 minReplication nodes\. \(hdfs://double"
        ):
            write(place / "file", b"new and longer")
    assert ([entry.name for entry in place.list()], (place / "file").read()) == (["file"], b"old")


def test_each_process_has_a_client_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    files = HadoopFiles("hdfs://double:8020", NameNode)
    own = files._client
    assert files._client is own
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert files._client is not own
