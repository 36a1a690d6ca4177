"""The pictures of the pages of rules: what the page of a check shows of examples.

``python docs/pictures.py`` draws them in ``docs/pages/pictures`` with a browser (the extra ``browser``, and Debian's chromium).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pages" / "pictures"
EXAMPLES = {"CMP102": "window_word_count", "CMP103": "word_count", "CMP404": "fraud_detection"}
"""The rules that have a picture, and the example that it is of."""
WIDTH, HEIGHT = 1280, 900


def draw() -> None:
    """Draw all of them."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for rule, example in EXAMPLES.items():
            report = Path(folder) / f"{rule}.html"
            programs = [f"compat/examples/{example}/{version}.py" for version in ("v1", "v2")]
            subprocess.run(
                [sys.executable, "-m", "compat", "check", *programs, "--output", f"html={report}"],
                cwd=ROOT,
                check=False,
            )
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            page.goto(report.as_uri())
            page.wait_for_selector(".box .node")
            page.locator(".stage").first.screenshot(path=PICTURES / f"{rule}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    draw()
