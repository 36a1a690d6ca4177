"""The base of all type information: plain, immutable, comparable values."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn


class TypeInformation:
    """The type of the records of a stream, of a key or of a state (Flink: ``TypeInformation``).

    Two types are equal if they have the same contents. ``str()`` is Flink's spelling, as in graphs and messages; ``repr()`` is
    PyFlink's. :meth:`to_json` gives plain JSON data that :func:`compat.state.types.from_json` reads back.
    """

    __slots__ = ()

    kind: ClassVar[str] = "UNKNOWN"

    def parts(self) -> tuple[Any, ...]:
        """The parts of the type; equal for equal types of one class."""
        return ()

    def children(self) -> tuple[TypeInformation, ...]:
        """The types directly inside this one, in order."""
        return ()

    def to_json(self) -> Any:
        """The type as plain JSON data: a word for an indivisible type, an object for a compound one."""
        return self.kind

    def need_conversion(self) -> bool:
        """True if a program's value and its stored form differ."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """The stored form of a program's value."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The program's value of a stored form."""
        return obj

    def get_java_type_info(self) -> NoReturn:
        """Raises an error: types are plain data here."""
        raise TypeError(
            f"The type {self} has no Java object: programs are compiled without a JVM. Use str() or to_json() instead."
        )

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__eq__ is not TypeInformation.__eq__ and cls.__hash__ is None:
            cls.__hash__ = TypeInformation.__hash__

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.parts() == other.parts()

    def __hash__(self) -> int:
        return hash((self.kind, self.parts()))

    def __str__(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return str(self)


class ImmutableTypeInformation(TypeInformation):
    """A type of our own: its fields are set once, by the constructor."""

    __slots__ = ()

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"The type {self} does not change; make a new one instead of setting {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"The type {self} does not change; {name!r} cannot be deleted.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for cls in type(self).__mro__ for name in vars(cls).get("__slots__", ())}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self._set(**fields)


def checked(candidate: Any, where: str) -> TypeInformation:
    """``candidate`` if it is type information; TypeError otherwise, with the usual cause. None means pickled."""
    if isinstance(candidate, TypeInformation):
        return candidate
    if callable(candidate):
        name = getattr(candidate, "__name__", str(candidate))
        raise TypeError(f"{where} takes type information, got {name}: did you forget the parentheses, {name}()?")
    raise TypeError(f"{where} takes type information such as Types.LONG(), got {candidate!r}.")
