"""The command ``compat``, also as ``python -m compat``."""

from __future__ import annotations

import gc
import sys

_LOADING = ("check", "explain", "plan")


def main() -> None:
    """Run the command line; if it is going to load programs, first start the interpreter for them."""
    if sys.argv[1:2] and sys.argv[1] in _LOADING:
        gc.disable()  # the process lives for one command
        if any(argument.endswith(".py") for argument in sys.argv[2:]):
            from compat.loader.interpreter import warm_up

            warm_up()
    from compat.cli import main as command

    command(prog_name="compat")


if __name__ == "__main__":
    main()
