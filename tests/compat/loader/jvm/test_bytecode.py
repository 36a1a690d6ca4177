"""Digests of code: equal for what does the same, different for what does not. No JVM is needed to tell."""

import struct
import zipfile
from functools import cache

import pytest

from compat.loader.jvm.bytecode import Classes, Walk
from compat.loader.jvm.classfile import (
    Call,
    ClassFile,
    ClassFileError,
    Dynamic,
    FieldUse,
    Handle,
    Handler,
    Member,
    Type,
)
from tests.compat.loader.jvm.golden import CLASSES

SAME = [
    "AddedMethod",
    "AnonymousShifted",
    "CapturedRenamed",
    "EnumBodyAdded",
    "EnumSwitchSame",
    "Getter",
    "LambdaMoved",
    "ManyConstants",
    "OtherStatic",
    "Recursive",
    "RenamedHelper",
    "RenamedLocal",
    "ReorderedMethods",
    "Unrelated",
]
DIFFERENT = [
    "AnonymousChanged",
    "Arithmetic",
    "ChangedBranch",
    "ChangedCatch",
    "ChangedConstant",
    "ChangedField",
    "ChangedHelper",
    "ChangedStatic",
    "ChangedSwitch",
    "ChangedType",
    "EnumBodyChanged",
    "EnumSwitchChanged",
    "Hook",
    "Interface",
    "LambdaChanged",
    "RecordUsed",
    "StringJoined",
    "Superclass",
]
PRIMITIVE = {"boolean", "byte", "char", "short", "int", "long", "float", "double"}
LIBRARY = {
    "org/apache/flink/api/common/functions/MapFunction": [("map", "(Ljava/lang/Object;)Ljava/lang/Object;")],
    "org/apache/flink/api/common/functions/ReduceFunction": [
        ("reduce", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;")
    ],
    "java/util/function/LongUnaryOperator": [("applyAsLong", "(J)J")],
    "java/lang/Runnable": [("run", "()V")],
}


def interface(name, methods):
    """The file of an interface."""
    texts = [name, "java/lang/Object", *(text for method in methods for text in method)]
    pool = b"".join(b"\1" + struct.pack(">H", len(text)) + text.encode() for text in texts)
    classes = struct.pack(">BHBH", 7, 1, 7, 2)
    count = len(texts)
    told = b"".join(struct.pack(">HHHH", 0x0401, 3 + 2 * place, 4 + 2 * place, 0) for place in range(len(methods)))
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 61, count + 3)
    this = struct.pack(">HHHHHH", 0x0601, count + 1, count + 2, 0, 0, len(methods))
    return head + pool + classes + this + told + struct.pack(">H", 0)


@cache
def classes(side):
    """The classes of one side."""
    with zipfile.ZipFile(CLASSES / f"{side}.jar") as jar:
        files = {name.removesuffix(".class"): jar.read(name) for name in jar.namelist()}
    files |= {name: interface(name, methods) for name, methods in LIBRARY.items()}
    return Classes(files.get, lambda name: name.startswith("cases/"))


def digest(side, name):
    return Walk(classes(side), f"cases/{name}").object_of(f"cases/{name}").digest()


@pytest.mark.parametrize("name", SAME)
def test_code_that_does_the_same_has_one_digest(name):
    assert digest("old", name) == digest("new", name)


@pytest.mark.parametrize("name", DIFFERENT)
def test_code_that_does_something_else_has_another_digest(name):
    assert digest("old", name) != digest("new", name)


def test_only_classes_that_do_the_same_have_one_digest():
    by_digest = {}
    for name in (*SAME, *DIFFERENT):
        by_digest.setdefault(digest("old", name), set()).add(name)
    assert [group for group in by_digest.values() if len(group) > 1] == [
        {"AnonymousShifted", "CapturedRenamed"},
        {"EnumBodyAdded", "EnumBodyChanged"},
        {"EnumSwitchSame", "EnumSwitchChanged"},
        {"LambdaMoved", "LambdaChanged"},
        {"OtherStatic", "ChangedStatic"},
        {"RenamedHelper", "ChangedHelper"},
    ]


def test_a_function_that_does_nothing_of_its_own_is_not_like_another():
    walk = Walk(classes("old"), "cases/Hook").object_of("cases/Hook")
    assert walk.digest() != Walk(classes("old"), "cases/Missing").object_of("cases/Missing").digest()


def test_the_objects_that_code_makes_are_told():
    walk = Walk(classes("old"), "cases/Interface").object_of("cases/Interface")
    walk.digest()
    assert walk.made == ("cases/Interface$Plus",)


@pytest.mark.parametrize("name", ["Getter"])
def test_an_expression_counts_however_it_is_spelled(name):
    one = Member(f"cases/{name}$One", "getN", "()J")
    by_reference = Walk(classes("new"), one.owner).expression(one, is_reference=True).digest()
    by_class = Walk(classes("new"), "cases/Getter").expression(
        Member("cases/Getter", "map", "(Lcases/Getter$One;)Ljava/lang/Long;"), is_reference=False
    )
    assert by_reference == by_class.digest()


@pytest.mark.parametrize("data", [b"", b"\xca\xfe\xba\xbe", b"PK\3\4" + bytes(40), interface("x", [])[:-8]])
def test_what_is_no_class_file_is_refused(data):
    with pytest.raises(ClassFileError, match="not a class file"):
        ClassFile(data)


def test_code_in_an_unknown_form_is_told_apart_by_its_bytes():
    with zipfile.ZipFile(CLASSES / "old.jar") as jar:
        file = jar.read("cases/ChangedConstant.class")
    place = file.index(b"\x2b\xb6")  # aload_1, invokevirtual
    broken = [file[:place] + bytes([opcode]) + file[place + 1 :] for opcode in (0xCB, 0xCC)]
    codes = [
        ClassFile(one).by_signature["map", "(Ljava/lang/Long;)Ljava/lang/Long;"].code.instructions for one in broken
    ]
    assert [len(code) for code in codes] == [1, 1]
    assert codes[0] != codes[1]


def test_a_class_that_cannot_be_read_is_none_of_the_users_own():
    broken = Classes({"a": b"no class"}.get, lambda name: True)
    assert broken.own("a") is None
    assert list(broken.line("a")) == []


def named_by_instructions(found):
    """The classes that code names, instruction by instruction."""
    for method in found.methods:
        waiting = [] if method.code is None else [*method.code.instructions, *method.code.handlers]
        while waiting:
            match waiting.pop():
                case FieldUse(field=member) | Call(method=member) | Handle(member=member):
                    yield member.owner
                case Type(name=name):
                    yield name.rpartition(" ")[2]
                case Handler(type=str(name)):
                    yield name
                case Dynamic(bootstrap=bootstrap, arguments=arguments):
                    waiting += [bootstrap, *arguments]


def test_the_classes_that_a_file_names_are_those_of_its_instructions():
    jars = [CLASSES / "new.jar", CLASSES / "old.jar", *sorted(CLASSES.parent.glob("languages/*_same/old.jar"))]
    seen = set()
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            files = [ClassFile(archive.read(name)) for name in archive.namelist() if name.endswith(".class")]
        for found in files:
            named = set(named_by_instructions(found))
            classes = {name for name in named if name not in PRIMITIVE and not name.startswith("(")}
            assert classes <= found.named, found.name
            seen |= classes
    # The bootstrap of lambdas, and an exception that is caught.
    assert {"java/lang/invoke/LambdaMetafactory", "java/lang/IllegalStateException"} <= seen
