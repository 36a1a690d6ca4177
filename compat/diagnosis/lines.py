"""The lines of a log, stripped of what carried them: time stamps and names in front, JSON around, compression.

A log may be larger than memory and written by anyone: lines come one at a time, of a bounded length.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from typing import BinaryIO, cast

from msgspec import Struct

LONGEST = 1_000_000
"""The most characters of a line; the rest is skipped."""
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DEEPEST = 50

_FROM = re.compile(r"\[pod/[^\]\s]+\] |[\w.-]+ +\| ")
"""The writer's name in front of a line, as ``kubectl logs --prefix`` and ``docker compose logs`` print it."""
_CARRIED = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*) (?:std(?:out|err) [FP] )?")
"""The time in front of a line, as ``kubectl logs --timestamps``, Docker and files of Kubernetes print it."""
_ESCAPED = re.compile(r"\\n(?:\\t| +)at |\\nCaused by: ")
_TRACE = re.compile(r"\n\s+at |\nCaused by: ")
_TELLING = re.compile(r"\n|xception|rror|rowable|avepoint|\sat |switched from")
_THROWN = re.compile(r"(?:Exception|Error|Throwable)$")
_CLASS_KEYS = ("error.type", "exception_class", "class", "name", "type")
_MESSAGE_KEYS = ("error.message", "exception_message", "message", "localizedMessage")
_TIME_KEYS = ("@timestamp", "timestamp", "time", "ts")


class Line(Struct, frozen=True):
    """A line of a log: its writer and the time of transport, if given, and the text of the program."""

    text: str
    source: str = ""
    time: str = ""


def lines_of(file: BinaryIO) -> Iterator[Line]:
    """The lines of a log in a file or a pipe. Raises OSError and EOFError if it cannot be read."""
    start = file.peek(2)[:2] if isinstance(file, io.BufferedReader) else b""
    if start == _GZIP:
        file = cast(BinaryIO, gzip.GzipFile(fileobj=file))
    encoding = "utf-16" if start in _UTF16 else "utf-8-sig"
    text = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="\n")
    try:
        while line := text.readline(LONGEST):
            rest = line
            while rest and not rest.endswith("\n"):
                rest = text.readline(LONGEST)
            yield from split(line.rstrip("\r\n"))
    finally:
        text.detach()  # the file is whose it was


def split(text: str) -> Iterator[Line]:
    """The text that a program wrote in one line of a log: several lines if they were packed into one."""
    source = time = ""
    if (found := _FROM.match(text)) is not None:
        source, text = found[0].strip(" |"), text[found.end() :]
    if (found := _CARRIED.match(text)) is not None:
        time, text = found["time"], text[found.end() :]
    if text.startswith("{"):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict) and isinstance(data.get("log"), str) and len(data["log"]) < len(text):
            # A file of Docker: the line is inside, and may be JSON again.
            for line in split(data["log"].rstrip("\r\n")):
                yield Line(line.text, source or line.source, line.time or str(data.get("time", time)))
            return
        if isinstance(data, dict):
            said = next((value for key in _TIME_KEYS if isinstance(value := data.get(key), str)), time)
            for part in _said(data, 0):
                if _TELLING.search(part):
                    yield from (Line(line, source, said) for line in part.splitlines())
            return
    if _ESCAPED.search(text):
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        yield from (Line(line, source, time) for line in text.splitlines())
        return
    yield Line(text, source, time)


def _said(value: object, depth: int) -> Iterator[str]:
    """The texts in a value of JSON; an exception in the form of an object becomes the text that Java prints."""
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _said(item, depth + 1)
    elif isinstance(value, dict):
        if "method" in value and isinstance(value.get("class"), str):
            yield f"\tat {value['class']}.{value['method']}({value.get('file')}:{value.get('line')})"
            return
        kind = next(
            (kind for key in _CLASS_KEYS if isinstance(kind := value.get(key), str) and _THROWN.search(kind)), None
        )
        whole = any(isinstance(item, str) and _TRACE.search(item) for item in value.values())
        if kind is not None and not whole:
            yield f"{kind}: {next((text for key in _MESSAGE_KEYS if isinstance(text := value.get(key), str)), '')}"
        for key, item in value.items():
            if kind is not None and key in (*_CLASS_KEYS, *_MESSAGE_KEYS) and key != "message":
                continue
            if kind is not None and key == "message" and (not whole and "error.message" not in value):
                continue
            if key == "cause" and isinstance(item, dict):
                first, *others = [*_said(item, depth + 1)] or [""]
                yield f"Caused by: {first}"
                yield from others
            else:
                yield from _said(item, depth + 1)
