"""Object stores: S3 and what speaks its language, Google's, Azure's; by obstore, which is what delta-rs uses too.

An object appears whole or not at all, a put can be made to fail where the name is taken, and there are no renames.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from compat.state.delta.errors import StoreError
from compat.state.stores.options import RETRIES, bucket_options, client_options, credentials_advice
from compat.state.stores.ranges import opened
from compat.state.stores.schemes import needs, split_remote
from compat.state.stores.system import Entry, FileSystem


class ObjectFiles(FileSystem):
    """The objects of a bucket; paths are whole addresses, ``s3://bucket/a/b``."""

    def __init__(self, bucket: str, store: Any) -> None:
        self._bucket, self._store = bucket, store

    @property
    def local(self) -> bool:
        return False

    def read(self, path: str) -> bytes:
        with self._telling(path):
            return bytes(self._store.get(_key(path)).bytes())

    def open(self, path: str) -> BinaryIO:
        size = self.size(path)
        if size is None:
            raise FileNotFoundError(f"{path} is not there")
        return opened(functools.partial(self.part, path), size)

    def part(self, path: str, start: int, length: int) -> bytes:
        """A range of an object's bytes."""
        with self._telling(path):
            return bytes(self._store.get_range(_key(path), start=start, length=length))

    def write(self, path: str, data: bytes) -> None:
        with self._telling(path):
            self._store.put(_key(path), data)

    def create(self, path: str, data: bytes) -> bool:
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._telling(path):
            try:
                self._store.put(_key(path), data, mode="create")
            except (AlreadyExistsError, PreconditionError):
                # The library retries if an answer is lost, so an existing file may be its own.
                return bytes(self._store.get(_key(path)).bytes()) == data
        return True

    def upload(self, file: BinaryIO, path: str) -> None:
        file.seek(0)
        with self._telling(path):
            self._store.put(_key(path), file)

    def size(self, path: str) -> int | None:
        key = _key(path)
        if not key:
            return None
        try:
            with self._telling(path):
                return int(self._store.head(key)["size"])
        except FileNotFoundError:
            return None

    def modified(self, path: str) -> float:
        with self._telling(path):
            return float(self._store.head(_key(path))["last_modified"].timestamp())

    def exists(self, path: str) -> bool:
        return self.size(path) is not None or next(self._objects(path, 1), None) is not None

    def list(self, folder: str) -> list[Entry]:
        with self._telling(folder):
            found = self._store.list_with_delimiter(_key(folder) or None)
        folders = [Entry(os.path.basename(name.rstrip("/")), None) for name in found["common_prefixes"]]
        files = [
            Entry(os.path.basename(each["path"]), int(each["size"]), each["last_modified"].timestamp())
            for each in found["objects"]
        ]
        return sorted((*folders, *files), key=lambda entry: entry.name)

    def walk(self, folder: str) -> Iterator[str]:
        return (f"{self._bucket}/{key}" for key in self._objects(folder))

    def delete(self, path: str) -> None:
        try:
            with self._telling(path):
                self._store.delete(_key(path))
        except FileNotFoundError:
            return

    def remove(self, folder: str) -> None:
        found = list(self._objects(folder))
        with self._telling(folder):
            for start in range(0, len(found), 1000):
                self._store.delete(found[start : start + 1000])

    def copy(self, source: str, target: str) -> None:
        with self._telling(source):
            self._store.copy(_key(source), _key(target))

    def move(self, source: str, target: str) -> None:
        self.copy(source, target)
        self.delete(source)

    def _objects(self, folder: str, batch: int = 1000) -> Iterator[str]:
        with self._telling(folder):
            for found in self._store.list(_key(folder) or None, chunk_size=batch):
                yield from (str(each["path"]) for each in found)

    @contextmanager
    def _telling(self, path: str) -> Iterator[None]:
        """Errors of the library as those of a file system, in one line, and without what may be secret."""
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            if _is_of_bucket(str(error)):
                raise OSError(f"there is no bucket {self._bucket}: make it, or give another") from None
            raise FileNotFoundError(f"{path} is not there") from None
        except BaseError as error:
            raise OSError(_told(str(error), self._bucket)) from None


@functools.lru_cache(maxsize=64)
def bucket_at(bucket: str) -> ObjectFiles:
    """The file system of a bucket, with credentials of the environment. Raises StoreError if the library is missing."""
    try:
        from obstore.store import from_url
    except ModuleNotFoundError as error:
        raise needs(error.name, bucket) from error
    where: Any = bucket_options(bucket)
    how: Any = client_options(bucket)
    try:
        return ObjectFiles(bucket, from_url(bucket, config=where, client_options=how, retry_config=RETRIES))
    except Exception as error:  # of configuration: the library has several kinds
        raise StoreError(f"{bucket} cannot be reached: {_told(str(error), bucket)}.") from None


def _key(path: str) -> str:
    return split_remote(path)[1]


def _is_of_bucket(text: str) -> bool:
    return any(sign in text for sign in ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist"))


def _told(text: str, bucket: str) -> str:
    """What went wrong, in one line. Addresses are cut where their parameters begin: these may be signatures."""
    if _is_of_bucket(text):
        return f"there is no bucket {bucket}: make it, or give another"
    if "169.254.169.254" in text or "metadata.google.internal" in text:
        return f"there are no credentials for {bucket}: {credentials_advice(bucket)}"
    line = " ".join(word.partition("?")[0] for word in text.split("Debug source")[0].split())[:400]
    refused = ("403 Forbidden", "401 Unauthorized", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch")
    return f"{line}. Look at the credentials: {credentials_advice(bucket)}" if any(s in text for s in refused) else line
