"""The instructions that every complete run of the code executes: those that no jump bypasses."""

from __future__ import annotations

from collections.abc import Iterator

from compat.loader.jvm.bytecode import Classes
from compat.loader.jvm.classfile import Call, Instruction, Jump, Member, Method, Plain, Switch

_RETURNS = range(0xAC, 0xB2)
CALLS_OF_ONE = (0xB7, 0xB8)
"""A special and a static call: no class below can have another method in place of the called one."""

Place = tuple[Member, int]
"""An instruction by its method and its number in it."""


def surely_run(classes: Classes, name: str, entry: Method) -> frozenset[Place]:
    """The instructions that a run of ``entry`` always executes, for an object of the class ``name``, in it and in its
    unconditional calls.
    """
    line = {one.name for one in classes.line(name)}
    found: set[Place] = set()
    waiting, seen = [entry], set[Member]()
    while waiting:
        method = waiting.pop()
        if method.member in seen:
            continue
        seen.add(method.member)
        for place, one in _unconditional(method):
            found.add((method.member, place))
            if not isinstance(one, Call):
                continue
            if one.opcode in CALLS_OF_ONE:
                called = classes.resolve(one.method)
            else:
                of_object = one.method._replace(owner=name) if one.method.owner in line else None
                called = None if of_object is None else classes.resolve(of_object)
            if called is not None:
                waiting.append(called)
    return frozenset(found)


def _unconditional(method: Method) -> Iterator[tuple[int, Instruction]]:
    """The instructions of a method that stand before its first return, and that no jump forward passes."""
    instructions = () if method.code is None else method.code.instructions
    behind = 0
    for place, one in enumerate(instructions):
        if place >= behind:
            yield place, one
        if isinstance(one, Plain) and one.opcode in _RETURNS:
            return
        targets: tuple[int, ...] = (one.target,) if isinstance(one, Jump) else ()
        if isinstance(one, Switch):
            targets = (one.default, *(target for _, target in one.cases))
        behind = max(behind, *targets, 0)
