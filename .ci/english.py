"""Sentences that do not say the thing first: patterns of inverted English in docstrings, messages, README and docs.

``python .ci/english.py`` lists the places; it ends with 1 where there are any.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_BEGIN = r"(?:^|[.:;!?] )"
PATTERNS = {
    rf"{_BEGIN}What (?:cannot|is not|nobody)\b": "say who cannot do what, as in 'Open questions do not fail the check'",
    r"\b[Nn]othing stands for\b": "say what is missing, as in 'Fail where a module is not installed'",
    r"\bof what\b[^.;]*\bconsist": "as in 'which fields the classes had'",
    rf"{_BEGIN}(?:Whose|Whom)\b(?![^.?!]*\?)": "begin with the thing, as in 'Who owns the savepoint'",
    rf"{_BEGIN}(?:Of|To|By|With|In|On|From) (?:what|which|whom)\b(?![^.?!]*\?)": "begin with the thing",
    rf"{_BEGIN}That (?:of|many|much)\b": "name the thing again",
    r"\b(?:is|are|was|were) told of\b": "as in 'the report names it'",
    r"\b(?:is|are|was|were) (?:not )?to be had\b": "as in 'it is missing'",
    r"\b(?:is|are|was|were) let pass\b": "as in 'pass', or 'are ignored'",
    r"\bhang(?:s|ing)? on (?:the|what|a|an|it|them|this|that|how)\b": "'depends on'",
    r"\b(?:which|as|that) nobody (?:told|said|set)\b": "as in 'which was not given'",
    r"\b[Ww]hat (?:becomes|became) of\b": "'what happens to', or the thing itself, as in 'the buffers of a subtask'",
    r"\bheld against\b": "'compared with'",
    r"\bin the place of\b": "'in place of', or 'instead of'",
    r"\b(?:None|True|False|[Ee]mpty) where\b": "as in 'None if there is none'",
    r"\bfor what is none\b": "as in 'raises an error for anything else'",
    r"\bfor want of\b": "'for lack of'",
    r"\bwithout a word\b": "'without an error'",
    r"\b[Ww]hat (?:is|are) no\b": "as in 'anything but a number'",
    r"\b[Nn]othing tells\b": "as in 'it is unknown which'",
    r"\b(?:asks?|asked) for in vain\b": "as in 'the missing variables that it asks for'",
    r"\b[Bb]e (?:it|they) (?:of|on|with)\b": "as in 'of a store or of a cluster'",
    r"\b(?:is|are|was|were) told by\b": "as in 'the report names it'",
    r"\b[Ww]hat stands (?:in|for|there|behind)\b": "name the thing, as in 'the stand-in for a module'",
    r"\b[Ww]hat is to be (?:said|done)\b": "as in 'the note', or 'the next step'",
    r"\bhas no more(?=[,.]| and\b)": "as in 'that it no longer has'",
    r"\b\w+ \" \"\w": "a text that two quotes break: join its lines",
}
"""What is not written, as regular expressions, and how to say it."""

_FOLDERS, _PAGES = ("compat", "compiler", "state"), ("README.md", "docs/pages/**/*.md")
_CODE = re.compile(r"```.*?```", re.DOTALL)


def faults(text: str) -> Iterator[tuple[str, str]]:
    """The words of a text that a pattern finds, each with how to say it."""
    plain = " ".join(text.split())
    for pattern, advice in PATTERNS.items():
        for match in re.finditer(pattern, plain):
            yield plain[max(0, match.start() - 20) : match.end() + 40], advice


def texts(root: Path) -> Iterator[tuple[str, str]]:
    """The texts that people read below a folder, each with its place."""
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                    yield f"{path.relative_to(root)}:{node.lineno}", node.value
    for pattern in _PAGES:
        for path in sorted(root.glob(pattern)):
            blocks = _CODE.sub(lambda code: "\n" * code[0].count("\n"), path.read_text(encoding="utf-8"))
            line = 1
            for block in re.split(r"(\n\s*\n)", blocks):
                yield f"{path.relative_to(root)}:{line}", block
                line += block.count("\n")


def main() -> int:
    """Print the faults of this repository; 1 where there are any."""
    root = Path(__file__).resolve().parents[1]
    found = [(place, words, advice) for place, text in texts(root) for words, advice in faults(text)]
    for place, words, advice in found:
        print(f"{place}: {words!r}: {advice}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
