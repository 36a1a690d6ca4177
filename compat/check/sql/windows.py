"""Windows: those of table functions (TUMBLE, HOP, CUMULATE, SESSION) and of GROUP BY."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import replace

from compat.check.sql.aspects import Aspect
from compat.check.sql.meaning import Difference, Words
from compat.check.sql.rows import Rows, Traced, picked

_NAMES = {
    "TumblingWindow": "TUMBLE",
    "HoppingWindow": "HOP",
    "CumulativeWindow": "CUMULATE",
    "SessionWindow": "SESSION",
    "TUMBLING": "TUMBLE",
    "SLIDING": "HOP",
}
_PARTS = ("step", "slide", "size", "maxSize", "gap", "offset")


class Window(Struct, frozen=True):
    """A window: its kind and sizes, the time that it goes by, and whether that is event time.

    ``sliced`` is true for windows with one accumulator for each slice of time, kept under the slice's end, and false for
    windows kept under their own bounds (Flink: ``SliceAssigner``, ``TimeWindow``). ``attached`` is true if an earlier part of
    the query gave the rows their windows: then one number is kept for each window.
    """

    kind: str
    sizes: tuple[tuple[str, str], ...]
    event_time: bool
    time: Traced
    sliced: bool
    attached: bool = False
    under: str = ""

    @property
    def lengths(self) -> Mapping[str, timedelta]:
        """The sizes as lengths of time."""
        return {name: convert(size, timedelta) for name, size in self.sizes}

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} {_duration(size)}" for name, size in self.sizes)
        return " ".join(
            filter(None, (f"{self.kind}({sizes})", "" if self.event_time else "of processing time", self.under))
        )


class Windowing(Struct, frozen=True, rename="camel"):
    """A window of a table function, in a plan (Flink: ``WindowingStrategy``)."""

    window: dict[str, Any]
    strategy: str = ""
    time_attribute_index: int = -1
    is_rowtime: bool = True
    under: str = ""

    @property
    def keys(self) -> tuple[int, ...]:
        """The columns of the PARTITION BY of sessions."""
        return convert(self.window.get("partition_key_indices", ()), tuple[int, ...])

    def over(self, rows: Rows) -> Window:
        """The window over the rows. Where only its bounds are left in the rows, its time is told there."""
        time = picked(rows, (self.time_attribute_index,)) if self.time_attribute_index >= 0 else ()
        found = _window(str(self.window.get("type", "")), self.window, self.is_rowtime, time, sliced=True)
        return replace(found, attached=self.strategy == "WindowAttached", under=self.under)


def group_window(window: dict[str, Any], rows: Rows) -> Window:
    """The window of a GROUP BY (Flink: ``LogicalWindow``)."""
    field = window.get("timeField") or {}
    kind = field.get("fieldType")
    event_time = not (isinstance(kind, dict) and kind.get("kind") == "PROCTIME")
    time = picked(rows, (int(field.get("fieldIndex", -1)),))
    found = _window(str(window.get("kind", "")), window, event_time, time, sliced=False)
    if window.get("isTimeWindow") is False:
        return Window(f"{found.kind} of rows", found.sizes, event_time, time, sliced=False)
    return replace(found, under=window.get("under", ""))


def _window(kind: str, spec: dict[str, Any], event_time: bool, time: Traced, *, sliced: bool) -> Window:
    sizes = tuple((name, str(spec[name])) for name in _PARTS if spec.get(name) not in (None, "PT0S"))
    return Window(_NAMES.get(kind, kind), sizes, event_time, time, sliced)


def window_changes(
    old: Window | None, new: Window | None, words: Words, *, slices: bool = False
) -> Iterator[Difference]:
    """Whether windows changed, and whether the contents of the open ones are right for the new ones.

    With ``slices``, what is kept is made of slices of time when a window ends.
    """
    if old is None or new is None:
        if old is not new:
            yield Difference(Aspect.WINDOW, "it is over a window on one side only", _SLICES)
        return
    if old.time != new.time and old.time and new.time:
        was, now = words.both(old.time, new.time)
        yield Difference(
            Aspect.WINDOW,
            f"its windows went by {was} and go by {now}",
            "Windows that are open at the savepoint hold rows by the old time",
        )
    if (old.kind, old.sizes, old.event_time, old.under) == (new.kind, new.sizes, new.event_time, new.under):
        return
    title = f"its window was {old} and is {new}"
    same = (old.kind, old.event_time, old.under) == (new.kind, new.event_time, new.under)
    if same and old.kind == "SESSION":
        since = "Sessions that are open at the savepoint end by the old gap, unless rows come before that"
        yield Difference(Aspect.WINDOW, title, "", since, output=False)
    elif same and old.kind == "TUMBLE" and not old.sliced:
        wrong = "Windows that are open at the savepoint end as they began; the first new ones lack the rows in them"
        yield Difference(Aspect.WINDOW, title, wrong)
    elif slices and _fewer_slices(old, new):
        since = "It kept the slices of time that the smaller windows are made of, and some more, which stay unused"
        yield Difference(Aspect.WINDOW, title, "", since)
    else:
        yield Difference(Aspect.WINDOW, title, _SLICES)


_SLICES = "Windows that are open at the savepoint were filled by the old rule, and are read by the new one"


def _fewer_slices(old: Window, new: Window) -> bool:
    """True for HOP windows of the same slices, of which the new ones need fewer (Flink: ``HoppingSliceAssigner``).

    A size is a multiple of the slide, so that a slice is as long as the slide.
    """
    if not (old.sliced and new.sliced) or old.attached or new.attached:
        return False
    if old.kind != "HOP" or (old.kind, old.event_time, old.under) != (new.kind, new.event_time, new.under):
        return False
    before, after = old.lengths, new.lengths
    return after["size"] < before["size"] and all(before.get(one) == after.get(one) for one in ("slide", "offset"))


def _duration(text: str) -> str:
    """``PT2M`` as ``2 min``."""
    units = (("H", " h"), ("M", " min"), ("S", " s"))
    shown = text.removeprefix("PT")
    for letter, unit in units:
        shown = shown.replace(letter, f"{unit} ")
    return shown.strip() if text.startswith("PT") else text
