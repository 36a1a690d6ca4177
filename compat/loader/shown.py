"""Files as the user knows them: the program as it was named, others below the folder of the command."""

from __future__ import annotations

import os
from collections.abc import Callable


def show_path(path: str, shown: str, root: str = "", root_shown: str = "") -> Callable[[str], str]:
    """What reports call a file, for the program at ``path`` that they call ``shown``; ``root`` is shown as ``root_shown``."""
    here = os.getcwd() + os.sep

    def show(file: str) -> str:
        if file == path:
            return shown
        if root and file.startswith(root):
            return root_shown + file[len(root) :].lstrip(os.sep)
        return file.removeprefix(here)

    return show
