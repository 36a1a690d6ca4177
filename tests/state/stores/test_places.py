"""Places: what paths are on which storage; files here, in memory, and on an S3 server give the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from compat.state.delta.errors import StoreError
from compat.state.stores import objects
from compat.state.stores.objects import ObjectFiles, bucket_at
from compat.state.stores.places import LOCAL, Place, place_of
from compat.state.stores.schemes import is_remote, split_remote, why_no_place
from compat.state.stores.system import Entry


@pytest.fixture(params=["here", "in memory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "here":
        return place_of(tmp_path / "x")
    if request.param == "s3":
        return place_of(f"{request.getfixturevalue('s3')}/{tmp_path.name}")
    memory = pytest.importorskip("obstore.store").MemoryStore()
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
    pytest.importorskip("obstore")
    assert str(place_of(given)) == f"{bucket}/{key}".rstrip("/")
    with pytest.raises(TypeError, match="is no path of this machine"):
        open(place_of(given))  # noqa: SIM115 - it raises


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("ftp://host/x", "nor on a storage that is known.* s3://, gs://, abfss://"),
        ("s3:///x", "names no bucket"),
        ("s3:/x", "names no bucket"),
        ("s3://id:key@bucket/x", "It has a key or password in it"),
        ("abfss://c:secret@account/x", "It has a key or password in it"),
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
