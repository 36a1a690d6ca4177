"""Settings of all tests."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings

from tests import needs, sampling

settings.register_profile("compat", deadline=None)  # a loaded machine is no failure
settings.load_profile("compat")

SHARING = ("tests/compat/pairs/",)
"""Folders with a fixture of the session that takes long to make: the plans of all pairs."""

os.environ.setdefault("COMPAT_CLASS_ARCHIVE", "off")  # no run of a test leaves a process that makes one
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of the hundreds of processes would compile all modules again
sys.dont_write_bytecode = False


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program that runs in this process makes of it ends with the test."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Several workers of pytest-xdist share the files out, so that what the tests of one share is made once."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "load" if _names_files(config) else "loadfile"
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The files of a folder whose tests share what takes long to make run in one worker, too."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return next((folder for folder in SHARING if file.startswith(folder)), file)

    return ByFileOrFolder(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives until the end: nobody need look for garbage in it, neither meanwhile nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not _names_files(config):
        sampling.sample(items)


def _names_files(config: pytest.Config) -> bool:
    return any(".py" in argument for argument in config.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in needs.summary(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of a bucket on an S3 server of this machine, which the environment says how to reach."""
    yield from _bucket_of("s3")


@pytest.fixture(scope="module")
def gs() -> Iterator[str]:
    """The same of Google's storage."""
    yield from _bucket_of("gs")


@pytest.fixture(scope="module")
def abfss() -> Iterator[str]:
    """The same of Azure's."""
    yield from _bucket_of("abfss")


def _bucket_of(kind: str) -> Iterator[str]:
    from tests import object_store

    if kind == "abfss" and object_store.azurite() is None:
        needs.without(needs.Need.AZURITE)
    with object_store.bucket_of(kind) as (address, variables), patch.dict(os.environ, variables):
        forget_buckets()
        yield address
    forget_buckets()


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an HDFS on this machine."""
    from tests import hadoop

    with hadoop.running(tmp_path_factory.mktemp("hadoop")) as found:
        yield found.address


def forget_buckets() -> None:
    """Have buckets be looked for where the environment says now."""
    from compat.state.stores.objects import bucket_at

    bucket_at.cache_clear()
