"""Classes of small programs, made of their text."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import msgspec

from compat.state.model.contents import Shapes


def made(text: str, folder: Path) -> Any:
    """An object of the class ``F`` of a program in the folder."""
    file = folder / "program.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("program_of_a_test", file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.F()


def bare(shapes: Shapes) -> Shapes:
    """The structures alone, without what code computes the parts of."""
    return tuple(
        msgspec.structs.replace(
            one, parts=tuple(map(bare, one.parts)), sources=(), keys=() if one.kind == "object" else one.keys
        )
        for one in shapes
    )


def bare_states(found: dict[str, Shapes]) -> dict[str, Shapes]:
    """The same by state."""
    return {state: bare(shapes) for state, shapes in found.items()}
