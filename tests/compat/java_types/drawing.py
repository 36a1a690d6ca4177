"""Random types of state in Java, and new versions of them: fields, shape and the place where it is kept are drawn.

A version is a ``Type`` and what stands around it. Every field has a number of its own, from which its values are made, so that
values that came into the wrong field are told from right ones. Fields that are renamed keep their number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from msgspec import Struct

PLACES = (
    "value",
    "value ttl",
    "value late",
    "list",
    "list ttl",
    "entry",
    "entry ttl",
    "entry late",
    "name",
    "reducing",
    "aggregating",
    "operator",
    "union",
    "broadcast value",
    "broadcast key",
    "key",
    "async",
    "keyed reduce",
    "interval join",
    "pattern",
    "window process",
    "window reduce",
    "window aggregate",
    "window evicted",
    "window session",
    "window global state",
    "window own state",
)
VALUES: Mapping[str, str] = {
    "long": "n * 10 + {0}",
    "int": "(int) (n * 10 + {0})",
    "short": "(short) (n * 10 + {0})",
    "float": "n + {0}",
    "double": "n + {0} + 0.5",
    "boolean": "(n + {0}) % 2 == 0",
    "char": "(char) ('a' + (n + {0}) % 26)",
    "String": '"s" + (n * 10 + {0})',
    "Long": "Long.valueOf(n * 10 + {0})",
    "Integer": "Integer.valueOf((int) (n * 10 + {0}))",
    "BigDecimal": "BigDecimal.valueOf(n * 10 + {0})",
    "Instant": "Instant.ofEpochMilli(n * 10 + {0})",
    "LocalDate": "LocalDate.ofEpochDay(n * 10 + {0})",
    "Duration": "Duration.ofMillis(n * 10 + {0})",
    "UUID": "new UUID({0}, n)",
    "Color": "Color.valueOf(COLORS[(int) ((n + {0}) % COLORS.length)])",
    "long[]": "new long[] {{n, {0}}}",
    "String[]": 'new String[] {{"s" + n, "t" + {0}}}',
    "byte[]": "new byte[] {{(byte) n, {0}}}",
    "List<Long>": "new ArrayList<>(List.of(n, {0}L))",
    "List<String>": 'new ArrayList<>(List.of("s" + n, "t" + {0}))',
    "ArrayList<String>": 'new ArrayList<>(List.of("s" + n, "t" + {0}))',
    "LinkedList<Long>": "new LinkedList<>(List.of(n, {0}L))",
    "Collection<String>": 'new ArrayList<>(List.of("s" + n, "t" + {0}))',
    "Set<String>": 'new HashSet<>(List.of("s" + n, "t" + {0}))',
    "Set<Long>": "new HashSet<>(List.of(n, {0}L + 100))",
    "TreeSet<String>": 'new TreeSet<>(List.of("s" + n, "t" + {0}))',
    "Map<String, Long>": 'new HashMap<>(Map.of("s" + n, {0}L))',
    "Map<Long, String>": 'new HashMap<>(Map.of(n, "s" + {0}))',
    "HashMap<String, Long>": 'new HashMap<>(Map.of("s" + n, {0}L))',
    "Optional<String>": 'Optional.of("s" + (n * 10 + {0}))',
    "Optional<Long>": "Optional.of(n * 10 + {0})",
    "Tuple2<Long, String>": 'Tuple2.of(n, "t" + {0})',
    "Either<Long, String>": 'n % 2 == 0 ? Either.Left(n * 10 + {0}) : Either.Right("s" + {0})',
    "Inner": "inner(n + {0})",
    "List<Inner>": "new ArrayList<>(List.of(inner(n + {0}), inner({0})))",
    "Map<String, Inner>": 'new HashMap<>(Map.of("i", inner(n + {0})))',
    "Optional<Inner>": "Optional.of(inner(n + {0}))",
    "Object": '(Object) ("s" + (n * 10 + {0}))',
}
"""By the type of a field, how its value is made of the number ``n`` and the field's own."""
NEAR: Mapping[str, tuple[str, ...]] = {
    "long": ("int", "Long", "double", "Instant"),
    "int": ("long", "Integer", "short", "float"),
    "Long": ("long", "Integer", "Optional<Long>"),
    "List<String>": ("ArrayList<String>", "Collection<String>", "Set<String>", "List<Long>", "String[]"),
    "ArrayList<String>": ("List<String>", "LinkedList<Long>"),
    "Map<String, Long>": ("HashMap<String, Long>", "Map<Long, String>"),
    "Optional<String>": ("String", "Optional<Long>", "Optional<Inner>"),
    "Set<String>": ("Set<Long>", "TreeSet<String>", "List<String>"),
    "Inner": ("Object", "Optional<Inner>", "List<Inner>"),
}
"""What a type of a field is likely changed to."""
SHAPES = ("pojo", "pojo", "bean", "kryo", "kryo", "record", "child", "tuple")
WRAPPERS: Mapping[str, str] = {
    "{T}": "made(n)",
    "List<{T}>": "new ArrayList<>(List.of(made(n), made(n + 1)))",
    "ArrayList<{T}>": "new ArrayList<>(List.of(made(n), made(n + 1)))",
    "Map<String, {T}>": 'new HashMap<>(Map.of("m", made(n)))',
    "Optional<{T}>": "Optional.of(made(n))",
    "Tuple2<Long, {T}>": "Tuple2.of(n, made(n))",
    "{T}[]": "new {T}[] {{made(n)}}",
    "Box<{T}>": "new Box<>(made(n))",
    "Either<{T}, String>": "Either.Left(made(n))",
}
OPTIONS = (
    ("pipeline.force-avro", "true"),
    ("pipeline.force-kryo", "true"),
    ("pipeline.generic-types", "false"),
    ("pipeline.serialization-config", "[{T}: {{type: kryo}}]"),
    ("pipeline.serialization-config", "[{Inner}: {{type: pojo}}, java.util.BitSet: {{type: kryo}}]"),
)


