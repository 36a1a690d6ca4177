"""The project's settings for ``compat check``, for what the command line leaves out: its jobs, and their baseline."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from compat import settings as configuration
from compat.settings import SettingsError

_MODES = ("savepoints", "pairs")


def complete(context: click.Context) -> None:
    """Fill in the jobs and the revision, as click does from a file of defaults. Raises a usage error.

    Without files, the jobs of the settings are checked; these, or a single file, against the revision of the settings.
    """
    given = context.params
    if given["changed"]:
        if not any(given[mode] for mode in _MODES) and not _on_command_line(context, "server"):
            _complete_changed(context)
        return
    if given["new"] is not None or any(given[mode] for mode in _MODES):
        return
    if given["server"] and (given["old"] is not None or not _on_command_line(context, "against")):
        return
    near = [] if given["old"] is None or given["old"].startswith("git:") else [Path(given["old"])]
    try:
        found = configuration.find(Path.cwd(), *near)
        jobs = found.job_files() if given["old"] is None else []
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    if given["old"] is None and not jobs:
        return
    if given["against"] is None:
        if found.against is None and jobs:
            raise click.UsageError(
                f"{found.path} names jobs, but not the revision to compare them with: add --against REF, or set "
                'baseline = "git:origin/main" there.'
            )
        _fill(context, against=found.against)
    if jobs:
        _fill(context, old=jobs[0], new=jobs[1] if len(jobs) > 1 else None, more=tuple(jobs[2:]))


def _complete_changed(context: click.Context) -> None:
    """Fill in the revision that a change is compared with: that of the settings, or the last commit."""
    if context.params["against"] is None:
        try:
            found = configuration.find(Path.cwd())
        except SettingsError as error:
            raise click.UsageError(str(error)) from error
        _fill(context, against=found.against or "HEAD")


def from_settings(context: click.Context, name: str) -> bool:
    """Whether a parameter's value comes from the settings."""
    return context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP


def _fill(context: click.Context, **values: str | tuple[str, ...] | None) -> None:
    for name, value in values.items():
        if value is not None:
            context.params[name] = value
            context.set_parameter_source(name, ParameterSource.DEFAULT_MAP)


def _on_command_line(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE
