"""Windows that merge. Flink: ``MergingWindowSet``, and its part of ``WindowOperator``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.window import MergingWindowAssigner, TimeWindow
from compat.compiler.spark.runtime_api.elements import MIN_TIMESTAMP
from compat.state.descriptors import MapStateDescriptor
from compat.state.names import MERGING_WINDOWS

if TYPE_CHECKING:
    from compat.compiler.spark.operators.windows import WindowOperator


class _Callback(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self, merges: list[tuple[set[Any], Any]]) -> None:
        self._merges = merges

    def merge(self, to_be_merged: Any, merge_result: Any) -> None:
        self._merges.append((set(to_be_merged), merge_result))


class MergingWindowSet:
    """The windows under which the contents of a key's windows are stored (Flink: ``MergingWindowSet``)."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def all(self) -> dict[Any, Any]:
        return {TimeWindow(*key): TimeWindow(*value) for key, value in self._state.items()}

    def get(self, window: Any) -> Any:
        found = self._state.get((window.start, window.end))
        return None if found is None else TimeWindow(*found)

    def put(self, window: Any, state_window: Any) -> None:
        self._state.put((window.start, window.end), (state_window.start, state_window.end))

    def remove(self, window: Any) -> None:
        if self._state.contains((window.start, window.end)):
            self._state.remove((window.start, window.end))


class MergingWindows:
    """The windows of an operator's keys that merge when they touch."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._windows: MergingWindowSet | None = None

    def windows(self) -> MergingWindowSet:
        """The windows of the present key."""
        if self._windows is None:
            self._windows = MergingWindowSet(
                self._operator.backend.cells(MapStateDescriptor(MERGING_WINDOWS, None, None))
            )
        return self._windows

    def state_window(self, window: Any) -> Any:
        """The window under which the contents of a window are stored; None for a window that no longer exists."""
        self._operator.backend.set_namespace(b"")
        return self.windows().get(window)

    def forget(self, window: Any) -> None:
        """Forget a window that is gone."""
        self._operator.backend.set_namespace(b"")
        self.windows().remove(window)

    def add(self, value: Any, time: int | None) -> None:
        """Put a record into its windows, which may merge with others."""
        operator, timestamp = self._operator, MIN_TIMESTAMP if time is None else time
        skipped = True
        operator.backend.set_namespace(b"")
        for window in operator.assigner.assign_windows(value, timestamp, operator.assigning):
            actual = self._put(window)
            if operator.is_late(actual):
                self.forget(actual)
                continue
            skipped = False
            state_window = self.state_window(actual)
            operator.select(state_window)
            operator.append(value, time)
            operator.select(actual)
            operator.act(
                operator.trigger.on_element(value, timestamp, actual, operator.triggering), actual, state_window, time
            )
            operator.register_cleanup(actual)
        if skipped:
            operator.too_late(value, timestamp, time)

    def _put(self, window: TimeWindow) -> Any:
        """Put a window into the set of the key; gives the window it became part of."""
        operator = self._operator
        operator.backend.set_namespace(b"")
        windows = self.windows()
        known = windows.all()
        merges: list[tuple[set[Any], Any]] = []
        operator.assigner.merge_windows([*known, window], _Callback(merges))
        result = window
        for members, merged in merges:
            if window in members:
                result = merged
            members = {member for member in members if member in known}
            if not members or (members == {merged} and merged in known):
                continue
            self._merge(windows, members, merged, known)
        if result == window and window not in known and not any(window in members for members, _ in merges):
            windows.put(window, window)
        operator.backend.set_namespace(b"")
        if windows.get(result) is None:
            windows.put(result, result)
        return result

    def _merge(self, windows: MergingWindowSet, members: set[Any], merged: Any, known: dict[Any, Any]) -> None:
        operator = self._operator
        ordered = sorted(members)
        keep = known[ordered[0]]
        others = [known[member] for member in ordered[1:]]
        for member in ordered:
            windows.remove(member)
        windows.put(merged, keep)
        operator.triggering.merged = ordered
        operator.select(merged)
        operator.trigger.on_merge(merged, operator.triggering)
        for member in ordered:
            if member != merged:
                operator.select(member)
                operator.trigger.clear(member, operator.triggering)
                operator.delete_cleanup(member)
        if others:
            operator.contents.merge([operator.slot_of(each) for each in others], operator.slot_of(keep))
        operator.backend.set_namespace(b"")

    def move_session(self, known: TimeWindow, grown: TimeWindow) -> None:
        """Give a session of the present key its window as it has grown, and select the one that its contents are under."""
        operator = self._operator
        windows = self.windows()
        every = windows.all()
        if grown != known:
            self._merge(windows, {known}, grown, every)
            operator.register_cleanup(grown)
        operator.select(every[known])
