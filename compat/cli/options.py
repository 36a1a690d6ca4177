"""Options that several commands share."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem
from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.versions import FLINK_VERSIONS, LATEST_FLINK
from compat.loader.inputs import FlinkJars, LoadOptions
from compat.loader.late import MOST_SECONDS
from compat.loader.process import DEFAULT_TIMEOUT
from compat.loader.revisions import revision_of
from compat.report import NAMES as FORMAT_NAMES

if TYPE_CHECKING:
    from compat.deployment.resources import Deployment
    from compat.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
IMPORTABLE = (".py", ".zip", ".egg", ".whl")
"""The extensions of files that Python imports from."""


flink_option = click.option(
    "--flink", type=click.Choice(FLINK_VERSIONS), help=f"The version of Flink to follow (default {LATEST_FLINK})."
)


def found_around(function: F) -> F:
    """The options for the surroundings of programs in Python: --env and --pyfiles."""
    for option in (
        click.option(
            "--env",
            multiple=True,
            metavar="NAME=VALUE",
            help="An environment variable for programs in Python and jars. Repeatable.",
        ),
        click.option(
            "--pyfiles",
            "-pyfs",
            "--pyFiles",
            "pyfiles",
            multiple=True,
            metavar="PATHS",
            help="Modules, folders and archives that Python programs import from, comma-separated. Repeatable.",
        ),
    ):
        function = option(function)
    return function


def _seconds(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """A time in seconds from an option. Raises a usage error for anything else."""
    if value is not None and not 0 < value <= MOST_SECONDS:
        raise click.BadParameter(f"{value} is not a number of seconds above 0 and at most {MOST_SECONDS:,}.")
    return value


def where_flink_of_old_is(function: F) -> F:
    """The options for the location of OLD's Flink, if it differs from NEW's."""
    for option in (
        click.option("--old-flink-version", metavar="VERSION", help="--flink-version for OLD."),
        click.option("--old-flink-home", metavar="DIR", help="--flink-home for OLD."),
        click.option("--old-classpath", metavar="PATH", multiple=True, help="--classpath for OLD."),
    ):
        function = option(function)
    return function


def flink_of_old(options: Mapping[str, Any]) -> FlinkJars:
    """The location of OLD's Flink, from the options of :func:`where_flink_of_old_is`."""
    return FlinkJars(
        classpath=tuple(options["old_classpath"]), home=options["old_flink_home"], version=options["old_flink_version"]
    )


def jars_of_old(function: F) -> F:
    """The options for an OLD that is built by another Flink than NEW."""
    for option in (
        click.option(
            "--old-flink",
            type=click.Choice(FLINK_VERSIONS),
            help="--flink for OLD (default: that of NEW, or the one that OLD records).",
        ),
        click.option("--old-pyflink", metavar="PYTHON", help="--pyflink for OLD."),
        click.option("--old-main-class", metavar="CLASS", help="--main-class for OLD."),
        click.option("--old-runtime-properties", metavar="FILE", help="--runtime-properties for OLD."),
        where_flink_of_old_is,
        click.option("--old-connector", metavar="NAME", multiple=True, help="--connector for OLD."),
        click.option("--old-env", metavar="NAME=VALUE", multiple=True, help="--env for OLD, over those of NEW."),
        click.option("--old-pyfiles", metavar="PATHS", multiple=True, help="--pyfiles for OLD."),
    ):
        function = option(function)
    return function


def loading(function: F) -> F:
    """The load options of programs: -D, --flink, --timeout, --no-open, and where modules and jars come from."""
    for option in (
        click.option("--main-class", metavar="CLASS", help="The class of a jar to run (default: from its manifest)."),
        click.option(
            "--runtime-properties",
            metavar="FILE",
            help="For jars and programs in Python: the application_properties.json that AWS's Managed Service for Apache Flink "
            "would give.",
        ),
        click.option(
            "--flink-version", metavar="VERSION", help="For jars and SQL: the Flink version to download, such as 2.3.0."
        ),
        click.option(
            "--flink-home", metavar="DIR", help="For jars and SQL: where Flink is installed (default: FLINK_HOME)."
        ),
        click.option(
            "--classpath",
            metavar="PATH",
            multiple=True,
            help="For jars and SQL: a jar, a folder, or 'DIR/*'; Flink's jars, connectors. Repeatable.",
        ),
        click.option(
            "--connector",
            metavar="NAME[:RELEASE]",
            multiple=True,
            help="For jars, SQL and the Table API: a connector or format to download, such as kafka. Repeatable.",
        ),
        click.option(
            "--pyflink",
            metavar="PYTHON",
            help="For programs with the Table API: a Python interpreter or environment that has PyFlink "
            "(default: COMPAT_PYFLINK, "
            "the one of compat setup pyflink, or this one).",
        ),
        click.option(
            "--exact", is_flag=True, default=None, help="Have PyFlink itself build DataStream programs too, as proof."
        ),
        found_around,
        click.option("--strict-imports", is_flag=True, default=None, help="Fail where a module is not installed."),
        click.option("--no-open", is_flag=True, default=None, help="Do not call open() to find out states."),
        click.option(
            "--timeout",
            type=float,
            callback=_seconds,
            help=f"Seconds a program may take to build (default {DEFAULT_TIMEOUT:g}).",
        ),
        flink_option,
        click.option(
            "-D",
            "definitions",
            multiple=True,
            metavar="KEY=VALUE",
            help="A Flink option, as configured on the cluster.",
        ),
    ):
        function = option(function)
    return function


