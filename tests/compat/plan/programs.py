"""Classes of small programs, made of their text."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


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
