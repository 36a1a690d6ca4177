"""Digests of the user's functions: of the code that a Java object runs, and of its values."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import jpype
from msgspec import Struct

from compat.loader.jvm.bridge import FLINK, Java, bytes_of, class_name, constant_name, flink, is_a, java
from compat.loader.jvm.bytecode import Classes, Walk
from compat.loader.jvm.classfile import ClassFile, ClassFileError, Member
from compat.loader.jvm.libraries import CONNECTORS, LIBRARIES, is_of_library
from compat.state.model.code import Captured, UserCode

_OF_LANGUAGES = ("scala/", "kotlin/", "kotlinx/")
"""Classes of the libraries of languages: the same whether the job's jar has them or the class path."""
_SHARED = frozenset({"org/apache", "com/google", "com/github", "io/github", "org/springframework"})
"""Domains of many owners: one more part of a package's name tells them apart."""
_STATIC, _TRANSIENT = 0x0008, 0x0080
_DEPTH, _OBJECTS, _ITEMS = 8, 500, 1000
_LAMBDA = "$$Lambda"
_LAMBDA_BODY = re.compile(
    r"lambda\$(\w+?)\$|\$anonfun\$(?:.*\$\$)?(\w+)\$\d|(\w+?)\$\$anonfun\$\d|(\w+?)\$lambda\$\d", re.ASCII
)
"""The names that the compilers of Java, Scala 2, Scala 3 and Kotlin give to the body of a lambda in a method."""
_LOADERS_KEPT = 4
_SCANNED = 5000
_TOLD = ("java.time.", "java.math.", "java.net.URI", "java.util.UUID", "java.util.Locale", "java.util.regex.Pattern")
_PLAIN = frozenset(
    f"java.lang.{one}"
    for one in ("Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double", "String")
)
_NEW_BY_HANDLE = 8
_COUNTED = (
    "org/apache/flink/streaming/api/functions/aggregation/",
    "org/apache/flink/streaming/util/typeutils/FieldAccessor",
)
"""Flink's own functions that fold, and how they get at a field: which field it is makes them what they are."""

_NAMED = re.compile(rb"\[*[\w$./]+;?")
_LONGEST_NAME = 1000
_BY_NAME = frozenset({"forName", "loadClass", "findClass", "getMethod", "getDeclaredMethod", "findStatic", "load"})
"""Methods of Java's by which code comes to classes and methods that it does not name."""

_loaders: dict[int, tuple[Java, UserClasses]] = {}


