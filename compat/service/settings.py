"""The settings of a service, which its operator chooses."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from compat.compiler.control_group import cores
from compat.service.registry.deletions import Rule
from compat.state.delta.errors import StoreError
from compat.state.stores.paths import place_of
from compat.state.stores.schemes import is_remote

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Folder(Struct, frozen=True):
    """A folder that the service searches for savepoints and checkpoints, on this machine or on an object store (``s3://…``).

    ``job`` is the job that wrote them; None if they name it.
    """

    path: str
    job: str | None = None

    @classmethod
    def parse(cls, text: str) -> Folder:
        """Read a folder from ``PATH`` or ``JOB=PATH``. Raises ValueError for anything else.

        A folder on an object store exists once something is in it, so only its address is checked here.
        """
        job, equals, path = text.partition("=")
        if is_remote(path if equals else text):
            try:
                return cls(str(place_of(path if equals else text)), job if equals else None)
            except StoreError as error:
                raise ValueError(str(error)) from error
        found = Path(path if equals else text)
        if not found.is_dir():
            raise ValueError(f"{str(found)!r} is no folder.")
        return cls(os.path.realpath(found), job if equals else None)


class ServiceSettings(Struct, frozen=True, kw_only=True):
    """How a service runs. Sizes are in bytes, times in seconds.

    ``anonymous_read`` lets requests without a token read; recording and deciding always need a token. ``allowed_hosts`` are the
    names that a request may use for this server; a request with another name comes from a foreign page that was pointed at it.
    From the sizes ``heavy_body`` and ``huge_body`` on, checks go to separate processes, so that smaller ones need not wait. Two
    plans of 10,000 operators make a body of 70 million bytes. ``files_timeout`` limits the reading of a snapshot in a folder,
    ``worker_memory`` the memory of a process. The service is ready only with ``least_space`` free on the disk.
    If ``backup`` names a file, the registry is exported to it every ``backup_interval`` seconds.
    With ``allow_programs`` the service builds the programs that it gets, confined, within ``program_memory`` and
    ``program_timeout``.
    Every ``expiry_interval`` seconds the service deletes what the rule ``expiry`` names, if there is a rule.
    """

    database: str = "sqlite:///compat.db"
    folders: tuple[Folder, ...] = ()
    anonymous_read: bool = True
    allowed_hosts: tuple[str, ...] = LOOPBACK
    scan_interval: float = 30.0
    backup: str | None = None
    backup_interval: float = 86_400.0
    allow_programs: bool = False
    program_memory: int = 1024**3
    program_timeout: float = 60.0
    expiry: Rule | None = None
    expiry_interval: float = 3600.0
    max_body: int = 128 * 1024 * 1024
    max_depth: int = 64
    heavy_body: int = 1024 * 1024
    huge_body: int = 16 * 1024 * 1024
    head_timeout: float = 10.0
    body_timeout: float = 30.0
    check_timeout: float = 300.0
    files_timeout: float = 30.0
    write_timeout: float = 30.0
    worker_memory: int = 4 * 1024**3
    least_space: int = 32 * 1024 * 1024
    workers: int = max(1, int(cores()))
    kept_checks: int = 500
    database_timeout: float = 5.0
    secure_cookies: bool = False
