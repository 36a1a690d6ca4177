"""The parts of pages that follow from the rules, the commands, the schemas and the records.

``python docs/generated.py`` writes them into ``docs/pages``; a test fails where they are out of date. A page says where such
a part goes with a line ``<!-- generated: NAME -->``; the part ends with ``<!-- end -->``. The page of each rule is made as a
whole. MkDocs calls ``on_config``.
"""

from __future__ import annotations

import gzip
import json
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from compat import schemas
from compat.check.catalogue import RULES
from compat.check.rule import Family, Rule
from compat.cli import main as commands
from compat.cli.lazy import members_of
from compat.diagnosis.catalogue import ENTRIES
from compat.settings.keys import JOB_KEYS, KEYS, Key

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "pages"
GOLDEN = ROOT / "tests" / "golden"
_RULES = "reference/rules"
_FILLED = re.compile(r"\{\w+(?:!r)?\}")
_PART = re.compile(r"^<!-- generated: ([^\n]+) -->\n(?:.*?^<!-- end -->\n)?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(/([^)]+)\)")
"""A link of a generated part: from the folder of all pages, whichever page the part is in."""

Rows = Iterable[tuple[str, ...]]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the rules into the navigation, a section for each family."""
    families = groupby(RULES.values(), key=lambda rule: rule.family)
    rules: list[Any] = [f"{_RULES}/index.md"]
    rules += [{family.title: [f"{_RULES}/{rule.id}.md" for rule in members]} for family, members in families]
    (reference,) = (each["Reference"] for each in config.nav or () if "Reference" in each)
    reference.append({"Rules": rules})
    return config


def made() -> Mapping[str, str]:
    """Each page that has a generated part, and that of each rule, by its path below the pages: what it should be."""
    texts = {f"{_RULES}/{rule.id}.md": rule_page(rule) for rule in RULES.values()}
    for path in sorted(PAGES.rglob("*.md")):
        page, text = path.relative_to(PAGES).as_posix(), path.read_text(encoding="utf-8")
        if page not in texts and _PART.search(text):
            texts[page] = _PART.sub(lambda mark, page=page: _filled(mark, page), text)
    return {page: _linked(text, page) for page, text in texts.items()}


def _filled(mark: re.Match[str], page: str) -> str:
    """A generated part, between its marks."""
    name, _, argument = mark[1].partition(" ")
    if name not in PARTS:
        raise ValueError(f"{page}: there is no generated part {name!r}; there are {', '.join(PARTS)}.")
    return f"<!-- generated: {mark[1]} -->\n\n{PARTS[name](argument)}\n\n<!-- end -->\n"


def _linked(text: str, page: str) -> str:
    """A page with its links made relative to it."""
    return _LINK.sub(lambda link: f"]({posixpath.relpath(link[1], posixpath.dirname(page) or '.')})", text)


def leftover() -> set[str]:
    """The pages of rules that no longer exist."""
    return {path.relative_to(PAGES).as_posix() for path in PAGES.glob(f"{_RULES}/CMP*.md")} - made().keys()


def write() -> None:
    """Write the committed pages anew."""
    for page in leftover():
        (PAGES / page).unlink()
    for page, text in made().items():
        (PAGES / page).write_text(text, encoding="utf-8")


# Rules


def rule_page(rule: Rule) -> str:
    """The page of a rule."""
    when = f" ({rule.when})" if rule.when else ""
    return "\n\n".join(
        [
            "<!-- docs/generated.py makes this page from the rule. -->",
            f"# {rule.id} {rule.name}",
            f"**{rule.level_text}**{_escaped(when)}. {_escaped(rule.summary)}",
            _escaped(rule.why),
            "## Example",
            f"OLD:\n\n{_block(rule.old)}",
            f"NEW:\n\n{_block(rule.new)}" if rule.new != rule.old else "NEW is the same.",
            *_picture(rule),
            "## What to do",
            _escaped(rule.fix),
            "## Shown by",
            f"{_shown_by(rule)}\n",
        ]
    )


def _picture(rule: Rule) -> Iterator[str]:
    """The picture of a check that finds it, if docs/pictures.py has drawn one."""
    path = f"pictures/{rule.id}.png"
    if (PAGES / path).is_file():
        yield f"On [the page of a check](/howto/pages.md):\n\n![{rule.id}: {_escaped(rule.summary)}](/{path})"


def _shown_by(rule: Rule) -> str:
    """The pairs of programs that show the rule, and what Flink did with them."""
    rows = [(f"`{pair.name}`", pair.verdict, _done(pair)) for pair in _pairs() if rule.id in pair.rules]
    shown = table(("pair", "verdict", "what Flink did"), rows) + "\n\n" if rows else ""
    return shown + "All of them, and jobs in Java and SQL: [How every claim is proven](/explanation/proof.md)."


def rules(_: str) -> str:
    """All rules, a table for each family."""
    parts = []
    for family in Family:
        members = [rule for rule in RULES.values() if rule.family is family]
        rows = (
            (f"[{rule.id}](/{_RULES}/{rule.id}.md)", rule.level_text, f"`{rule.name}`", _escaped(rule.summary))
            for rule in members
        )
        parts.append(f"## {family.title}\n\n{table(('rule', 'level', 'name', 'finds'), rows)}")
    return "\n\n".join(parts)


def exceptions(_: str) -> str:
    """The catalogue of exceptions on the way of a restore."""
    rows = (
        (
            f"`{entry.title}`",
            _escaped(_FILLED.sub("…", entry.happened)),
            ", ".join(f"[{id}](/{_RULES}/{id}.md)" for id in entry.rules),
            _escaped(_FILLED.sub("…", f"{entry.now} {entry.versions}".strip())),
        )
        for entry in ENTRIES
    )
    return table(("text", "means", "rules", "what to do"), rows)


# Settings


def settings(_: str) -> str:
    """The keys of a settings file."""
    return _keys(KEYS)


def job_settings(_: str) -> str:
    """The keys of the table of a single job."""
    return _keys(JOB_KEYS)


def _keys(keys: Iterable[Key]) -> str:
    rows = (
        (f"`{key.name}`", _escaped(key.kind.expected), _escaped(key.default) or "–", _escaped(key.says)) for key in keys
    )
    return table(("key", "value", "default", "what it says"), rows)


# Commands


def cli(_: str) -> str:
    """All commands with their options."""
    context = click.Context(commands, info_name="compat")
    return "\n\n".join(_command(name, command, context) for name, command in members_of(commands, context))


def _command(name: str, command: click.Command, above: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=above)
    path = context.command_path
    inner = list(members_of(command, context))
    usage = " ".join([path, *filter(None, map(str.strip, command.collect_usage_pieces(context)))])
    parts = [f"## {path}", _block(usage), _help(command.help or "")]
    options = [each for each in command.params if isinstance(each, click.Option)]
    records = [record for each in options if (record := each.get_help_record(context)) is not None]
    if records and not inner:
        rows = ((f"`{name}`", _escaped(text)) for name, text in records)
        parts.append(table(("option", "does"), rows))
    return "\n\n".join([*parts, *(_command(each, below, context) for each, below in inner)])


def _help(text: str) -> str:
    """A command's text, with what it gives as an example in a block."""
    parts = []
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in part.replace("\b\n", "").splitlines()]
        said = " ".join(lines)
        if said.startswith(("Example:", "Examples:")):
            examples = "\n".join(lines).partition(":")[2].strip()
            parts.append(_block(re.sub(r"\n(?!compat)", " ", examples)))
        elif part.lstrip(" ").startswith("\b"):
            parts.append(_block("\n".join(lines)))
        else:
            parts.append(_escaped(said))
    return "\n\n".join(parts)


