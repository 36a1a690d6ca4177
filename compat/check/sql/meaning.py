"""The differences between what an operator kept in OLD and what it would keep in NEW, and the words for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from compat.check.sql.aspects import Aspect
from compat.check.sql.expressions import Expression
from compat.check.sql.rows import Branch, Lineage, Rows, Traced, traced


class Difference(Struct, frozen=True):
    """A difference: what stood in OLD and what stands in NEW, as a person would say it.

    ``holds`` is why what OLD kept is wrong under NEW's meaning; empty if it is right, and only what was put out before is
    as OLD had it (``since`` says so). ``output`` tells that other rows come out from the restore on, which counts for those
    who keep them. ``same`` is there where what is kept is one thing beside the other: for each of NEW's the places in OLD of
    those that are the same. ``zero`` says which of NEW's begin with zero, and not with nothing; ``was`` and ``now`` are what
    they are called.
    """

    aspect: Aspect
    title: str
    holds: str
    since: str = ""
    output: bool = True
    same: tuple[frozenset[int], ...] | None = None
    zero: tuple[bool, ...] = ()
    was: tuple[str, ...] = ()
    now: tuple[str, ...] = ()

    def is_settled(self, places: tuple[int | None, ...]) -> bool:
        """Whether what is kept was written anew so that all of it is the same: each is from one of these places, or begins."""
        return (
            self.same is not None
            and len(places) == len(self.same)
            and all(place is None or place in same for place, same in zip(places, self.same, strict=True))
        )


class Words(Struct, frozen=True):
    """How the two versions call their columns."""

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
    """What an operator keeps. Both sides of a comparison are of one class."""

    def differences(self, new: Meaning, words: Words) -> Iterator[Difference]:
        """The differences to what NEW keeps."""
        ...


T = TypeVar("T")


def conditions(old: Rows, new: Rows, words: Words) -> Iterator[Difference]:
    """Whether the rows come from elsewhere, or meet other conditions."""
    if [branch.origin for branch in _sorted(old)] != [branch.origin for branch in _sorted(new)]:
        yield Difference(
            Aspect.ROWS,
            "its rows come from another part of the query",
            "What it kept is of the rows that it read before",
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
        title = f"its rows no longer have to meet {gone}" if gone else f"its rows have to meet {come} now"
    yield Difference(Aspect.ROWS, title, "What it kept is of the rows that the old condition let through")


def _where(conditions: set[Expression], lineage: Lineage) -> str:
    return " AND ".join(sorted(lineage.text(one) for one in conditions))


def _sorted(rows: Rows) -> list[Branch]:
    return sorted(rows, key=lambda branch: branch.origin)


def keys(old: Traced, new: Traced, words: Words, what: str) -> Iterator[Difference]:
    """Whether state is kept by another key."""
    if old != new:
        was, now = words.both(old, new, lambda parts: ", ".join(parts) or "no key")
        yield Difference(
            Aspect.KEYS,
            _moved(what, was, now),
            "What it kept for a value of the old key goes on for the same value of the new key",
        )


def kept(old: Rows, new: Rows, words: Words, which: str = "the rows") -> Iterator[Difference]:
    """Whether the rows that are kept as a whole have other columns."""
    before, after = (traced(rows, lambda branch: branch.columns) for rows in (old, new))
    if before == after:
        return
    yield Difference(
        Aspect.ROWS,
        _columns_moved(f"{which} that it keeps", before, after, words),
        "The rows that it kept have the old columns, and are taken for the new ones",
        same=places_of(before[0], after[0]) if len(before) == len(after) == 1 else None,
        zero=(False,) * sum(map(len, after)),
        was=tuple(words.old.text(one) for one in before[0]) if before else (),
        now=tuple(words.new.text(one) for one in after[0]) if after else (),
    )


def places_of(old: Sequence[T], new: Sequence[T]) -> tuple[frozenset[int], ...]:
    """For each of NEW's the places in OLD of those that are the same."""
    return tuple(frozenset(place for place, before in enumerate(old) if before == after) for after in new)


def _columns_moved(what: str, before: Traced, after: Traced, words: Words) -> str:
    """Which columns came, went, or are others, without those that stay."""
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
            "What waits for the time to pass goes on; rows count as late by the new watermark from now on",
            output=False,
        )


def _marks(branch: Branch) -> Iterable[Expression]:
    return () if branch.watermark is None else (branch.watermark,)