@dataclass(frozen=True)
class Field:
    """A field: its type, its name, and the number that its values are made of."""

    type: str
    name: str
    number: int


@dataclass(frozen=True)
class Version:
    """A job that keeps values of a type.

    ``inherited`` is how many of the last fields a superclass has, in the shape ``child``; ``hidden`` the fields without a way
    in, ``unsaved`` those that are transient.
    """

    place: str
    shape: str
    wrapper: str
    fields: tuple[Field, ...]
    inner: tuple[Field, ...]
    inner_shape: str
    colors: tuple[str, ...] = ("RED", "GREEN", "BLUE", "GRAY")
    written: tuple[str, ...] = ("RED", "GREEN", "BLUE")
    name: str = "T"
    parent: str = "Base"
    inherited: int = 1
    hidden: frozenset[str] = frozenset()
    unsaved: frozenset[str] = frozenset()
    generic: bool = False
    options: tuple[tuple[str, str], ...] = ()


class Versions(Struct, frozen=True):
    """Two sources of a class ``tSEED.Job``, where and how its state was kept, what differs, and the fields that came."""

    place: str
    backend: str
    saved: str
    old: str
    new: str
    edits: tuple[str, ...]
    added: tuple[str, ...]


Edit = Callable[[random.Random, Version], Version]


def versions(seed: int) -> Versions:
    """The two versions of a seed. Some differ in nothing."""
    drawn = random.Random(seed)
    old = new = _version(drawn)
    edits: list[str] = []
    for _ in range(drawn.choice((0, 1, 1, 1, 1, 1, 1, 2))):
        name = drawn.choice(list(EDITS))
        changed = EDITS[name](drawn, new)
        if changed != new:
            new = changed
            edits.append(name)
    names = {each.name for each in (*old.fields, *old.inner)}
    return Versions(
        old.place,
        drawn.choice(("hashmap", "rocksdb")),
        drawn.choice(("canonical", "canonical", "native", "checkpoint")),
        source(seed, old),
        source(seed, new),
        tuple(edits),
        tuple(each.name for each in (*new.fields, *new.inner) if each.number >= _NEW and each.name not in names),
    )


_NEW = 50
"""The least number of a field that came with NEW."""


def _version(drawn: random.Random) -> Version:
    names = drawn.sample("alpha beta gamma delta epsilon zeta eta theta".split(), 4)
    kinds = [drawn.choice(list(VALUES)) for _ in range(drawn.choice((2, 3, 3, 4)))]
    inner = [drawn.choice([kind for kind in VALUES if "Inner" not in kind]) for _ in range(2)]
    return Version(
        place=drawn.choice(PLACES),
        shape=drawn.choice(SHAPES),
        wrapper="{T}" if drawn.random() < 0.6 else drawn.choice(list(WRAPPERS)),
        fields=tuple(Field(kind, name, at) for at, (kind, name) in enumerate(zip(kinds, names, strict=False))),
        inner=tuple(
            Field(kind, name, at + 10) for at, (kind, name) in enumerate(zip(inner, ("one", "two"), strict=True))
        ),
        inner_shape=drawn.choice(("pojo", "pojo", "kryo", "record")),
        options=() if drawn.random() < 0.85 else (drawn.choice(OPTIONS),),
    )


def _of_fields(edit: Callable[[random.Random, tuple[Field, ...]], tuple[Field, ...]]) -> Edit:
    """An edit of the type's fields, or of those of the type inside where there is one."""

    def edited(drawn: random.Random, one: Version) -> Version:
        if any("Inner" in each.type for each in one.fields) and drawn.random() < 0.7:
            return replace(one, inner=edit(drawn, one.inner))
        return replace(one, fields=edit(drawn, one.fields))

    return edited


