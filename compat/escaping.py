"""Escapes names that come from users, so that they are not read as control sequences, commands or markup."""

from __future__ import annotations

import re
import unicodedata

_NOT_PRINTABLE_ASCII = re.compile(r"[^ -~]")
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_OLD_COMMAND = "##["
_MARKUP = re.compile(
    r"[&<>`|*~\[\]#@\\!$]"
    r"|(?<![a-z0-9])_|_(?![a-z0-9])"  # emphasis, but not within a word
    r"|:(?=//|[a-z0-9_+-]+:)|(?<=www)\.",  # links, emoji
    re.IGNORECASE | re.ASCII,
)


def visible(text: str) -> str:
    """``text`` on one line, with all characters that a terminal would act on or hide written as escapes.

    Control and format characters (escape sequences, line ends, bidirectional overrides, zero-width characters),
    surrogates and code points without a character become ``\\x1b`` or ``\\u202e``; printable text of any script stays.
    """
    if text.isascii() and text.isprintable():
        shown = text
    else:
        shown = _NOT_PRINTABLE_ASCII.sub(_escape, text)
    return shown.replace(_OLD_COMMAND, "\\x23#[")


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def code_line(text: str) -> str:
    """A line of a program as :func:`visible` shows it, with tabs expanded and without its line end."""
    return visible(text.rstrip("\r\n").expandtabs(4))


def no_command(line: str) -> str:
    """``line``, changed so that no CI runner takes it for a workflow command (``::error …``)."""
    stripped = line.lstrip()
    if not stripped.startswith("::"):
        return line
    return line[: len(line) - len(stripped)] + "\\x3a:" + stripped[2:]


def github_data(text: str) -> str:
    """The message of a workflow command."""
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
    """The value of a property of a workflow command."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """``text`` escaped so that Markdown shows it literally: without markup, HTML, table cells, mentions, issue numbers
    or links.
    """
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", visible(text))


def markdown_code(text: str) -> str:
    """``text`` as inline code that also works in a table cell."""
    return f"<code>{markdown(text)}</code>"


def fence(lines: list[str]) -> list[str]:
    """A fenced block of ``lines``, with a fence longer than any run of backticks in them."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [ticks, *lines, ticks]