class UserClasses:
    """The classes that a loader of the user's code has, and which of them are the user's own."""

    def __init__(self, loader: Java) -> None:
        self._loader = loader
        self._above = flink("api.common.JobID").class_.getClassLoader()
        self._here: dict[str, bool] = {}
        self._digests: dict[frozenset[str], str] = {}
        self._all = Classes(self._read, lambda name: False)
        self._above_by_home: dict[str, dict[str, tuple[str, ...]]] = {}
        self._below: dict[tuple[str, str], tuple[str, ...]] = {}

    def _read(self, name: str) -> bytes | None:
        stream = self._loader.getResourceAsStream(f"{name}.class")
        if stream is None:
            return None
        try:
            return bytes_of(stream.readAllBytes())
        finally:
            stream.close()

    def file_of(self, name: str) -> ClassFile | None:
        """The file of a class, by its name with slashes."""
        return self._all.find(name)

    def jars(self) -> Iterator[Path]:
        """The jars that the classes are in."""
        return _jars(self._loader)

    def here(self, name: str) -> bool:
        """True for a class that comes with the job, and neither with Flink nor with a language."""
        known = self._here.get(name)
        if known is None:
            known = not name.startswith(_OF_LANGUAGES) and self._above.getResource(f"{name}.class") is None
            known = self._here[name] = known and self._loader.getResource(f"{name}.class") is not None
        return known

    def digest_of(self, serialized: bytes) -> str:
        """A digest of the classes that the code of serialized objects can come to, byte for byte: those that they name, and on.

        Code that finds classes by names made at run time can come to all of them.
        """
        told = self.named_by(serialized)
        if any(not _BY_NAME.isdisjoint(found.called) for found in told.values()):
            return self._digest_with(frozenset(name.rpartition("/")[0] for name in told))
        return hashlib.sha256(b"".join(name.encode() + told[name].digest for name in sorted(told))).hexdigest()

    def named_by(self, serialized: bytes) -> dict[str, ClassFile]:
        """The classes that serialized objects name, and those that these name, and on; by their names with slashes."""
        waiting = list(_names_in(serialized))
        told: dict[str, ClassFile] = {}
        while waiting:
            name = waiting.pop()
            if name not in told and self.here(name) and (found := self._all.find(name)) is not None:
                told[name] = found
                waiting += found.named
        return told

    def _digest_with(self, packages: frozenset[str]) -> str:
        """A digest of all classes of the job's jars, byte for byte: of well-known libraries only those of these packages.

        A program may stand in the package of a library, as examples of Flink's and AWS's own do.
        """
        if packages not in self._digests:
            told = hashlib.sha256()
            for jar in self.jars():
                with zipfile.ZipFile(jar) as archive:
                    for entry in sorted(archive.infolist(), key=lambda one: one.filename):
                        name = entry.filename
                        of_library = name.startswith(LIBRARIES) and name.rpartition("/")[0] not in packages
                        if name.endswith(".class") and not of_library:
                            told.update(f"{name} {entry.CRC} {entry.file_size}\n".encode())
            self._digests[packages] = told.hexdigest()
        return self._digests[packages]

    def below(self, root: str, near: str | None = None) -> tuple[str, ...]:
        """The classes of one house with ``near``, else with ``root``, that extend or implement ``root``, by name."""
        home = _home(near or root)
        if (home, root) in self._below:
            return self._below[home, root]
        if home not in self._above_by_home:
            self._above_by_home[home] = dict(self._direct(home))
        above = self._above_by_home[home]
        found = {root}
        grown = True
        while grown:
            more = {name for name, parents in above.items() if name not in found and not found.isdisjoint(parents)}
            found |= more
            grown = bool(more)
        self._below[home, root] = tuple(sorted(found - {root}))
        return self._below[home, root]

    def _direct(self, home: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The classes of a house in the job's jars, each with those directly above it."""
        count = 0
        for jar in self.jars():
            with zipfile.ZipFile(jar) as archive:
                for entry in archive.namelist():
                    name = entry.removesuffix(".class")
                    if name == entry or not (name.startswith(home) if home else not name.startswith(LIBRARIES)):
                        continue
                    count += 1
                    if count > _SCANNED:
                        return
                    try:
                        found = ClassFile(archive.read(entry))
                    except ClassFileError:
                        continue
                    yield found.name, (found.parent or "", *found.interfaces)

    def seen_from(self, root: str) -> Classes:
        """The classes, of which those count as the user's own that come with the job and are of one house with ``root``."""
        home = _home(root)
        if home:
            return self._all.seen_from(lambda name: name.startswith(home) and self.here(name))
        return self._all.seen_from(lambda name: not name.startswith(LIBRARIES) and self.here(name))

    def on_class_path(self, root: str) -> Classes | None:
        """The same of a class that comes on Flink's own class path; None for one of Flink's, of a language or of a library."""
        if is_of_library(root):
            return None
        home = _home(root)
        return self._all.seen_from(lambda name: name.startswith(home) and not name.startswith(LIBRARIES))


class ConnectorClasses(UserClasses):
    """The classes of the connector that a class on Flink's class path is of: they are in its jar, in one package with it."""

    def __init__(self, cls: Java) -> None:
        super().__init__(cls.getClassLoader())
        self._package = "".join(f"{part}/" for part in str(cls.getName()).split(".")[:5])
        self._jar = Path(
            str(java("java.nio.file.Paths").get(cls.getProtectionDomain().getCodeSource().getLocation().toURI()))
        )

    def jars(self) -> Iterator[Path]:
        yield self._jar

    def here(self, name: str) -> bool:
        return name.startswith(self._package)

    def seen_from(self, root: str) -> Classes:
        return self._all.seen_from(self.here)


def classes_around(value: Java) -> UserClasses | None:
    """The classes that an object's own code is in: those of the user's jar, or of a connector; None for Flink's own objects."""
    cls = value.getClass()
    if cls.getClassLoader() is None:
        return None
    name = str(cls.getName()).replace(".", "/")
    if classes_of(cls.getClassLoader()).here(name):
        return classes_of(cls.getClassLoader())
    return ConnectorClasses(cls) if name.startswith(CONNECTORS) else None


def _home(name: str) -> str:
    """The first two parts of a class's package, three in a domain of many owners; empty without a package."""
    parts = name.split("/")[:-1]
    size = 3 if "/".join(parts[:2]) in _SHARED else 2
    return "".join(f"{part}/" for part in parts[:size])


def _jars(loader: Java) -> Iterator[Path]:
    """The jars of a loader, without those of the loaders above it."""
    if not hasattr(loader, "getURLs"):
        return
    for url in loader.getURLs():
        if str(url.getProtocol()) == "file":
            path = Path(str(java("java.nio.file.Paths").get(url.toURI())))
            if path.is_file() and zipfile.is_zipfile(path):
                yield path


def _names_in(serialized: bytes) -> Iterator[str]:
    """What may be names of classes in a stream of Java's serialization, where each text has its length before it."""
    for at in range(len(serialized) - 2):
        size = serialized[at] << 8 | serialized[at + 1]
        if 0 < size < _LONGEST_NAME and _NAMED.fullmatch(text := serialized[at + 2 : at + 2 + size]):
            name = text.decode("latin-1").replace(".", "/").lstrip("[")
            yield name[1:-1] if name.endswith(";") else name


def classes_of(loader: Java) -> UserClasses:
    """The classes of a loader of the user's code."""
    key = int(java("java.lang.System").identityHashCode(loader))
    known = _loaders.pop(key, None)
    if known is None or not known[0].equals(loader):
        known = (loader, UserClasses(loader))
    _loaders[key] = known
    while len(_loaders) > _LOADERS_KEPT:
        del _loaders[next(iter(_loaders))]
    return known[1]


class Reached(Struct, frozen=True, kw_only=True):
    """A function's code, the user's own classes of which it makes objects, and all classes that its code names."""

    code: UserCode
    made: frozenset[str]
    named: frozenset[str]


def code_of(function: Java) -> UserCode:
    """The code of a function object, with that of the functions that it carries."""
    return reached(function).code


def reached(function: Java) -> Reached:
    """The code of a function object, and what it makes."""
    found = _Objects()
    digest = found.of(function, "", 0)
    name, method = _name(function)
    if name.startswith(FLINK) and len(found.outermost) == 1:
        name, method = found.outermost[0]  # Flink's own wrapper of a function of the user's
    return Reached(
        code=UserCode(name=name, method=method, digest=digest, captured=tuple(found.captured)),
        made=frozenset(found.made),
        named=frozenset(found.named),
    )


def lambda_of(value: Java) -> Java:
    """The ``SerializedLambda`` of a lambda or method reference; None for other objects and for those that have none."""
    cls = value.getClass()
    if _LAMBDA not in str(cls.getName()):
        return None
    try:
        method = cls.getDeclaredMethod("writeReplace")
        method.setAccessible(True)
        told = method.invoke(value)
    except jpype.JException:
        return None
    return told if isinstance(told, java("java.lang.invoke.SerializedLambda")) else None


def member_of(told: Java) -> Member:
    """The method that a lambda runs."""
    return Member(str(told.getImplClass()), str(told.getImplMethodName()), str(told.getImplMethodSignature()))


def is_reference(told: Java) -> bool:
    """True for a reference to a method that the program has anyway, false for a lambda's own."""
    return method_around(str(told.getImplMethodName())) is None


def method_around(name: str) -> str | None:
    """The method in which the program wrote a lambda, by the name that a compiler gave its body; None for any other method."""
    body = _LAMBDA_BODY.match(name)
    return None if body is None else next(one for one in body.groups() if one is not None)


def _name(value: Java) -> tuple[str, str | None]:
    """The class of a function object, and the method around a lambda."""
    told = lambda_of(value)
    if told is None:
        return (class_name(value) or "").partition(_LAMBDA)[0], None
    name = str(told.getImplMethodName())
    return str(told.getImplClass()).replace("/", ".").removesuffix("$"), method_around(name) or name


@dataclass(slots=True)
class _Objects:
    """What a function object carries, found field by field."""

    captured: list[Captured] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    outermost: list[tuple[str, str | None]] = field(default_factory=list)
    _seen: dict[int, bool] = field(default_factory=dict)

    def of(self, value: Java, path: str, depth: int) -> str | None:
        """The digest of an object's code and that of the objects in its fields; None if there is none of the user's."""
        identity = int(java("java.lang.System").identityHashCode(value))
        if depth > _DEPTH or len(self._seen) > _OBJECTS or identity in self._seen:
            return None
        self._seen[identity] = _is_flinks(value)
        told = lambda_of(value)
        if told is not None:
            return self._of_lambda(value, told, path, depth)
        name = (class_name(value) or "").replace(".", "/")
        loader = value.getClass().getClassLoader()
        if _LAMBDA in name or loader is None:
            return None
        classes = classes_of(loader)
        own = None
        if classes.here(name):
            self._note(value)
            walk = Walk(classes.seen_from(name), name).object_of(name)
            own = walk.digest()
            self._look(walk)
        parts = [own] if own is not None else []
        for label, inner in fields_of(value):
            whole = own is not None or name.startswith(_COUNTED)
            digest = self._inner(inner, f"{path}.{label}" if path else label, depth, everything=whole)
            if digest is not None:
                parts.append(f"{label.partition('$')[0]} {digest}")
        return _digest(parts) if parts else None

    def _of_lambda(self, value: Java, told: Java, path: str, depth: int) -> str | None:
        member = member_of(told)
        self._note(value)
        walk = Walk(classes_of(value.getClass().getClassLoader()).seen_from(member.owner), member.owner)
        count = int(told.getCapturedArgCount())
        if int(told.getImplMethodKind()) == _NEW_BY_HANDLE:
            self.made.add(member.owner.replace("/", "."))
        parts = [walk.method(member, count).digest()]
        self._look(walk)
        for place in range(count):
            label = f"{path}.argument{place}" if path else f"argument{place}"
            digest = self._inner(told.getCapturedArg(place), label, depth, everything=True)
            if digest is not None:
                parts.append(f"{place} {digest}")
        return _digest(parts)

    def _look(self, walk: Walk) -> None:
        self.made.update(one.replace("/", ".") for one in walk.made)
        self.named.update(one.replace("/", ".") for one in walk.named)

    def _note(self, value: Java) -> None:
        if all(list(self._seen.values())[:-1]):
            self.outermost.append(_name(value))

    def _inner(self, value: Java, path: str, depth: int, everything: bool) -> str | None:
        """The digest of the code of an object in a field; a plain value is noted. In Flink's objects only functions count."""
        if everything and (text := _plain(value)) is not None:
            self.captured.append(Captured(name=path, digest=_digest([text])[:16]))
            return None
        if value is None:
            return None
        if _is_function(value):
            return self.of(value, path, depth + 1)
        if not everything:
            return None
        items = list(_items(value))
        if items:
            found = (self._inner(one, path, depth + 1, everything=True) for one in items)
            parts = [one for one in found if one is not None]
            return _digest(parts) if parts else None
        loader = value.getClass().getClassLoader()
        name = (class_name(value) or "").replace(".", "/")
        if loader is not None and (name.startswith(_COUNTED) or classes_of(loader).here(name)):
            return self.of(value, path, depth + 1)
        return None


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_flinks(value: Java) -> bool:
    return (class_name(value) or "").startswith(FLINK)


def _is_function(value: Java) -> bool:
    return is_a(value, "api.common.functions.Function") or _LAMBDA in (class_name(value) or "")


def fields_of(value: Java) -> Iterator[tuple[str, Java]]:
    """The fields of an object that would be serialized with it, by name."""
    cls = value.getClass()
    while cls is not None and str(cls.getName()) != "java.lang.Object":
        for one in sorted(cls.getDeclaredFields(), key=lambda field: str(field.getName())):
            if int(one.getModifiers()) & (_STATIC | _TRANSIENT):
                continue
            try:
                one.setAccessible(True)
                yield str(one.getName()), one.get(value)
            except jpype.JException:
                continue  # a field that Java does not open
        cls = cls.getSuperclass()


def _plain(value: Java) -> str | None:
    """A value as text; None for an object that has no telling one."""
    if value is None:
        return "null"
    name = class_name(value) or ""
    if isinstance(value, java("java.lang.Class")):
        return f"class {value.getName()}"
    if isinstance(value, java("java.lang.Enum")):
        return f"{value.getDeclaringClass().getName()} {constant_name(value)}"
    return f"{name} {value}" if name.startswith(_TOLD) or name in _PLAIN else None


def _items(value: Java) -> Iterator[Java]:
    """What is in an array, a collection or a map, within bounds."""
    if value.getClass().isArray():
        array = java("java.lang.reflect.Array")
        yield from (array.get(value, place) for place in range(min(int(array.getLength(value)), _ITEMS)))
    elif isinstance(value, java("java.util.Map")):
        for number, entry in enumerate(value.entrySet()):
            if number < _ITEMS:
                yield entry.getKey()
                yield entry.getValue()
    elif isinstance(value, java("java.util.Collection")):
        yield from (one for number, one in enumerate(value) if number < _ITEMS)