def _added(drawn: random.Random, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    number = _NEW + len(fields)
    at = drawn.choice((0, len(fields)))
    kind = drawn.choice([kind for kind in VALUES if "Inner" not in kind])
    return (*fields[:at], Field(kind, drawn.choice(("added", "zadded")) + str(number), number), *fields[at:])


def _removed(drawn: random.Random, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    gone = drawn.choice(fields)
    return tuple(each for each in fields if each != gone) if len(fields) > 1 else fields


def _renamed(drawn: random.Random, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    other = drawn.choice(fields)
    return tuple(replace(each, name=f"{each.name}Now") if each == other else each for each in fields)


def _retyped(drawn: random.Random, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    other = drawn.choice(fields)
    known = NEAR.get(other.type) if drawn.random() < 0.8 else None
    kind = drawn.choice(known or [kind for kind in VALUES if kind != other.type and "Inner" not in kind])
    return tuple(replace(each, type=kind) if each == other else each for each in fields)


def _reordered(drawn: random.Random, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(reversed(fields))


def _exchanged(drawn: random.Random, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The names of two fields change places."""
    if len(fields) < 2:
        return fields
    one, other = drawn.sample(fields, 2)
    names = {one: other.name, other: one.name}
    return tuple(replace(each, name=names.get(each, each.name)) for each in fields)


def _reshaped(drawn: random.Random, one: Version) -> Version:
    return replace(one, shape=drawn.choice([shape for shape in SHAPES if shape != one.shape]))


def _rewrapped(drawn: random.Random, one: Version) -> Version:
    return replace(one, wrapper=drawn.choice([wrapper for wrapper in WRAPPERS if wrapper != one.wrapper]))


def _recolored(drawn: random.Random, one: Version) -> Version:
    first, *rest, unused = one.colors
    return drawn.choice(
        (
            replace(one, colors=(*one.colors, "PINK")),
            replace(one, colors=("PINK", *one.colors)),
            replace(one, colors=tuple(reversed(one.colors))),
            replace(one, colors=(first, *rest)),
            replace(one, colors=("CRIMSON", *rest, unused), written=("CRIMSON", *one.written[1:])),
        )
    )


def _moved(drawn: random.Random, one: Version) -> Version:
    """A field goes to the superclass, or the superclass has another name."""
    if one.shape != "child":
        return one
    moved = replace(one, inherited=2 if one.inherited == 1 else 1)
    return drawn.choice((moved, replace(one, parent="Root")))


def _hid(drawn: random.Random, one: Version) -> Version:
    return replace(one, hidden=one.hidden | {drawn.choice(one.fields).name})


def _unsaved(drawn: random.Random, one: Version) -> Version:
    return one if one.shape == "record" else replace(one, unsaved=one.unsaved | {drawn.choice(one.fields).name})


def _optioned(drawn: random.Random, one: Version) -> Version:
    return replace(one, options=() if one.options else (drawn.choice(OPTIONS),))


EDITS: Mapping[str, Edit] = {
    "field added": _of_fields(_added),
    "field removed": _of_fields(_removed),
    "field renamed": _of_fields(_renamed),
    "field retyped": _of_fields(_retyped),
    "field retyped too": _of_fields(_retyped),
    "fields reordered": _of_fields(_reordered),
    "fields exchanged": _of_fields(_exchanged),
    "shape": _reshaped,
    "wrapper": _rewrapped,
    "enum": _recolored,
    "superclass": _moved,
    "field hidden": _hid,
    "field transient": _unsaved,
    "inner shape": lambda drawn, one: replace(one, inner_shape=drawn.choice(("pojo", "kryo", "record"))),
    "class renamed": lambda drawn, one: replace(one, name="Renamed"),
    "generic type": lambda drawn, one: replace(one, generic=not one.generic),
    "option": _optioned,
}


def source(seed: int, one: Version) -> str:
    """The source of the class ``tSEED.Job``."""
    kept = one.wrapper.format(T=one.name) if one.shape != "tuple" else one.wrapper.format(T=_tuple(one.fields))
    name = _tuple(one.fields) if one.shape == "tuple" else one.name
    made = WRAPPERS[one.wrapper].format(T=one.name)
    if one.wrapper == "{T}[]" and one.shape == "tuple":
        made = f"new Tuple{len(one.fields)}[] {{made(n)}}"
    hint = f"new TypeHint<{kept}>() {{}}"
    info = (
        f"new GenericTypeInfo<>(TypeInformation.of({hint}).getTypeClass())"
        if one.generic
        else f"TypeInformation.of({hint})"
    )
    classes = {"T": f"t{seed}.Job${'Inner' if one.shape == 'tuple' else one.name}", "Inner": f"t{seed}.Job$Inner"}
    options = "".join(f'options.setString("{key}", "{value.format(**classes)}");' for key, value in one.options)
    arguments = _arguments(one.fields)
    of_parts = f"Tuple{len(one.fields)}.of({arguments})" if one.shape == "tuple" else f"new {one.name}({arguments})"
    return f"""package t{seed};

import java.math.*;
import java.time.*;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.*;
import org.apache.flink.api.java.typeutils.*;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.types.Either;
import places.Places;

@SuppressWarnings({{"unchecked", "rawtypes"}})
public class Job {{
  public static void main(String[] arguments) throws Exception {{
    Configuration options = new Configuration();
    {options}
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(options);
    env.setParallelism(1);
    Places.<{kept}>keep("{one.place}", env, (TypeInformation) {info}, Job::make);
    env.execute();
  }}

  public enum Color {{ {", ".join(one.colors)} }}
  static final String[] COLORS = {{ {", ".join(f'"{color}"' for color in one.written)} }};
  public static class Box<V> {{
    public V inside;
    public Box() {{}}
    public Box(V inside) {{ this.inside = inside; }}
    @Override public boolean equals(Object o) {{ return o instanceof Box && Objects.equals(inside, ((Box) o).inside); }}
    @Override public int hashCode() {{ return Objects.hashCode(inside); }}
  }}
{_class("Inner", one.inner_shape, one.inner)}
{"" if one.shape == "tuple" else _class(one.name, one.shape, one.fields, one)}
  public static Inner inner(long n) {{ return new Inner({_arguments(one.inner)}); }}
  public static {name} made(long n) {{ return {of_parts}; }}
  public static {kept} make(long n) {{ return {made}; }}
}}
"""


def _arguments(fields: tuple[Field, ...]) -> str:
    return ", ".join(VALUES[each.type].format(each.number) for each in fields)


_BOXED = {
    "long": "Long",
    "int": "Integer",
    "short": "Short",
    "float": "Float",
    "double": "Double",
    "boolean": "Boolean",
    "char": "Character",
}


def _tuple(fields: tuple[Field, ...]) -> str:
    return f"Tuple{len(fields)}<{', '.join(_BOXED.get(each.type, each.type) for each in fields)}>"


def _class(name: str, shape: str, fields: tuple[Field, ...], of: Version | None = None) -> str:
    parameters = ", ".join(f"{each.type} {each.name}" for each in fields)
    if shape == "record":
        same = " && ".join(f"Objects.deepEquals({each.name}, (({name}) other).{each.name})" for each in fields)
        return (
            f"  public record {name}({parameters}) {{\n"
            f"    @Override public boolean equals(Object other) {{ return other instanceof {name} && {same}; }}\n"
            "    @Override public int hashCode() { return 7; }\n  }"
        )
    hidden, unsaved = (of.hidden, of.unsaved) if of else (frozenset[str](), frozenset[str]())
    inherited = fields[-of.inherited :] if of and shape == "child" else ()

    def declared(those: tuple[Field, ...]) -> str:
        access = {"bean": "private", "kryo": "public"}.get(shape, "public")
        return "\n".join(
            f"    {'private' if each.name in hidden else access} {'transient ' if each.name in unsaved else ''}"
            f"{each.type} {each.name};"
            for each in those
        )

    def ways(those: tuple[Field, ...]) -> str:
        return "\n".join(
            f"    public {each.type} get{each.name[0].upper()}{each.name[1:]}() {{ return {each.name}; }}\n"
            f"    public void set{each.name[0].upper()}{each.name[1:]}({each.type} value) {{ {each.name} = value; }}"
            for each in those
            if shape == "bean" and each.name not in hidden
        )

    own = fields[: len(fields) - len(inherited)]
    assigned = " ".join(f"this.{each.name} = {each.name};" for each in own)
    above = ", ".join(each.name for each in inherited)
    parts = [f"  public static class {name}{f' extends {of.parent}' if of and inherited else ''} {{", declared(own)]
    if shape != "kryo":
        parts.append(f"    public {name}() {{}}")
    if fields:
        parts.append(f"    public {name}({parameters}) {{ {f'super({above});' if inherited else ''} {assigned} }}")
    compared = " && ".join(f"Objects.deepEquals({each.name}, (({name}) other).{each.name})" for each in own) or "true"
    compared += " && super.equals(other)" if inherited else ""
    parts.append(
        f"    @Override public boolean equals(Object other) {{ return other instanceof {name} && {compared}; }}\n"
        f"    @Override public int hashCode() {{ return 7; }}"
    )
    parts += [ways(own), "  }"]
    text = "\n".join(part for part in parts if part)
    if inherited:
        assert of is not None
        text += "\n" + _class(of.parent, "pojo", inherited, replace(of, shape="pojo"))
    return text
