"""The checks of all pairs of the table."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from compat.check.findings import Finding, Level, Report
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare, decide
from compat.loader.inputs import LoadOptions
from compat.loader.process import finish, start
from compat.loader.request import Request
from compat.state.model.job import Plan, Refused
from tests.compat.pairs.model import Pair, Saved, Side, Topology

CLUSTER = {"parallelism.default": "2", "python.execution-mode": "process"}
_AT_ONCE = 16


class Judged(Struct, frozen=True):
    """The outcome for a pair."""

    outcome: Report | Undecided

    @property
    def verdict(self) -> str:
        """The verdict in a word."""
        return self.outcome.verdict.value

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of a check that was made."""
        return self.outcome.findings if isinstance(self.outcome, Report) else ()

    def rules(self, *, notes: bool = False) -> set[str]:
        """The rules that speak, and those of what failed."""
        if isinstance(self.outcome, Undecided):
            return {failure.rule for failure in self.outcome.failures}
        return {finding.rule for finding in self.findings if notes or finding.level is not Level.NOTE}


def judge_all(pairs: list[Pair], folder: Path) -> dict[str, Judged]:
    """The outcome for each pair by its name. Programs are loaded many at once where nothing of a pair asks for more."""
    plain = [pair for pair in pairs if pair.plain]
    plans = plans_of([str(script) for pair in plain for script in (pair.old, pair.new)], folder)
    judged = {}
    for pair in pairs:
        if pair.plain:
            judged[pair.name] = Judged(
                decide(plans[str(pair.old)], plans[str(pair.new)], Comparison("old.py", "new.py"), {})
            )
        else:
            (outcome,) = compare(comparison_of(pair, folder / pair.name)).outcomes
            judged[pair.name] = Judged(outcome)
    return judged


def comparison_of(pair: Pair, folder: Path) -> Comparison:
    """The pair, written into a folder, with its options."""
    folder.mkdir()
    load = LoadOptions(options={**CLUSTER, **pair.definitions}, flink=pair.flink, timeout=pair.timeout)
    names = None if pair.names is None else _written(pair.names, folder / "names")
    load_old = replace(load, flink=pair.old_flink or pair.flink)
    old, new = _written(pair.old, folder / "old"), _written(pair.new, folder / "new")
    return Comparison(old, new, load=load, load_old=load_old, names=names)


def _written(side: Side, path: Path) -> str:
    if isinstance(side, Saved):
        return str(side.put(path))
    path = path.with_suffix(".json" if isinstance(side, Topology) else ".py")
    path.write_text(side.text if isinstance(side, Topology) else side, encoding="utf-8")
    return str(path)


def plans_of(scripts: list[str], folder: Path) -> dict[str, Plan | Refused]:
    scripts = list(dict.fromkeys(scripts))
    found: dict[str, Plan | Refused] = {}
    for first in range(0, len(scripts), _AT_ONCE):
        batch = scripts[first : first + _AT_ONCE]
        requests = [_request(folder / f"{first + place}.py", script) for place, script in enumerate(batch)]
        for script, outcome in zip(batch, finish(start(requests)), strict=True):
            (found[script],) = outcome.plans  # type: ignore[union-attr]
    return found


def _request(file: Path, script: str) -> Request:
    file.write_text(script, encoding="utf-8")
    return Request(path=str(file), shown="job.py", options=CLUSTER)