def deployments(function: F) -> F:
    """The options ``--deployment`` and ``--old-deployment``."""
    for option in (
        click.option("--old-deployment", metavar="FILE", help="--deployment for OLD (default: that of NEW)."),
        click.option(
            "--deployment",
            metavar="FILE",
            help="How NEW is deployed: a FlinkDeployment or FlinkSessionJob, config.yaml or flink-conf.yaml; its options "
            "count like -D, and risks of its upgrade are reported.",
        ),
    ):
        function = option(function)
    return function


def parse_deployment(path: str | None, option: str = "--deployment") -> Deployment | None:
    """The deployment in a file. Raises a usage error for a file without one."""
    if path is None:
        return None
    from compat.deployment.files import DeploymentError, read_deployment

    try:
        return read_deployment(Path(path))
    except DeploymentError as error:
        raise click.BadParameter(f"{error}.", param_hint=f"'{option}'") from error


def paths(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completion of an argument that can be a path, or something that the shell does not know."""
    return [CompletionItem(incomplete, type="file")]


def report_formats(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completion of a report format."""
    return [CompletionItem(name) for name in FORMAT_NAMES if name.startswith(incomplete)]


color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colours (default: auto, on a terminal; NO_COLOR and FORCE_COLOR count).",
)
"""The option of commands that print in colours."""


def colored(choice: str) -> bool:
    """Whether standard output gets colours: as chosen, else as the environment says, else on a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def local_path(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The absolute path that an option or argument gives. Raises a usage error for a path that is not on this machine."""
    from compat.state.stores.schemes import why_not_local, without_scheme

    if value is None:
        return None
    problem = why_not_local(value)
    if problem is not None:
        raise click.BadParameter(f"{problem}.")
    return os.path.abspath(without_scheme(value))


