"""The differences between an operator's state in OLD and in NEW, and their wording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from compat.check.sql.aspects import Aspect
from compat.check.sql.contents import Part, Start, Uncounted, places_of
from compat.check.sql.expressions import Expression
from compat.check.sql.rows import Branch, Lineage, Rows, Traced, traced


class Difference(Struct, frozen=True):
    """A difference between OLD and NEW, in words.

    ``holds`` is why OLD's state is wrong under NEW's meaning; empty if it is right, and only the output before the
    restore follows OLD (``since`` says so). ``output`` says that the operator emits other rows after the restore, which matters
    to operators that keep them. ``parts`` is set if the kept things could be rewritten for NEW.
    """

    aspect: Aspect
    title: str
    holds: str
    since: str = ""
    output: bool = True
    parts: tuple[Part | Uncounted, ...] | None = None


class Words(Struct, frozen=True):
    """The names of columns in the two versions."""

    old: Lineage
    new: Lineage

    def both(self, old: Traced, new: Traced, form: Callable[[list[str]], str] = ", ".join) -> tuple[str, str]:
        """Traced expressions of both versions as text."""
        return _text(old, self.old, form), _text(new, self.new, form)


def _moved(what: str, was: str, now: str, *, many: bool = False) -> str:
    """What something was and is; columns of one name that come from elsewhere are no two things to a reader."""
    if was == now:
        return f"{what} {'have' if many else 'is'} another {now} than before"
    return f"{what} had {was} and have {now}" if many else f"{what} was {was} and is {now}"


def _text(traced: Traced, lineage: Lineage, form: Callable[[list[str]], str]) -> str:
    texts = dict.fromkeys(form([lineage.text(one) for one in branch]) for branch in traced)
    return " or ".join(texts)


class Meaning(Protocol):
    """The meaning of an operator's state. Both sides of a comparison are of the same class."""

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to what NEW keeps."""
        ...


def conditions(old: Rows, new: Rows, words: Words) -> Iterator[Difference]:
    """Differences in where the rows come from, or in the conditions that they meet."""
    if [branch.origin for branch in _sorted(old)] != [branch.origin for branch in _sorted(new)]:
        yield Difference(
            Aspect.ROWS,
            "its rows come from another part of the query",
            "Its state comes from the rows that it read before",
        )
        return
    before, after = (traced(rows, lambda branch: sorted(branch.conditions, key=repr)) for rows in (old, new))
    if before == after:
        return
    olds, news = ({one for branch in side for one in branch} for side in (before, after))
    gone, come = _where(olds - news, words.old), _where(news - olds, words.new)
    if gone == come:
        title = "the rows that it reads are made in another way"
    elif gone and come:
        title = f"the rows that it reads were WHERE {gone} and are WHERE {come}"
    else:
        title = f"its rows no longer have to meet {gone}" if gone else f"its rows now have to meet {come}"
    yield Difference(Aspect.ROWS, title, "Its state comes from the rows that met the old condition")


def _where(conditions: set[Expression], lineage: Lineage) -> str:
    return " AND ".join(sorted(lineage.text(one) for one in conditions))


def _sorted(rows: Rows) -> list[Branch]:
    return sorted(rows, key=lambda branch: branch.origin)


def keys(old: Traced, new: Traced, words: Words, what: str) -> Iterator[Difference]:
    """Whether the state has another key."""
    if old != new:
        was, now = words.both(old, new, lambda parts: ", ".join(parts) or "no key")
        yield Difference(
            Aspect.KEYS,
            _moved(what, was, now),
            "The state of a value of the old key goes on for the same value of the new key",
        )


class Stored(Struct, frozen=True):
    """The rows that are kept as a whole: ``states`` hold them, None if that is not told.

    ``found`` says that a row is found by its key or its time, not by equality with the row that retracts it. ``marks`` says
    that no row is kept, only a mark that there was one, or their number, or their sum.
    """

    rows: Rows
    states: tuple[str, ...] | None = None
    found: bool = True
    marks: bool = False


def kept(old: Stored, new: Stored, words: Words, which: str = "the rows") -> Iterator[Difference]:
    """Whether the rows that are kept as a whole have other columns."""
    before, after = (traced(stored.rows, lambda branch: branch.columns) for stored in (old, new))
    if before == after or old.marks:
        return
    yield Difference(
        Aspect.ROWS,
        _columns_moved(f"{which} that it keeps", before, after, words),
        "Its rows have the old columns, and are read as the new ones",
        parts=parts_of_rows(old, new, words),
    )


def parts_of_rows(old: Stored, new: Stored, words: Words) -> tuple[Part, ...] | None:
    """The contents of the states that hold rows; None if unknown, or if rows come from several places."""
    before, after = (traced(stored.rows, lambda branch: branch.columns) for stored in (old, new))
    if old.states is None or old.states != new.states or not len(before) == len(after) == 1:
        return None
    start = Start.NULL if new.found else Start.UNTOLD
    return tuple(
        Part(
            state,
            places_of(before[0], after[0]),
            (start,) * len(after[0]),
            tuple(map(words.old.text, before[0])),
            tuple(map(words.new.text, after[0])),
            of_rows=True,
        )
        for state in old.states
    )


def _columns_moved(what: str, before: Traced, after: Traced, words: Words) -> str:
    """The columns that were added, removed or changed, without those that stay."""
    if not len(before) == len(after) == 1:
        return _moved(what, *words.both(before, after), many=True)
    gone, come = (
        [one for one in ones if one not in others] for ones, others in ((before[0], after[0]), (after[0], before[0]))
    )
    was, now = ", ".join(map(words.old.text, gone)), ", ".join(map(words.new.text, come))
    if not gone and not come:
        return f"{what} have their columns in another order"
    if gone and come:
        return _moved(what, was, now, many=True)
    return f"{what} no longer have {was}" if gone else f"{what} have {now} besides"


def watermarks(old: Rows, new: Rows, words: Words) -> Iterator[Difference]:
    """Whether the watermark is another one, for operators that wait for it."""
    before, after = (traced(rows, lambda branch: _marks(branch)) for rows in (old, new))
    if before != after:
        was, now = words.both(before, after, lambda parts: ", ".join(parts) or "none")
        yield Difference(
            Aspect.WINDOW,
            _moved("the watermark", was, now),
            "",
            "Waiting rows go on waiting; from now on the new watermark decides which rows are late",
            output=False,
        )


def _marks(branch: Branch) -> Iterable[Expression]:
    return () if branch.watermark is None else (branch.watermark,)
