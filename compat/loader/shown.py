"""Files as the user knows them: the program as it was named, others below the folder of the command."""

from __future__ import annotations

import os
from collections.abc import Callable


def show_path(path: str, shown: str, root: str = "", root_shown: str = "", folder: str = "") -> Callable[[str], str]:
    """What reports call a file, for the program at ``path`` that they call ``shown``.

    What is below ``root`` is shown as ``root_shown`` and the way to it from ``folder``, which is ``root`` where none is given.
    """
    here = os.getcwd()

    def show(file: str) -> str:
        if file == path:
            return shown
        if root and file.startswith(root):
            return root_shown + os.path.relpath(file, folder or root)
        return "." if file == here else file.removeprefix(here + os.sep)

    return show


def typed(path: str) -> str:
    """A path as it is typed in a command: from the working folder on, where it is below that."""
    shown = os.path.relpath(path)
    return path if shown.startswith(os.pardir) else shown