def place(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The place that an option or argument gives: an absolute path, or an address on storage that jobs can use. Raises
    a usage error for any other.
    """
    from compat.state.stores.schemes import is_remote, why_no_place, without_scheme

    if value is None:
        return None
    problem = why_no_place(value)
    if problem is not None:
        raise click.BadParameter(f"{problem}.")
    return value if is_remote(value) else os.path.abspath(without_scheme(value))


ship_option = click.option(
    "--ship/--no-ship",
    default=None,
    help="Send this Python environment to the machines of --master (default: to all but this one).",
)
"""The option of commands that start Spark."""

store_option = click.option(
    "--store",
    default=".compat",
    callback=place,
    show_default=True,
    envvar="COMPAT_STORE",
    help="The folder where jobs keep their state; also s3://BUCKET/FOLDER, gs://…, abfss://… and hdfs://….",
)
"""The option of commands for jobs that run."""


token_option = click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False),
    help="A file with the token (default: the variable COMPAT_TOKEN).",
)
"""The option for the token that a command sends to a server."""


def cluster_options(function: F) -> F:
    """The options ``--cluster`` and ``--token-file``."""
    named = click.option(
        "--cluster", metavar="URL", envvar="COMPAT_CLUSTER", help="A cluster that runs jobs, see compat cluster."
    )
    return named(token_option(function))


def server_options(required: bool) -> Callable[[F], F]:
    """The options ``--server`` and ``--token-file``."""

    def decorate(function: F) -> F:
        for option in (
            token_option,
            click.option(
                "--server",
                metavar="URL",
                required=required,
                envvar="COMPAT_SERVER",
                help="The service, see compat serve.",
            ),
        ):
            function = option(function)
        return function

    return decorate


def origin_options(function: F) -> F:
    """The options ``--commit`` and ``--author``."""
    for option in (
        click.option("--author", help="Who made the program (default: the author of git's last commit)."),
        click.option("--commit", help="The commit of the program (default: from git)."),
    ):
        function = option(function)
    return function


def parse_definitions(definitions: tuple[str, ...]) -> dict[str, str]:
    """The options of ``-D key=value``. Raises a usage error for any other form."""
    options = {}
    for definition in definitions:
        key, equals, value = definition.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{definition!r} is not of the form key=value.", param_hint="'-D'")
        options[key] = value
    return options


def parse_environment(given: Sequence[str], option: str = "--env") -> dict[str, str]:
    """The variables of ``--env NAME=VALUE``. Raises a usage error for any other form."""
    variables = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise click.BadParameter("it has the form NAME=VALUE.", param_hint=f"'{option}'")
        variables[name] = value
    return variables


def parse_pyfiles(given: Sequence[str], option: str = "--pyfiles") -> tuple[str, ...]:
    """The paths of ``--pyfiles``, made absolute. Raises a usage error for paths that Python cannot import from."""
    paths = [os.path.abspath(path) for one in given for path in one.split(",") if path]
    for path in paths:
        if not os.path.exists(path):
            raise click.BadParameter(f"{path} does not exist.", param_hint=f"'{option}'")
        if os.path.isfile(path) and not path.endswith(IMPORTABLE):
            raise click.BadParameter(
                f"{path} is neither a folder, nor a file of {', '.join(IMPORTABLE)}.", param_hint=f"'{option}'"
            )
    return tuple(paths)


class Surroundings(Struct, frozen=True, kw_only=True):
    """The environment of programs in Python: their import paths and variables, and whether missing modules are an error."""

    pyfiles: tuple[str, ...]
    environment: Mapping[str, str]
    strict_imports: bool | None = None


def project_settings(near: str | None = None) -> Settings:
    """The settings of the project, looked up here and at ``near``, with those of the job there. Raises a usage error."""
    from compat.settings import SettingsError, find

    revision, path = (None, None) if near is None else revision_of(near)
    try:
        found = find(Path.cwd(), *([Path(path)] if path and revision is None else []))
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    return found if path is None else found.of_job(path)


def surroundings_of(options: Mapping[str, Any], near: str | None = None) -> Surroundings:
    """The environment of programs from the command line, over the project's settings, found from here and ``near``."""
    found = project_settings(near)
    strict = options.get("strict_imports")
    return Surroundings(
        pyfiles=parse_pyfiles(options["pyfiles"]) or found.pyfiles or (),
        environment={**found.environment, **parse_environment(options["env"])},
        strict_imports=found.strict_imports if strict is None else strict,
    )


def loading_settings(options: Mapping[str, Any]) -> Settings:
    """The settings from a command line with the options of :func:`loading`."""
    from compat.settings import Settings

    return Settings(
        options=parse_definitions(options["definitions"]),
        flink=options["flink"],
        timeout=options["timeout"],
        no_open=options["no_open"],
        jars=jars(options),
        exact=options["exact"],
        pyfiles=parse_pyfiles(options["pyfiles"]) or None,
        environment=parse_environment(options["env"]),
        strict_imports=options["strict_imports"],
    )


def load_options(options: Mapping[str, Any], near: str | None = None) -> LoadOptions:
    """The load options of a command with the options of :func:`loading`, over the settings for the job at ``near``."""
    return project_settings(near).under(loading_settings(options)).load_options()


def arguments_for(job: str, given: str | None) -> tuple[str, ...]:
    """The arguments of a program: from the command line, else from the settings."""
    return split(project_settings(job).arguments(revision_of(job)[1]) if given is None else given)


def jars(options: Mapping[str, Any], prefix: str = "") -> FlinkJars:
    """Where Flink's classes come from, by a command's options; those for OLD have the prefix ``old_``."""
    return FlinkJars(
        classpath=tuple(options[f"{prefix}classpath"]),
        connectors=tuple(options[f"{prefix}connector"]),
        home=options[f"{prefix}flink_home"],
        version=options[f"{prefix}flink_version"],
        main_class=options[f"{prefix}main_class"],
        pyflink=options[f"{prefix}pyflink"],
        runtime_properties=options[f"{prefix}runtime_properties"],
    )


def load_options_of_old(options: Mapping[str, Any], new: LoadOptions) -> LoadOptions:
    """The load options of OLD, for a command with the options of :func:`jars_of_old`; by default those of NEW."""
    return replace(
        new,
        flink=options["old_flink"] or new.flink,
        flink_assumed=new.flink_assumed and options["old_flink"] is None,
        jars=jars(options, "old_").over(new.jars),
        pyfiles=parse_pyfiles(options["old_pyfiles"], "--old-pyfiles") or new.pyfiles,
        environment={**new.environment, **parse_environment(options["old_env"], "--old-env")},
    )


def split(arguments: str | None) -> tuple[str, ...]:
    """The arguments of a program, split as a shell would."""
    if not arguments:
        return ()
    try:
        return tuple(shlex.split(arguments))
    except ValueError as error:
        raise click.BadParameter(f"{arguments!r}: {error}.") from error


def written_options(context: click.Context, names: Container[str]) -> Iterator[str]:
    """The options on a command line that have one of these parameter names, quoted for a shell."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if (
            isinstance(parameter, click.Argument)
            or name not in names
            or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE
        ):
            continue
        value = context.params[name]
        for one in value if isinstance(value, tuple) else (value,):
            yield parameter.opts[0] if one is True else f"{parameter.opts[0]} {shlex.quote(str(one))}"
