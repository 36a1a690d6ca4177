"""Mistakes that programs in Python often make, by what Python, PyFlink or Java says of them, and what to do about each."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_NO_METHOD = re.compile(r"An error occurred while calling .*?Method (\w+)\(\[(.*?)\]\) does not exist.*", re.DOTALL)
"""How Py4J tells that a method of Java takes no such arguments, with a trace of its own behind it."""
_OF_PYTHON = {
    **{f"class java.lang.{name}": "int" for name in ("Byte", "Integer", "Long", "Short")},
    **{f"class java.lang.{name}": "float" for name in ("Double", "Float")},
    "class java.lang.String": "str",
    "class java.lang.Boolean": "bool",
    "class java.util.ArrayList": "list",
    "class java.util.HashMap": "dict",
    "null": "None",
}
"""What Py4J makes of values of Python."""
OUTSIDE = (
    "Make that reachable from here, give its answer with --args, or ask for it in open() of a function instead of while "
    "building the job."
)
_SETTINGS = "EnvironmentSettings.in_streaming_mode()"
_MISTAKES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"^MalformedURLException: no protocol: (?P<jar>\S+)"),
        lambda found: f"Jars are named by their URLs: write {_url(found['jar'])}.",
    ),
    (
        re.compile(r"^\w+: Flink has no (?P<call>\w+\(.*\))\.$"),
        lambda found: "Look at the types of what is passed on this line; values of options are texts.",
    ),
    (
        re.compile(r"'Builder' object has no attribute '_j_environment_settings'"),
        lambda found: f"End the builder with .build(), or write {_SETTINGS}.",
    ),
    (
        re.compile(r"^TypeError: argument should be EnvironmentSettings or Configuration"),
        lambda found: f"Write {_SETTINGS}; a builder ends with .build().",
    ),
    (
        re.compile(r"'(?P<type>\w+)' object has no attribute '_j_environment_settings'"),
        lambda found: f"EnvironmentSettings are wanted here, in place of a {found['type']}: write {_SETTINGS}.",
    ),
    (
        re.compile(r"^ValueError: mutable default <class '(?P<type>[\w.]+)'> for field (?P<field>\w+) is not allowed"),
        lambda found: (
            f"Write {found['field']}: … = field(default_factory={found['type'].rpartition('.')[2]}), "
            "with field from dataclasses."
        ),
    ),
    (
        re.compile(
            r"^(?:ConnectionRefusedError|ConnectionResetError|ConnectionError|URLError|gaierror|timeout|TimeoutError|"
            r"ConnectTimeout|ReadTimeout|MaxRetryError|NewConnectionError|ConnectError|EndpointConnectionError|"
            r"NoCredentialsError|NoBrokersAvailable|ServerSelectionTimeoutError|HTTPError): "
            r"|^(?:\w*OperationalError|\w*ConnectionError|KafkaException): .*(?:onnect|refused|timed out|not known|resolve)",
            re.DOTALL,
        ),
        lambda found: f"Building the job asks another system here. {OUTSIDE}",
    ),
    (
        re.compile(r"^SyntaxError: Missing parentheses in call to '(?P<name>print|exec)'"),
        lambda found: (
            f"This line is in Python 2, and compat runs programs with Python {_PYTHON}: write {found['name']}(…)."
        ),
    ),
    (
        re.compile(r"^(?:SyntaxError|IndentationError|TabError): "),
        lambda found: f"Mend this line, or the one before it: Python {_PYTHON}, which runs compat, cannot read it.",
    ),
)


def remedy(type: str, message: str) -> str | None:
    """What to do about an exception, by its type without the package and what it says; None if nothing is known."""
    said = f"{type}: {message}"
    for pattern, told in _MISTAKES:
        if (found := pattern.search(said)) is not None:
            return told(found)
    return None


def plain(message: str) -> str:
    """What an exception says, without Py4J's words and trace where Flink lacks a method for what is passed."""
    found = _NO_METHOD.search(message)
    if found is None:
        return message
    types = ", ".join(_type(one) for one in found[2].split(", ") if one)
    return f"Flink has no {found[1]}({types})."


def _type(java: str) -> str:
    return _OF_PYTHON.get(java, java.removeprefix("class ").rpartition(".")[2])


def _url(path: str) -> str:
    return f"file://{path}" if path.startswith("/") else f"file:///FOLDER/{path}"
