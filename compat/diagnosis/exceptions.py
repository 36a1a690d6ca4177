"""Exceptions with their causes, found in the lines of a log."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Struct

from compat.diagnosis.lines import Line

_CLASS = r"(?:[a-zA-Z_][\w$]*\.)+(?:[A-Z][\w$]*)?(?:Exception|Error|Throwable)"
_HEADER = re.compile(rf"(?<![\w.$])(?P<kind>{_CLASS})(?:: ?|$|(?= ?\n))")
_SHORT_HEADER = re.compile(r"(?P<kind>[A-Z]\w*(?:Exception|Error))(?:: |$)")
_CAUSED = re.compile(r"Caused by: ")
_FRAME = re.compile(r"\s*at (?P<method>[\w.$/@<>+-]+)\((?P<place>[^)]*)\)")
"""A line of a stack trace; copies from web pages have often lost the space in front."""
_MORE = re.compile(r"\s*\.\.\. \d+ (?:more|common frames omitted)")
_SUPPRESSED = re.compile(r"\s+(?:Suppressed|Caused by): ")
_EVENT = re.compile(r"\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)")
_TIME = re.compile(r"\W{0,2}(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d)")
_TASK = re.compile(
    r"(?P<task>\S[^()]*?(?:\([^()]*\)[^()]*?)*) \(\d+/\d+\)(?:#\d+)? \([\da-f]+(?:_(?P<vertex>[\da-f]{32})_\d+_\d+)?\)"
    r".*? switched from"
)
_LOGGER = re.compile(r".*? - ")
_SAVEPOINT = re.compile(
    r"Starting job \S+ from savepoint (?P<started>\S+) \(|Restoring job \S+ from .* located at (?P<restored>\S+?)\.?$"
)
_TRACEBACK = "Traceback (most recent call last)"
_LONGEST_MESSAGE, _LONGEST_TRACEBACK = 20, 300
_MOST_CAUSES, _MOST_SOURCES = 100, 64
_LONGEST_LINE, _BEGIN, _END = 20_000, 6_000, 2_000
"""The characters kept of a line and of a message: of long ones the beginning and the end, where Python says most."""

_STATE_METHODS = frozenset(
    "initializeState restoreWriter restoreEnumerator restoreCommitter restoreFunctionState resetToCheckpoint readSnapshot "
    "restoreSerializer restoreUnsafe restoreGates".split()
)
_STATE_CLASSES = (
    "org.apache.flink.runtime.state.",
    "org.apache.flink.contrib.streaming.state.",
    "org.apache.flink.state.",
    "org.apache.flink.runtime.checkpoint.",
    "org.apache.flink.streaming.api.operators.StreamTaskStateInitializerImpl",
    "org.apache.flink.streaming.api.operators.BackendRestorerProcedure",
    "org.apache.flink.streaming.api.operators.StreamOperatorStateHandler",
    "org.apache.flink.streaming.api.operators.InternalTime",
    "org.apache.flink.streaming.api.operators.util.SimpleVersionedListState",
)
_READING = re.compile(
    r"^(?:de(?:serialize|code)\w*|read\w*|resolve\w*|<init>|<clinit>|newInstance\w*|create\w*|copy|apply)$"
)
_LIBRARIES = (
    *("java.", "javax.", "jdk.", "sun.", "com.sun.", "scala.", "kotlin.", "org.apache.", "com.esotericsoftware."),
    *("com.twitter.chill.", "org.objenesis.", "org.rocksdb.", "org.forstdb.", "pemja.", "py4j.", "com.amazonaws."),
    *("software.amazon.", "com.google."),
)
_PYTHON_FILE = re.compile(r'File "(?P<path>[^"]+)"')
_PYTHON_LIBRARIES = re.compile(
    r"pyflink/|apache_beam|site-packages|dist-packages|lib/python\d|cloudpickle|<frozen|\.pyx"
)


class Origin(Enum):
    """Where a stack trace begins, as far as it shows."""

    STATE = "state"
    PROGRAM = "program"
    UNTOLD = "untold"
    NO_TRACE = "no trace"


class Cause(Struct, frozen=True):
    """An exception of a chain: its class, its message, where it came from, and the line of the program that asked for it."""

    kind: str
    message: str
    origin: Origin = Origin.NO_TRACE
    asked_at: str | None = None

    @property
    def text(self) -> str:
        """The exception as Java prints it."""
        return f"{self.kind}: {self.message}" if self.message else self.kind


class Chain(Struct, frozen=True):
    """An exception and its causes, the outermost first, with facts from the log lines around it."""

    causes: tuple[Cause, ...]
    time: str = ""
    task: str | None = None
    vertex: str | None = None
    savepoint: str | None = None


@dataclass(slots=True)
class _Open:
    """A cause whose lines are still being read."""

    kind: str
    lines: list[str]
    frames: int = 0
    origin: Origin = Origin.NO_TRACE
    asked_at: str | None = None

    def frame(self, method: str, place: str) -> None:
        """Read a line of the stack trace."""
        self.frames += 1
        if self.frames == 1:
            self.origin = Origin.UNTOLD
        method = method.rpartition("/")[2]  # of a class in a module: java.base/java.lang.Thread
        name = method.rpartition(".")[2]
        if method.startswith(_STATE_CLASSES) or name in _STATE_METHODS:
            if self.origin is Origin.UNTOLD:
                self.origin = Origin.STATE
        elif not method.startswith(_LIBRARIES) and not _READING.match(name):
            if self.origin is Origin.UNTOLD:
                self.origin = Origin.PROGRAM
            if self.asked_at is None:
                self.asked_at = f"{method}({place})"

    def closed(self) -> Cause:
        message = "\n".join(self.lines).strip()
        if _TRACEBACK in message:
            self.origin = _origin_in_python(message)
        if len(message) > _BEGIN + _END:
            message = f"{message[:_BEGIN]}…\n…{message[-_END:]}"
        return Cause(self.kind, message, self.origin, self.asked_at)


def _origin_in_python(traceback: str) -> Origin:
    """Whether the last functions that PyFlink called belong to its state code, after the last one of the program."""
    origin = Origin.UNTOLD
    for file in _PYTHON_FILE.finditer(traceback):
        if "state_impl" in file["path"]:
            origin = Origin.STATE
        elif not _PYTHON_LIBRARIES.search(file["path"]):
            origin = Origin.PROGRAM
    return origin


@dataclass(slots=True)
class _Source:
    """One writer of log lines: the exception that it is printing, and its earlier messages."""

    causes: list[Cause] = field(default_factory=list)
    open: _Open | None = None
    suppressed: bool = False
    time: str = ""
    task: str | None = None
    vertex: str | None = None
    savepoint: str | None = None
    began: str = ""

    def take(self, line: Line) -> Iterator[Chain]:
        """Read a line; gives the chain that it ends."""
        text = line.text[:_LONGEST_LINE]
        if self.open is not None:
            if self._continues(text):
                return
            yield self.ended()
        if "xception" in text or "rror" in text or "hrowable" in text:
            found = _HEADER.search(text) or _SHORT_HEADER.match(text.removeprefix("Caused by: "))
        else:
            found = None
        if _EVENT.match(text):
            self._event(text)
        if line.time:
            self.time = line.time
        if found is not None:
            self.began = self.time
            whole = found.string
            self.open = _Open(found["kind"], [whole[found.end() :]])

    def _event(self, text: str) -> None:
        """Remember the time, task and savepoint that an ordinary line mentions."""
        if (time := _TIME.match(text)) is not None:
            self.time = time[1]
        self.task = self.vertex = None
        if "switched from" in text:
            logger = _LOGGER.match(text)
            task = _TASK.search(text, logger.end() if logger else 0)
            if task is not None:
                self.task, self.vertex = task["task"], task["vertex"]
        elif (savepoint := _SAVEPOINT.search(text)) is not None:
            self.savepoint = savepoint["started"] or savepoint["restored"]

    def _continues(self, text: str) -> bool:
        """Whether a line belongs to the open exception; if so, it is read."""
        assert self.open is not None
        if (frame := _FRAME.match(text)) is not None:
            if not self.suppressed:
                self.open.frame(frame["method"], frame["place"])
            return True
        if _MORE.match(text):
            return True
        if _SUPPRESSED.match(text):
            self.suppressed = True
            return True
        if (caused := _CAUSED.match(text)) is not None:
            self.suppressed = False
            found = _HEADER.match(text, caused.end()) or _SHORT_HEADER.match(text[caused.end() :])
            self._close_cause()
            kind = found["kind"] if found else ""
            said = found.string[found.end() :] if found else text[caused.end() :]
            self.open = _Open(kind, [said])
            return True
        if self.suppressed:
            return text[:1].isspace()
        lines = self.open.lines
        in_python = any(_TRACEBACK in line for line in lines)
        most = _LONGEST_TRACEBACK if in_python else _LONGEST_MESSAGE
        new = _EVENT.match(text) or (not in_python and (_HEADER.match(text) or _SHORT_HEADER.match(text)))
        if self.open.frames or new or len(lines) >= most:
            return False
        lines.append(text)
        return True

    def _close_cause(self) -> None:
        if self.open is not None and len(self.causes) < _MOST_CAUSES:
            self.causes.append(self.open.closed())
        self.open = None

    def ended(self) -> Chain:
        """The open chain, closed."""
        self._close_cause()
        chain = Chain(tuple(self.causes), self.began, self.task, self.vertex, self.savepoint)
        self.causes, self.suppressed = [], False
        return chain


def chains(lines: Iterable[Line]) -> Iterator[Chain]:
    """The exceptions in the lines of a log, each with its causes; lines of several writers may be mixed."""
    sources: OrderedDict[str, _Source] = OrderedDict()
    for line in lines:
        source = sources.get(line.source)
        if source is None:
            source = sources[line.source] = _Source()
            if len(sources) > _MOST_SOURCES:
                _, oldest = sources.popitem(last=False)
                if oldest.open is not None:
                    yield oldest.ended()
        yield from source.take(line)
    for source in sources.values():
        if source.open is not None:
            yield source.ended()
