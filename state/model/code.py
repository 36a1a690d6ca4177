"""The user's code in a plan: digests, so that two plans show differences without the classes."""

from __future__ import annotations

from typing import Literal

from compat.state.model.fields import Long, Record


class Captured(Record, frozen=True, kw_only=True):
    """A value that a function object carries: the path of the field that holds it, and a digest of the value."""

    name: str
    digest: str


class UserCode(Record, frozen=True, kw_only=True):
    """A function: its class, and the method that contains a lambda or that a method reference names.

    ``digest`` covers its code and the code that it reaches in the user's own classes. Another build of the same source has the
    same digest. It is None if the code is not available. ``captured`` are the plain values that the function object holds.
    ``samples`` is a digest of a KeySelector's results for made-up records, None if none could be made; ``branches`` says that
    it decides by the record, so that samples do not show everything, and ``constants`` is a digest of the constants in its
    code where ``samples`` leaves them out. ``source`` is a digest of what it computes of what the functions before it were
    given, and ``sources`` are those of the parts of its records; both are empty if that is not known.
    """

    name: str
    method: str | None = None
    digest: str | None = None
    captured: tuple[Captured, ...] = ()
    samples: str | None = None
    branches: bool = False
    constants: str | None = None
    source: str = ""
    sources: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name if self.method is None else f"{self.name}.{self.method}"


Writer = Literal["fields", "declared", "enum", "code", "java", "pojo", "unknown"]
"""How the values of a class are written: field by field in the order of their names, or of their declaration, as the number
of a constant, by code of its own or of a serializer of the user's, by Java, field by field by name, or in a way that is not
known here."""


Misread = Literal["unequal", "broken"]
"""What is read for an object of which there is one only: another one that is not equal to it, or none that can be used."""


class WrittenField(Record, frozen=True, kw_only=True):
    """A field as it is written; ``fixed`` if its values are of exactly its type, whose name is then not written.

    ``above`` are the classes above its type; None for an interface, or if they are unknown. ``given`` are its type arguments
    (in angle brackets), which have no names; None if they are unknown.
    """

    name: str
    type: str
    fixed: bool = False
    above: tuple[str, ...] | None = None
    given: tuple[WrittenField, ...] | None = None


class WrittenClass(Record, frozen=True, kw_only=True):
    """A class of the user's whose values a state holds, as its serializer writes them, which no snapshot tells.

    ``fields`` are in the order of the bytes, ``constants`` are those of an enum. ``serializer`` is the class that writes,
    ``digest`` covers the user's own code that writes, and ``decides`` says whether its snapshot's code can refuse old bytes.
    ``version`` is the ``serialVersionUID``. ``under`` is the declared class whose values may be of this one, and ``made`` says
    whether the operator's function makes such values. ``abstract`` says that no value is exactly of this class. ``misread`` is
    the serializer's result for singletons of the program, if that is another object. ``guessed`` marks a class of values in a
    place whose type does not show their class: code that leads there makes or names it.
    """

    name: str
    writer: Writer
    fields: tuple[WrittenField, ...] = ()
    constants: tuple[str, ...] = ()
    serializer: str | None = None
    digest: str | None = None
    decides: bool = False
    version: Long | None = None
    under: str | None = None
    made: bool = False
    abstract: bool = False
    misread: Misread | None = None
    guessed: bool = False


class HashCode(Record, frozen=True, kw_only=True):
    """The ``hashCode`` of a class in a key: digests of its code and of that of ``equals``.

    ``samples`` is a digest of its results for made-up values, None if none could be made; ``by_identity`` says whether equal
    values have different hash codes.
    """

    name: str
    digest: str | None = None
    equals: str | None = None
    samples: str | None = None
    by_identity: bool = False


class Key(Record, frozen=True, kw_only=True):
    """The user's own classes in an operator's key: how they are written, and how they hash."""

    classes: tuple[WrittenClass, ...] = ()
    hashes: tuple[HashCode, ...] = ()
