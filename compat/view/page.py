"""One self-contained file: data, styles and scripts are inside, nothing is fetched, and a policy forbids it.

The parts are the same files that the service serves one by one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

import compat
from compat.view.names import shortened

STYLES = ("base.css", "view.css")
HEAD_SCRIPT = "theme.js"
"""The script that runs before anything is shown, so that neither colours nor views change visibly."""
SCRIPTS = (
    "dom.js",
    "data.js",
    "address.js",
    "layout.js",
    "ways.js",
    "choice.js",
    "boxes.js",
    "links.js",
    "map.js",
    "picture.js",
    "drawer.js",
    "panel.js",
    "search.js",
    "keys.js",
    "view.js",
)
"""The scripts, in the order in which they run."""


def render_page(title: str, sections: Sequence[dict[str, Any]]) -> str:
    """The page of some sections (:mod:`compat.view.page_values`) as the text of one HTML file."""
    styles = [static(name) for name in STYLES]
    head, *scripts = [static(name) for name in (HEAD_SCRIPT, *SCRIPTS)]
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, (head, *scripts)))}",
            f"style-src {' '.join(map(_hash, styles))}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return (
        environment()
        .get_template("file.html")
        .render(
            title=title,
            sections=sections,
            styles=styles,
            head_script=head,
            scripts=scripts,
            policy=policy,
            version=compat.__version__,
        )
    )


@cache
def environment() -> jinja2.Environment:
    """The templates' environment. Values are escaped; a missing name is an error."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("compat.view"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["shortened"] = shortened
    return found


def static(name: str) -> str:
    """The text of a script or style, safe inside a page."""
    text = files("compat.view").joinpath("static", name).read_text(encoding="utf-8")
    if "</script" in text or "</style" in text or "<!--" in text:
        raise ValueError(f"{name} would end the element that it stands in")
    return text


def _hash(text: str) -> str:
    """The source expression of a Content-Security-Policy that lets exactly this text run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
