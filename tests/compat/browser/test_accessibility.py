"""axe-core over every view: nothing serious."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.compat.browser.samples import NEW, OLD, all_fates, check_page, plan, plan_page, report_page


def serious(page: Any) -> list[str]:
    """Findings of axe-core that are serious or worse: the rule and the first element concerned."""
    axe = needs.module("axe_playwright_python.sync_playwright", "browser").Axe()
    found = axe.run(page).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


VIEWS = [
    "#/0/picture/stream",
    "#/0/picture/job?at=new:2&finding=0",
    "#/0/picture/job?open=",
    "#/0/picture/execution?at=old:v0",
    "#/0/tables/job?at=old:1",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_of_a_check(open_page: Any, tmp_path: Path, scheme: str) -> None:
    address = check_page(tmp_path, plan(*OLD), plan(*NEW))
    for view in VIEWS:
        assert serious(open_page(address + view, color_scheme=scheme)) == [], view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_fates_and_a_plan(open_page: Any, tmp_path: Path, scheme: str) -> None:
    assert serious(open_page(report_page(tmp_path, all_fates()), color_scheme=scheme)) == []
    assert serious(open_page(plan_page(tmp_path, plan(*OLD)), color_scheme=scheme, width=800)) == []


def test_search_and_help(open_page: Any, tmp_path: Path) -> None:
    page = open_page(check_page(tmp_path, plan(*OLD), plan(*NEW)))
    page.locator("input[type=search]").fill("count")
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert serious(page) == []
