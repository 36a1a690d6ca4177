"""The page of a check: how long it takes until its picture is there, and how much of that is the layout.

    python tests/benchmarks/bench_page.py
    python tests/benchmarks/bench_page.py --operators 50 300 --times 9 --shape joined

Jobs of so many operators are checked against a version in which two uids are others, and the page of each is opened in Chromium
by itself, with everything drawn: ``branches`` is a source with chains of three behind it, ``chain`` one chain, ``joined`` has
unions and sinks as they come by a seed. Prints the medians, and the load of the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from compat.loader.topology import plan_of
from compat.state.model.job import Plan
from tests.compat.browser.conftest import FLAGS, settle
from tests.compat.browser.samples import check_page

WATCH = """() => {
    const place = window.compatView.place;
    window.compatView.place = (...given) => {
        const start = performance.now();
        const found = place(...given);
        window.placing = performance.now() - start;
        return found;
    };
}"""


def keyed(name: str, before: str, moved: bool) -> list[dict[str, Any]]:
    uid = f"uid of {name}" + (" now" if moved else "")
    return [
        {"id": f"key {name}", "kind": "key_by", "inputs": [before]},
        {"id": name, "kind": "keyed_process", "name": name, "uid": uid, "inputs": [f"key {name}"]},
    ]


def branches(count: int, moved: bool) -> list[dict[str, Any]]:
    ops: list[dict[str, Any]] = [{"id": "in", "kind": "source", "uid": "in"}]
    for branch in range((count - 1) // 4):
        before = "in"
        for place in range(3):
            ops += keyed(f"count {branch * 3 + place}", before, moved and (branch, place) in ((1, 1), (0, 0)))
            before = ops[-1]["id"]
        ops.append({"id": f"out {branch}", "kind": "print", "inputs": [before]})
    return ops


def chain(count: int, moved: bool) -> list[dict[str, Any]]:
    ops: list[dict[str, Any]] = [{"id": "in", "kind": "source", "uid": "in"}]
    for place in range(count - 2):
        ops += keyed(f"count {place}", ops[-1]["id"], moved and place in (1, count // 2))
    return [*ops, {"id": "out", "kind": "print", "inputs": [ops[-1]["id"]]}]


def joined(count: int, moved: bool) -> list[dict[str, Any]]:
    draw = random.Random(1)
    ops: list[dict[str, Any]] = [
        {"id": f"in {n}", "kind": "source", "uid": f"in {n}"} for n in range(max(1, count // 25))
    ]
    ends = [each["id"] for each in ops]
    for place in range(count - 4 * len(ends)):
        near = ends[-12:]
        if draw.random() < 0.15 and len(near) > 3:
            pair = draw.sample(near, 2)
            ops.append({"id": f"all {place}", "kind": "union", "inputs": pair})
            ends = [end for end in ends if end not in pair]
            before = f"all {place}"
        else:
            before = draw.choice(near)
            if draw.random() > 0.12:
                ends.remove(before)
        ops += keyed(f"count {place}", before, moved and place in (1, count // 2))
        ends.append(ops[-1]["id"])
    return ops + [{"id": f"out of {end}", "kind": "print", "inputs": [end]} for end in ends]


SHAPES: dict[str, Callable[[int, bool], list[dict[str, Any]]]] = {
    "branches": branches,
    "chain": chain,
    "joined": joined,
}


def written(folder: Path, shape: str, count: int) -> tuple[str, int]:
    """The address of the page, and how many operators there are indeed."""
    plans = [plan_of({"name": shape, "ops": SHAPES[shape](count, moved)}, "2.3", {}) for moved in (False, True)]
    old, new = (plan for plan in plans if isinstance(plan, Plan))
    return check_page(folder, old, new), len(old.operators)


def opened(browser: Any, address: str) -> tuple[float, float, float]:
    """The milliseconds until the picture is there; those of another layer's; and of these what the layout took."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(address + "#/0/picture/stream?show=all")
    settle(page)
    there: float = page.evaluate("performance.now()")
    page.evaluate(WATCH)
    begun: float = page.evaluate("(location.hash = '#/0/picture/execution?show=all', performance.now())")
    settle(page)
    anew, placing = page.evaluate(f"[performance.now() - {begun}, window.placing]")
    page.context.close()
    return there, anew, placing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", nargs="+", type=int, default=[8, 50, 300])
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    print(
        "| shape | operators | page there, ms | another layer, ms | of that the layout, ms |\n| --- | --- | --- | --- | --- |"
    )
    with sync_playwright() as started, tempfile.TemporaryDirectory() as folder:
        browser = started.chromium.launch(executable_path=chromium, args=FLAGS)
        for shape in options.shape:
            for count in options.operators:
                address, operators = written(Path(folder), shape, count)
                runs = [opened(browser, address) for _ in range(options.times)]
                there, anew, placing = (statistics.median(each) for each in zip(*runs, strict=True))
                print(f"| {shape} | {operators} | {there:.0f} | {anew:.0f} | {placing:.1f} |")
        browser.close()
    print(f"\nLoad of the machine: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")


if __name__ == "__main__":
    main()
