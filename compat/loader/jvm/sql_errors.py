"""Flink's error for an unreadable statement, in one line: the fault, its place in the script, the expected input."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_EXPECTED = re.compile(r"\s*Was expecting(?: one of)?:?\s*\n")
_TOKEN = re.compile(r'^\s*("[^"]+"|<[A-Z_]+>)', re.MULTILINE)
_FOUND = re.compile(r"near the keyword '(\w+)'|Encountered \"(\w+)")
_IN_BACKQUOTES = "<BACK_QUOTED_IDENTIFIER>"
_PLACE = re.compile(r"\bline (\d+), column \d+")
_TWICE = re.compile(r"^((?:[^.]+\.) )\1+")
_MOST_EXPECTED = 5
_USUAL = [
    ",",
    "FROM",
    "AS",
    "WHERE",
    "GROUP",
    "(",
    ")",
    ";",
    "=",
    "JOIN",
    "ON",
    "ORDER",
    "SELECT",
    "INTO",
    "TABLE",
    "WITH",
]
_NAMED = {"<IDENTIFIER>": "a name", "<QUOTED_STRING>": "a text in quotes", "<EOF>": "the end of the statement"}


def told(message: str, line: int) -> str:
    """The message on a statement that begins at ``line`` of its script."""
    fault, *expected = _EXPECTED.split(message, maxsplit=1)
    fault = " ".join(_TWICE.sub(r"\1", fault).split())
    fault = _PLACE.sub(lambda match: match[0].replace(match[1], str(int(match[1]) + line - 1), 1), fault)
    tokens = _likeliest(expected[0], fault) if expected else []
    return f"{fault} Expected is {_listed(tokens)}." if tokens else fault


def advice(message: str) -> str | None:
    """The advice for a statement that uses a reserved word as a name; None for other faults."""
    fault, *expected = _EXPECTED.split(message, maxsplit=1)
    found = _FOUND.search(fault)
    if found is None or not expected or _IN_BACKQUOTES not in expected[0]:
        return None
    word = found[1] or found[2]
    return f"Where {word} is a name, write it in backquotes: `{word}`."


def _likeliest(expected: str, fault: str) -> list[str]:
    """The tokens that were probably meant: those spelled like the one that was found, then those that queries usually have."""
    tokens = list(dict.fromkeys(token.strip('"') for token in _TOKEN.findall(expected)))
    found = _FOUND.search(fault)
    word = (found[1] or found[2]).upper() if found else ""
    alike = [one for one in tokens if word and SequenceMatcher(None, one, word).ratio() >= 0.7]
    usual = [one for one in _USUAL if one in tokens]
    rest = [one for one in tokens if not one.startswith("<") or one in _NAMED]
    return [_NAMED.get(one, one) for one in dict.fromkeys([*alike, *usual, *rest])][:_MOST_EXPECTED]


def _listed(tokens: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(map(_quoted, tokens[:-1])), _quoted(tokens[-1]))))


def _quoted(token: str) -> str:
    return token if token in _NAMED.values() else f"'{token}'"