def output(command: str) -> str:
    """The output of a command, run in the root of the repository."""
    words = command.split()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONPATH": str(ROOT), "PATH": path}
    made = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if made.returncode not in (0, 1) or not made.stdout:
        raise RuntimeError(f"{command} ended with exit code {made.returncode}: {made.stderr}")
    return _block(made.stdout.rstrip())


# Formats


def topology(_: str) -> str:
    """The fields of a topology file, from its schema."""
    schema = schemas.load("topology")
    entry = schema["$defs"]["entry"]
    (environment, _null) = schema["properties"]["env"]["anyOf"]
    parts = []
    for title, properties in (("`env`", environment["properties"]), ("An entry of `ops`", entry["properties"])):
        rows = ((f"`{name}`", _type(known), known.get("description", "")) for name, known in properties.items())
        parts.append(f"### {title}\n\n{table(('field', 'holds', 'is'), rows)}")
    return "\n\n".join(parts)


def _type(known: Mapping[str, Any]) -> str:
    if "enum" in known:
        return ", ".join(f"`{choice}`" for choice in known["enum"] if choice is not None)
    kind = known.get("type", "anything")
    return " or ".join(each for each in kind if each != "null") if isinstance(kind, list) else str(kind)


# Proofs


def python_pairs(_: str) -> str:
    """The pairs of PyFlink programs, the verdict, and what Flink did."""
    rows = [(f"`{pair.name}`", pair.verdict, _rules(pair.rules), _done(pair)) for pair in _pairs()]
    return _counted(rows) + table(("pair", "verdict", "rules that speak", "what Flink did"), rows)


