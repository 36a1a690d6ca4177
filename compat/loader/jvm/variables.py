"""The environment variables of programs in a JVM: those of this process, and those given to each program.

Java makes one map of variables for a JVM, which ``System.getenv`` reads. Here a map of compat is behind it, which
records the missing variables that the program's own code asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import jpype

from compat.loader.jvm.bridge import Java, java, set_member, user_frames
from compat.loader.jvm.environments import ASM, CONSUMER, define, end, writer, written
from compat.loader.jvm.libraries import own_frames
from compat.loader.jvm.messages import Crash, JavaFrame

_NAME, _BASE = "compat/Variables", "java/util/HashMap"
_ANY = "Ljava/lang/Object;"
_MAP = _NAME.replace("/", ".")
_BETWEEN = ("java.", "jdk.", "org.jpype.", "scala.", "kotlin.", _MAP)
"""What may stand between a map of Java's and whoever asks it."""
_NO_KEY = re.compile(r"key not found: (\w+)")
"""What Scala's maps throw, ``sys.env`` among them."""


class Variables:
    """The variables of a JVM. ``read`` are those that the program asked for and was not given, ``missed`` the ones of them that
    are not there and have no default, each with the line that asked first."""

    def __init__(self) -> None:
        self._environment = java("java.lang.System").getenv()
        self._usual = java(_BASE.replace("/", "."))(self._environment)
        self._copied: JavaFrame | None = None
        self._given = self._there = frozenset[str]()
        self.read: set[str] = set()
        self.missed: dict[str, JavaFrame] = {}
        made = define(_NAME, _map())
        self._held = jpype.JClass(made)()
        made.getDeclaredField("listener").set(None, _listener(self._asked))
        set_member(self._environment, "m", self._held)
        self.give({})

    def give(self, environment: Mapping[str, str]) -> None:
        """Let the next program find these besides those of this process."""
        self._held.clear()
        self._held.putAll(self._usual)
        for name, value in environment.items():
            self._held.put(name, value)
        for view in ("entrySet", "keySet", "values"):
            set_member(self._environment, view, None)  # it keeps those that it gave, of the map before
        self._copied, self._given = None, frozenset(environment)
        self._there = self._given.union(str(name) for name in self._usual.keySet())
        self.read, self.missed = set(), {}

    def missed_by(self, crash: Crash | None) -> dict[str, JavaFrame]:
        """The variables that the program asked for and did not get, including the missing key in Scala's copy of all
        variables.
        """
        found = None if crash is None else _NO_KEY.search(crash.message)
        return self.missed if found is None or self._copied is None else {**self.missed, found[1]: self._copied}

    def _asked(self, name: Java) -> None:
        """Somebody asks for a variable, or for all of them."""
        trace = list(java("java.lang.Thread").currentThread().getStackTrace())
        if (frame := _asking(trace)) is None:
            return
        if name is None:
            self._copied = self._copied or frame
        elif str(name) not in self._given:
            self.read.add(str(name))
            without_default = any(str(one.getMethodName()) == "get" for one in trace if str(one.getClassName()) == _MAP)
            if without_default and str(name) not in self._there:
                self.missed.setdefault(str(name), frame)


def _listener(told: Callable[[Java], None]) -> Java:
    @jpype.JImplements("java.util.function.Consumer")
    class Listener:
        @jpype.JOverride
        def accept(self, name: Java) -> None:
            told(name)

    return Listener()


def _map() -> bytes:
    """The class of a map that tells its listener each key that it is asked for, and None if it is asked for all."""
    op = java(f"{ASM}Opcodes")
    made = writer(_NAME, _BASE)
    made.visitField(op.ACC_PUBLIC | op.ACC_STATIC, "listener", f"L{CONSUMER};", None, None).visitEnd()
    for name, descriptor, arguments, returns in (
        ("<init>", "()V", 0, op.RETURN),
        ("get", f"({_ANY}){_ANY}", 1, op.ARETURN),
        ("getOrDefault", f"({_ANY}{_ANY}){_ANY}", 2, op.ARETURN),
        ("containsKey", f"({_ANY})Z", 1, op.IRETURN),
        ("entrySet", "()Ljava/util/Set;", 0, op.ARETURN),
    ):
        code = made.visitMethod(op.ACC_PUBLIC, name, descriptor, None, None)
        code.visitCode()
        if name != "<init>":
            code.visitFieldInsn(op.GETSTATIC, _NAME, "listener", f"L{CONSUMER};")
            code.visitVarInsn(op.ALOAD, 1) if arguments else code.visitInsn(op.ACONST_NULL)
            code.visitMethodInsn(op.INVOKEINTERFACE, CONSUMER, "accept", f"({_ANY})V", True)
        for local in range(arguments + 1):
            code.visitVarInsn(op.ALOAD, local)
        code.visitMethodInsn(op.INVOKESPECIAL, _BASE, name, descriptor, False)
        end(code, returns)
    return written(made)


def _asking(trace: Sequence[Java]) -> JavaFrame | None:
    """The line that asks for a variable, where it is the program's own and no library's."""
    asking = next((one for one in trace if not str(one.getClassName()).startswith(_BETWEEN)), None)
    own = next(iter(own_frames(list(user_frames(trace)))), None)
    return own if asking is not None and own is not None and own.class_name == str(asking.getClassName()) else None
