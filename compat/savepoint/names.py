"""Names and uids of a savepoint's operators from another source: the program that wrote it, or a table of known uids.

Metadata before format 5 (Flink before 2.0) has only the ids of operators. The hash of a uid cannot be inverted,
but known uids can be tried.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from msgspec import Struct, field

from compat.compiler.streamgraph.hashing import uid_hash
from compat.plan.facts import Program
from compat.state.model.operators import Operator
from compat.state.safe_open import open_regular

TABLES = (".txt", ".csv", ".tsv")
_ID = re.compile(r"[0-9a-fA-F]{32}")
LARGEST_TABLE = 10_000_000


class NamesError(ValueError):
    """A table of names that cannot be read; the message names the file, and the line where there is one."""


class Entry(Struct, frozen=True):
    """The entry of a table of names for one id."""

    uid: str | None
    name: str | None


class Names(Struct, frozen=True):
    """The source of names: the program that wrote the savepoint, or a table by operator id."""

    program: Program | None = None
    operators: Mapping[str, Operator] = field(default_factory=dict)
    table: Mapping[str, Entry] = field(default_factory=dict)

    def operator(self, id: str) -> Operator | None:
        """The operator of the program with this id."""
        return self.operators.get(id)

    def uid(self, id: str) -> str | None:
        """The uid behind an id."""
        operator = self.operator(id)
        if operator is not None:
            return operator.uid
        return self.table[id].uid if id in self.table else None

    def name(self, id: str) -> str | None:
        """The name of the operator with this id."""
        operator = self.operator(id)
        if operator is not None:
            return operator.name
        entry = self.table.get(id)
        return None if entry is None else entry.name or entry.uid


def of_program(program: Program) -> Names:
    """The names that a program gives to the operators of its savepoints."""
    return Names(program=program, operators=program.by_id)


def read_table(path: str) -> Names:
    """The names in a table: a line is a uid or an id of 32 hex digits, and perhaps a name behind a comma or a tab.

    Empty lines and lines that begin with ``#`` are passed over. Raises NamesError.
    """
    try:
        with open_regular(path) as file:
            text = file.read(LARGEST_TABLE + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NamesError(f"{path}: cannot be read: {error}.") from error
    if len(text) > LARGEST_TABLE:
        raise NamesError(f"{path}: this is no table of names: it has more than {LARGEST_TABLE:,} characters.")
    table: dict[str, Entry] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            cells = next(csv.reader([line], delimiter="\t" if "\t" in line else ",", strict=True))
        except (csv.Error, StopIteration) as error:
            raise NamesError(f"{path}:{number}: not a line of a table: {error}.") from error
        cells = [cell.strip() for cell in cells]
        if len(cells) > 2 or not cells[0]:
            raise NamesError(f"{path}:{number}: a line is a uid or an operator id, and perhaps a name.")
        name = cells[1] if len(cells) > 1 and cells[1] else None
        if _ID.fullmatch(cells[0]):
            table[cells[0].lower()] = Entry(None, name)
        else:
            table[uid_hash(cells[0])] = Entry(cells[0], name)
    if not table:
        raise NamesError(f"{path}: the table has no names.")
    return Names(table=table)