@cache
def _pairs() -> list[Any]:
    sys.path.insert(0, str(ROOT))
    try:
        from tests.compat.pairs.table import PAIRS
    finally:
        sys.path.remove(str(ROOT))
    return list(PAIRS)


@cache
def _restores() -> Mapping[str, Any]:
    restores: Mapping[str, Any] = json.loads((ROOT / "tests/compat/pairs/restores.json").read_text(encoding="utf-8"))
    return restores


def _done(pair: Any) -> str:
    """What Flink did with a pair, or why that is not recorded."""
    known = _restores().get(pair.name)
    if known is None:
        return f"not recorded: {pair.unrecorded}"
    if known["outcome"] == "restored":
        return {"kept": "restored, state kept", "lost": "restored without an error, state lost"}.get(
            str(known["state"]), f"restored; state {known['state']}"
        )
    return f"{known['outcome']}" + (f" at {known['when']}" if known["when"] else "")


def _rules(ids: Iterable[str]) -> str:
    return ", ".join(f"[{each}](/{_RULES}/{each}.md)" for each in sorted(ids) if each in RULES)


def java_pairs(_: str) -> str:
    """The pairs of jobs in Java and SQL, and what Flink did on each state backend."""
    with gzip.open(GOLDEN / "java" / "results.jsonl.gz", "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    rows = [
        (
            f"`{record['name']}`",
            record["version"].replace("-to-", " to "),
            _escaped(record["description"]),
            _attempt(record["attempts"].get("hashmap")),
            _attempt(record["attempts"].get("rocksdb")),
        )
        for record in sorted(records, key=lambda record: (record["name"], record["version"]))
    ]
    return _counted(rows) + table(("pair", "Flink", "what changes", "on the heap", "on RocksDB"), rows)


def _attempt(attempt: Mapping[str, Any] | None) -> str:
    if attempt is None:
        return ""
    if attempt["outcome"] != "running":
        return str({"restore-failed": "fails"}.get(attempt["outcome"], attempt["outcome"].replace("-", " ")))
    if attempt["silentlyWrong"]:
        return "restored without an error, wrong"
    return "restored, state dropped" if attempt["stateDropped"] else "restored"


def _counted(rows: list[tuple[str, ...]]) -> str:
    return f"{len(rows)} pairs.\n\n"


# Markdown


def table(head: tuple[str, ...], rows: Rows) -> str:
    """A table of cells that are Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """Text in a cell, where a bar would end it: GitHub and MkDocs read an escaped one in code differently."""
    parts = re.sub(r"\s+", " ", text).split("`")
    return "".join(_code(part) if number % 2 else part.replace("|", "\\|") for number, part in enumerate(parts))


def _code(text: str) -> str:
    return f"<code>{_html(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _html(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _escaped(text: str) -> str:
    return re.sub(r"([*_\[\]`])", r"\\\1", _html(text))


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


PARTS: Mapping[str, Callable[[str], str]] = {
    "cli": cli,
    "exceptions": exceptions,
    "java-pairs": java_pairs,
    "job-settings": job_settings,
    "output": output,
    "python-pairs": python_pairs,
    "rules": rules,
    "settings": settings,
    "topology": topology,
}
"""The parts by the name that stands in a page; what follows the name there is the argument."""

if __name__ == "__main__":
    write()
