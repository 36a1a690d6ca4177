"""``compat cluster``: a dispatcher that runs jobs, whether or not somebody waits for them."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from compat.cli.options import local_path, parse_definitions, token_option
from compat.compiler.control_group import cores

if TYPE_CHECKING:
    from compat.cluster.dispatcher import Dispatcher
from compat.cluster.settings import ClusterSettings

LED, REFUSED = 1, 2
_MISSING = (
    "A cluster needs Spark and the service's packages, and {name!r} is not installed: pip install "
    "'stream-compat[spark,service]'."
)
_STOPPING = 60.0
_DIR = click.option(
    "--dir",
    "folder",
    default=".compat/cluster",
    callback=local_path,
    show_default=True,
    envvar="COMPAT_CLUSTER_DIR",
    help="Where the cluster keeps its jobs.",
)


@click.group("cluster")
def cluster() -> None:
    """Run a cluster whose jobs go on after the command that submitted them has ended.

    Example: compat cluster start --slots 4
    """


@cluster.command("start")
@_DIR
@click.option("--master", metavar="URL", help="A Spark master (default: Spark on this machine).")
@click.option("--slots", type=click.IntRange(1), help="Slots of all jobs together (default: as many as processors).")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8081, show_default=True, help="0 takes a free one.")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="A host name of the cluster; repeatable.")
@click.option("--database", metavar="URL", help="Where jobs and tokens are registered (default: a file in --dir).")
@click.option(
    "--registry",
    metavar="URL",
    envvar="COMPAT_REGISTRY",
    help="A service (see compat serve): the cluster accepts only versions that it allows to replace the running one.",
)
@token_option
@click.option("--anonymous/--no-anonymous", default=None, help="Whether anybody on this machine may run jobs.")
@click.option(
    "-D",
    "definitions",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of Spark, or of the cluster: jobstore.expiration-time (seconds that ended jobs are kept, 3600 by "
    "default), jobstore.max-capacity (how many of them); execution.checkpointing.dir and "
    "execution.checkpointing.savepoint-dir (the folders of jobs that set none); restart-strategy.type and its "
    "options (for jobs that choose none).",
)
@click.option("--https", is_flag=True, help="A proxy in front of it speaks HTTPS: cookies are for HTTPS only.")
@click.option("--standby", is_flag=True, help="Wait until no other dispatcher leads the cluster.")
@click.option(
    "--lease",
    type=click.FloatRange(1),
    default=10.0,
    show_default=True,
    help="Seconds that a silent dispatcher still leads.",
)
@click.option(
    "--heartbeat-timeout",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    help="Seconds without a sign of life after which the process of a job, or Spark, is replaced.",
)
@click.option("--max-body", type=click.IntRange(1024), default=512 * 1024 * 1024, show_default=True, help="Bytes.")
def start(folder: str, host: str, port: int, hosts: tuple[str, ...], **options: Any) -> None:
    """Start the dispatcher, which runs until it is interrupted and then ends the cluster.

    If it is killed, its jobs go on, and the next start takes them over. On a loopback address anybody who can reach it
    may run programs; on any other address, only holders of a token with the role deploy. With --registry, the registry
    has to allow each job to replace the version that runs; for that, the cluster needs a registry token with the role
    push.

    Example: compat cluster start --slots 4 --port 8081
    """
    local = host in ("127.0.0.1", "::1", "localhost")
    if not local and not hosts:
        raise click.UsageError("Give the host name that others use for this cluster: --allowed-host NAME.")
    if not local and options["anonymous"]:
        raise click.UsageError(
            "Whoever reaches a cluster runs programs on it: elsewhere than on this machine's own address it takes tokens."
        )
    try:
        from compat.cluster.directories import Directories
        from compat.cluster.retention import Retention, RetentionError
        from compat.cluster.settings import ClusterSettings
        from compat.compiler.errors import ProgramError
        from compat.compiler.spark.driver.restarts import RestartStrategy, is_of_strategy
        from compat.state.delta.errors import StoreError
    except ModuleNotFoundError as error:
        click.echo(_MISSING.format(name=error.name), err=True)
        sys.exit(REFUSED)
    given = parse_definitions(options["definitions"])
    kept = {name: text for name, text in given.items() if name.startswith("jobstore.")}
    placed = {name: text for name, text in given.items() if Directories.is_option(name)}
    restarts = {name: text for name, text in given.items() if is_of_strategy(name)}
    spark = {name: text for name, text in given.items() if name not in kept | placed | restarts}
    if strange := [name for name in spark if not name.startswith("spark.")]:
        raise click.UsageError(
            f"{strange[0]} is no option of Spark or of a cluster: give options of a job with compat job run -D."
        )
    try:
        retention, directories = Retention.of(kept), Directories.of(placed)
        RestartStrategy.of(restarts, checkpointing=True)
    except (RetentionError, StoreError, ProgramError, ValueError, OverflowError) as error:
        raise click.BadParameter(str(error), param_hint="'-D'") from error
    slots = options["slots"] or max(1, int(cores()))
    settings = ClusterSettings(
        slots=slots,
        master=options["master"] or f"local[{slots}]",
        options=spark,
        lease=options["lease"],
        heartbeat_timeout=options["heartbeat_timeout"],
        retention=retention,
        directories=directories,
        restarts=restarts,
    )
    anonymous = local if options["anonymous"] is None else options["anonymous"]
    _serve(folder, host, port, settings, hosts, **{**options, "anonymous": anonymous})


def _serve(
    folder: str,
    host: str,
    port: int,
    settings: ClusterSettings,
    hosts: tuple[str, ...],
    *,
    anonymous: bool,
    database: str | None,
    standby: bool,
    https: bool,
    registry: str | None,
    token_file: str | None,
    max_body: int,
    **_: Any,
) -> None:
    from sqlalchemy.exc import SQLAlchemyError

    from compat.cli.remote import server_of
    from compat.cli.serve import listening
    from compat.cluster.app import create_app
    from compat.cluster.directories import refuse_unseen
    from compat.cluster.dispatcher import Dispatcher
    from compat.cluster.gate import RegistryGate
    from compat.cluster.layout import ClusterFolder
    from compat.cluster.leadership import Led, become_leader
    from compat.cluster.registry import Jobs
    from compat.cluster.resources import Capacity
    from compat.compiler.errors import ProgramError
    from compat.compiler.spark.driver.masters import refuse_incomplete, refuse_unreachable, refuse_unsafe
    from compat.compiler.spark.driver.session import find_java
    from compat.service import telemetry
    from compat.service.database import Database
    from compat.service.records import Role
    from compat.service.registry import Registry
    from compat.service.server import serve
    from compat.service.settings import LOOPBACK, ServiceSettings
    from compat.state.delta.errors import StoreError

    gate = None if registry is None else RegistryGate(server_of(registry, token_file, "--registry"))
    os.environ.pop("COMPAT_TOKEN", None)  # jobs get the environment, and the token is not theirs
    place = ClusterFolder(folder)
    try:
        find_java()
        refuse_unsafe(settings.options, settings.master)
        refuse_incomplete(settings.options, settings.master)
        Capacity.of(settings.slots, settings.master, settings.options)
        note = refuse_unseen(settings.directories, place.path, settings.master)
        refuse_unreachable(settings.master)
        settings.directories.prove()
        place.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        tokens = Registry(Database(database or place.database))
        tokens.database.migrate()
        jobs = Jobs(tokens.database)
        jobs.migrate()
    except (OSError, ValueError, SQLAlchemyError, ProgramError, StoreError) as error:
        click.echo(f"The cluster cannot start: {error}", err=True)
        sys.exit(REFUSED)
    if note is not None:
        click.echo(note, err=True)
    with listening(host, port) as listener:
        address = f"http://{host}:{listener.getsockname()[1]}"
        telemetry.log_to_stderr()
        try:
            held = become_leader(place, jobs, address, settings.lease, wait=standby)
        except Led as error:
            click.echo(str(error), err=True)
            sys.exit(REFUSED)
        except SQLAlchemyError as error:
            click.echo(f"The cluster cannot start: {error}", err=True)
            sys.exit(REFUSED)
        dispatcher = Dispatcher(place, jobs, settings, gate)
        given = ServiceSettings(
            allowed_hosts=(*LOOPBACK, *hosts), max_body=max_body, anonymous_read=anonymous, secure_cookies=https
        )
        app = create_app(dispatcher, given, tokens, Role.DEPLOY if anonymous else Role.NONE)
        signal.signal(signal.SIGTERM, lambda *_: _terminated(dispatcher))
        telemetry.log("leads", url=address, slots=settings.slots, master=settings.master, dir=folder, registry=registry)
        serve(app, listener, given.head_timeout, given.write_timeout)
        held.close()


def _terminated(dispatcher: Dispatcher) -> None:
    """End with the signal that ended the server; a dispatcher that lost the lead says so."""
    if dispatcher.lost.is_set():
        click.echo("Another dispatcher leads this cluster now: this one gave no sign of life for too long.", err=True)
        sys.exit(LED)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


@cluster.command("stop")
@_DIR
@click.option("--database", metavar="URL", help="The --database given to compat cluster start.")
@click.option("--keep-jobs", is_flag=True, help="End only the dispatcher: the next one takes over its jobs.")
def stop(folder: str, database: str | None, keep_jobs: bool) -> None:
    """End the cluster, even if its dispatcher was killed. Its jobs go on when it is started again.

    With --keep-jobs, jobs and Spark keep running: use it to replace the dispatcher by a newer version.

    Example: compat cluster stop
    """
    from compat.cluster.dispatcher import stop_processes
    from compat.cluster.layout import ClusterFolder
    from compat.cluster.leadership import dispatcher_process
    from compat.cluster.registry import Jobs
    from compat.service.database import Database

    place = ClusterFolder(folder)
    if not place.path.exists():
        click.echo(f"There is no cluster in {folder}. Name its folder with --dir.", err=True)
        sys.exit(REFUSED)
    pid = dispatcher_process(place)
    if pid:
        os.kill(
            pid, signal.SIGKILL if keep_jobs else signal.SIGTERM
        )  # it takes its jobs along where it is asked to end
        end = time.monotonic() + _STOPPING
        while dispatcher_process(place) == pid and time.monotonic() < end:
            time.sleep(0.1)
    if keep_jobs:
        click.echo("The dispatcher ended. Jobs go on; compat cluster start takes them over.", err=True)
        return
    left = stop_processes(place, Jobs(Database(database or place.database)))
    click.echo(f"The cluster ended. {left} jobs go on when it is started again.", err=True)
