"""An SQL script as its statements, split as Flink's SQL client splits it.

A semicolon ends a statement, but not in a text, a quoted name or a comment, nor between the BEGIN and END of a statement set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compat.loader.jvm.messages import SqlStatement

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*(?!\+).*?(?:\*/|\Z))
      | (?P<quoted>'(?:[^']|'')*(?:'|\Z)|`(?:[^`]|``)*(?:`|\Z)|"(?:[^"]|"")*(?:"|\Z))
      | (?P<end>;)
      | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_SET_OPENS = (("EXECUTE", "STATEMENT", "SET", "BEGIN"), ("BEGIN", "STATEMENT", "SET"))
_SET_BEGINS = re.compile(r"\s*(?:(?:EXECUTE\s+)?STATEMENT\s+SET\s+BEGIN|BEGIN\s+STATEMENT\s+SET\s*;)", re.IGNORECASE)
_CLIENTS_SET = re.compile(r"^\s*BEGIN\s+STATEMENT\s+SET\s*;", re.IGNORECASE)
_SET = re.compile(
    r"""^SET\s+(?:'(?P<quoted>(?:[^']|'')+)'|(?P<plain>[^\s'=]+))\s*=\s*
        (?:'(?P<text>(?:[^']|'')*)'|(?P<word>[^'\s].*))$""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_RESET = re.compile(r"^RESET(?:\s+(?:'(?P<quoted>[^']+)'|(?P<plain>\S+)))?$", re.IGNORECASE)
_COMPILE = re.compile(
    r"^COMPILE\s+(?P<execute>AND\s+EXECUTE\s+)?PLAN\s+'(?P<path>(?:[^']|'')+)'\s+"
    r"(?P<keep>IF\s+NOT\s+EXISTS\s+)?FOR\s+(?P<statement>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_EXECUTE = re.compile(r"^EXECUTE\s+PLAN\s+'(?P<path>(?:[^']|'')+)'$", re.IGNORECASE)


def statements(text: str) -> list[SqlStatement]:
    """The statements of a script, without comments, each with its first and last line from 1."""
    found: list[SqlStatement] = []
    pieces: list[str] = []
    words: list[str] = []
    line = first = last = 1
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        if kind == "end" and not _open_set(words):
            found += _statement(pieces, first, last)
            pieces, words = [], []
        elif kind == "comment":
            pieces.append(" " + "\n" * token.count("\n"))
        else:
            if token.strip():
                first = first if "".join(pieces).strip() else line
                last = line + token.count("\n")
            if kind == "word" or kind == "end":
                words.append(token.upper())
            pieces.append(token)
        line += token.count("\n")
    return found + list(_statement(pieces, first, last))


def _open_set(words: list[str]) -> bool:
    """True within a statement set: it ends at the word END that is a statement of its own."""
    opening = _opening(words)
    if not opening:
        return False
    return words[-1] != "END" or (words[-2] != ";" and len(words) - 1 != opening)


def _opening(words: list[str]) -> int:
    """How many words open the statement set that ``words`` begin; 0 if they begin none."""
    if words[:1] == ["COMPILE"] and "BEGIN" in words:
        begin = words.index("BEGIN")
        return begin + 1 if tuple(words[begin - 2 : begin]) == ("STATEMENT", "SET") else 0
    return next((len(opening) for opening in _SET_OPENS if tuple(words[: len(opening)]) == opening), 0)


def _statement(pieces: list[str], first: int, last: int) -> Iterator[SqlStatement]:
    text = "".join(pieces).strip()
    if text:
        yield SqlStatement(text=text, line=first, end_line=last)


def members(statement: SqlStatement) -> list[SqlStatement]:
    """The INSERTs of a statement set with their own lines; the statement itself if it is not a set."""
    text = statement.text
    words = _SET_BEGINS.match(text)
    if words is None:
        return [statement]
    before = statement.line + text[: words.end()].count("\n") - 1
    inner = re.sub(r"END\s*;?\s*$", "", text[words.end() :], flags=re.IGNORECASE)
    return [
        SqlStatement(text=one.text, line=one.line + before, end_line=one.end_line + before) for one in statements(inner)
    ]


def executable(text: str) -> str:
    """A statement in the form for a table environment.

    ``BEGIN STATEMENT SET; …; END;`` is a statement of the SQL client, which runs it as ``EXECUTE STATEMENT SET`` (Flink:
    ``CliClient``, ``BeginStatementSetOperation``).
    """
    return _CLIENTS_SET.sub("EXECUTE STATEMENT SET BEGIN ", text)


def setting(text: str) -> tuple[str, str] | None:
    """The option and value of ``SET 'key' = 'value'``; None for any other statement."""
    match = _SET.match(text)
    if match is None:
        return None
    value = match["word"].strip() if match["text"] is None else match["text"].replace("''", "'")
    return match["quoted"] or match["plain"], value


def reset(text: str) -> str | None:
    """The option that ``RESET 'key'`` takes back, empty for all; None for any other statement."""
    match = _RESET.match(text)
    return None if match is None else match["quoted"] or match["plain"] or ""


def is_settings_list(text: str) -> bool:
    """True for a ``SET`` that shows all options."""
    return text.upper() == "SET"


class PlanStatement:
    """``COMPILE PLAN``, ``COMPILE AND EXECUTE PLAN`` or ``EXECUTE PLAN``: the plan's file, and its use."""

    def __init__(self, path: str, statement: str | None, execute: bool, keep: bool) -> None:
        self.path, self.statement, self.execute, self.keep = path, statement, execute, keep


def plan_statement(text: str) -> PlanStatement | None:
    """The statement that compiles or executes a plan; None for any other statement."""
    if (match := _EXECUTE.match(text)) is not None:
        return PlanStatement(match["path"].replace("''", "'"), None, execute=True, keep=True)
    if (match := _COMPILE.match(text)) is not None:
        path = match["path"].replace("''", "'")
        return PlanStatement(path, match["statement"], execute=bool(match["execute"]), keep=bool(match["keep"]))
    return None


def is_query(text: str) -> bool:
    """True for a statement that only shows rows."""
    first = re.match(r"[(\s]*([A-Za-z]+)", text)
    if first is None or first[1].upper() not in ("SELECT", "WITH", "VALUES"):
        return False
    return "INSERT" not in {match.group().upper() for match in _TOKEN.finditer(text) if match.lastgroup == "word"}


def asks_only(text: str) -> bool:
    """True for a script whose jobs are its queries: none of its statements is a job that writes somewhere.

    Beside jobs that write, queries are looks at the data, and not what is deployed.
    """
    found = [one.text for one in statements(text)]
    plans = [plan for one in found if (plan := plan_statement(one)) is not None]
    return any(map(is_query, found)) and not any(map(submits, found)) and not any(plan.execute for plan in plans)


def submits(text: str) -> bool:
    """True for a statement that becomes a job."""
    words = [match.group().upper() for match in _TOKEN.finditer(text) if match.lastgroup == "word"][:4]
    return words[:1] == ["INSERT"] or any(tuple(words[: len(opening)]) == opening for opening in _SET_OPENS)
