"""The rights that a process gives up before it runs a foreign program: files, the network, memory, time. No privileges
needed.

Linux's Landlock leaves it the folders of Python and compat to read, and one folder to write to; a separate network
namespace has no way out; limits bound memory, time and processes. If the kernel lacks any of this, nothing is built.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Iterable

_NEW_USER, _NEW_NETWORK, _NEW_IPC, _NEW_PROCESSES = 0x10000000, 0x40000000, 0x08000000, 0x20000000
_NO_NEW_PRIVILEGES, _PARENT_DEATH_SIGNAL, _KILL = 38, 1, 9
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _BENEATH = 1, 1

_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""The number of file rights in each version of Landlock."""
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | 1 << 15
"""The rights that a rule about a single file may have."""
_NETWORK, _SCOPES = 0b11, 0b11

LARGEST_FILE = 128 * 1024 * 1024
"""The size of the largest file that it may write, and of the largest plan, in bytes."""

SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom")
"""The folders of the machine that Python itself reads."""


PATH = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
"""The folder that contains compat."""


class CannotConfine(OSError):
    """The kernel lacks a needed feature; the message says which."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("place", ctypes.c_int32))


def confine(folder: str, memory: int, seconds: int) -> None:
    """Give up everything but ``folder`` and what Python reads, for this process and all that it starts. Raises
    CannotConfine. The process has to do it first: namespaces are for processes with one thread. The next fork is the
    first process of a new namespace, and all processes in it end with that one.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    end_with_parent()
    if libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC | _NEW_PROCESSES):
        raise _lacking("a network namespace of its own (unshare)")
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise _lacking("PR_SET_NO_NEW_PRIVS")
    _keep_to(libc, folder, (sys.prefix, sys.base_prefix, *_package(), *SYSTEM))
    for name, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(name)
        given = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(name, (given, given))


def end_with_parent() -> None:
    """Make the kernel end this process with its parent."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, _KILL, 0, 0, 0)


def _package() -> Iterable[str]:
    """The folder of compat, and those that links in it lead to."""
    root = os.path.join(PATH, "compat")
    yield root
    yield from (os.path.realpath(entry.path) for entry in os.scandir(root) if entry.is_symlink())


def _keep_to(libc: ctypes.CDLL, folder: str, readable: Iterable[str]) -> None:
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        raise _lacking("Landlock")
    rights = (1 << _RIGHTS.get(version, 16)) - 1
    wanted = _Ruleset(rights, _NETWORK if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = libc.syscall(_CREATE_RULESET, ctypes.byref(wanted), size, 0)
    if rules < 0:
        raise _lacking("Landlock's rules")
    _allow(libc, rules, folder, rights)
    _allow(libc, rules, "/dev/null", (_READ | _WRITE | _TRUNCATE) & rights)
    for place in readable:
        if os.path.exists(place):
            _allow(libc, rules, place, _EXECUTE | _READ | _LIST)
    _allow(libc, rules, PATH, _LIST)  # where Python finds compat
    if libc.syscall(_RESTRICT_SELF, rules, 0):
        raise _lacking("Landlock for a process that restricts itself")
    os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _Beneath(rights if os.path.isdir(path) else rights & _OF_FILES, place)
        if libc.syscall(_ADD_RULE, rules, _BENEATH, ctypes.byref(rule), 0):
            raise _lacking(f"a rule of Landlock's for {path}")
    finally:
        os.close(place)


def _lacking(what: str) -> CannotConfine:
    number = ctypes.get_errno()
    return CannotConfine(number, f"The kernel does not give {what}: {os.strerror(number)}.")
