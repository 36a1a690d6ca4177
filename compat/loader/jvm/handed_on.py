"""Whether a program passes the settings of a file to its connectors as a whole, and reads none of them itself.

Such a file, which often has credentials and is not in the repository, affects neither ids nor states.
"""

from __future__ import annotations

from compat.loader.jvm.classfile import Member, arguments
from compat.loader.jvm.libraries import CONNECTORS, is_of_library
from compat.loader.jvm.usercode import UserClasses

_PROPERTIES = "java/util/Properties"
_FILLING = frozenset({"<init>", "clear", "load", "put", "putAll", "putIfAbsent", "remove", "setProperty"})
_TOOL = "ParameterTool"
"""Flink's class that takes single settings out of properties."""


def hands_on(classes: UserClasses, start: str) -> bool:
    """Whether none of the program's classes reachable from a class, given with slashes, reads single settings."""
    home = start.rpartition("/")[0] + "/"
    seen, waiting = {start}, [start]
    while waiting:
        file = classes.file_of(waiting.pop())
        if file is None:
            continue
        if not all(_is_harmless(one, home) for one in file.members):
            return False
        found = {one for one in file.named if _is_own(one, home) and classes.here(one)} - seen
        seen |= found
        waiting += found
    return True


def _is_own(name: str, home: str) -> bool:
    return name.startswith(home) or not is_of_library(name)


def _is_harmless(member: Member, home: str) -> bool:
    """Whether code that uses a member leaves it to others what the settings say."""
    if member.owner == _PROPERTIES:
        return member.name in _FILLING
    if member.owner.endswith(_TOOL):
        return False
    takes = member.descriptor.startswith("(") and f"L{_PROPERTIES};" in arguments(member.descriptor)
    return not takes or member.owner.startswith(CONNECTORS) or _is_own(member.owner, home)
