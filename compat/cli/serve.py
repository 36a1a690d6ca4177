"""``compat serve``: the service."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Any

import click

from compat.compiler.control_group import available_memory

if TYPE_CHECKING:
    from compat.service.registry import Registry

DATABASE = click.option(
    "--database",
    default="sqlite:///compat.db",
    envvar="COMPAT_DATABASE",
    show_default=True,
    help="Where the registry is: sqlite:///FILE or postgresql://…",
)
"""The option of commands for a registry."""


@click.command("serve")
@DATABASE
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes a free one.")
@click.option("--folder", "folders", multiple=True, metavar="[JOB=]PATH", help="Where savepoints are; repeatable.")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="A host name of the server; repeatable.")
@click.option(
    "--anonymous/--no-anonymous",
    default=None,
    help="Whether reading needs no token (default: only on a loopback address).",
)
@click.option("--https", is_flag=True, help="A proxy in front of it speaks HTTPS: cookies are for HTTPS only.")
@click.option("--backup", metavar="FILE", help="Export the registry to this file regularly, see compat registry.")
@click.option("--backup-interval", type=click.FloatRange(1), default=86_400.0, show_default=True, help="Seconds.")
@click.option("--keep-versions", type=click.IntRange(1), help="Versions of each job that do not expire (default: 1).")
@click.option(
    "--expire-versions",
    type=click.FloatRange(0),
    metavar="DAYS",
    help="Delete versions older than this that were never promoted. Without both options, none are deleted.",
)
@click.option(
    "--allow-programs",
    is_flag=True,
    help="Also build programs that are pushed with --program, confined by Linux's Landlock and namespaces.",
)
@click.option("--scan-interval", type=click.FloatRange(1), default=30.0, show_default=True, help="Seconds.")
@click.option("--workers", type=click.IntRange(1), help="Processes for small checks (default: as many as processors).")
@click.option(
    "--worker-memory",
    type=click.IntRange(256 * 1024 * 1024),
    default=4 * 1024**3,
    show_default=True,
    help="The most memory of such a process, in bytes.",
)
@click.option("--max-body", type=click.IntRange(1024), default=128 * 1024 * 1024, show_default=True, help="Bytes.")
@click.option("--check-timeout", type=click.FloatRange(1), default=300.0, show_default=True, help="Seconds.")
@click.option("--head-timeout", type=click.FloatRange(0.1), default=10.0, show_default=True, help="Seconds.")
@click.option("--body-timeout", type=click.FloatRange(0.1), default=30.0, show_default=True, help="Seconds.")
@click.option("--write-timeout", type=click.FloatRange(0.1), default=30.0, show_default=True, help="Seconds.")
def serve(database: str, host: str, port: int, folders: tuple[str, ...], **options: Any) -> None:
    """Serve the registry: the API under /api/v1, and pages for people.

    It takes plans, and programs only with --allow-programs. Make a token first, with 'compat registry token create
    NAME --role push'.

    Example: compat serve --folder /data/savepoints
    """
    local = host in ("127.0.0.1", "::1", "localhost")
    if not local and not options["hosts"]:
        raise click.UsageError("Give the host name that others use for this server: --allowed-host NAME.")
    with listening(host, port) as listener:
        service = service_modules()
        try:
            given = {} if options["workers"] is None else {"workers": options["workers"]}
            settings = service.ServiceSettings(
                database=database,
                folders=tuple(service.settings.Folder.parse(folder) for folder in folders),
                anonymous_read=local if options["anonymous"] is None else options["anonymous"],
                allowed_hosts=(*service.settings.LOOPBACK, *options["hosts"]),
                scan_interval=options["scan_interval"],
                backup=options["backup"],
                backup_interval=options["backup_interval"],
                allow_programs=options["allow_programs"],
                expiry=_expiry(service, options["keep_versions"], options["expire_versions"]),
                max_body=options["max_body"],
                check_timeout=options["check_timeout"],
                head_timeout=options["head_timeout"],
                body_timeout=options["body_timeout"],
                write_timeout=options["write_timeout"],
                worker_memory=options["worker_memory"],
                secure_cookies=options["https"],
                **given,
            )
            if settings.allow_programs:
                service.building.require_confinement()
            app = service.create_app(settings)
        except service.building.CannotConfine as error:
            click.echo(f"The service cannot build programs here: {error.strerror}", err=True)
            sys.exit(2)
        except (ValueError, service.SQLAlchemyError) as error:
            click.echo(f"The service cannot start: {error}", err=True)
            sys.exit(2)
        service.telemetry.log_to_stderr()
        for lack in service.memory.lacking(settings, available_memory()):
            service.telemetry.log("memory", level="warning", message=lack)
        service.server.serve(app, listener, settings.head_timeout, settings.write_timeout)


def _expiry(service: Any, keep: int | None, days: float | None) -> Any:
    """The rule by which versions expire; None if no option sets it."""
    return None if keep is None and days is None else service.registry.Rule(keep=keep or 1, days=days or 0.0)


def listening(host: str, port: int, scheme: str = "http") -> socket.socket:
    """Listen, and print the address. Clients that call before the service is ready wait and are not turned away."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        click.echo(f"Nothing can listen on {host}:{port}: {error.strerror}. Choose another with --port.", err=True)
        sys.exit(2)
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"{scheme}://{shown}:{listener.getsockname()[1]}")
    return listener


def opened_registry(database: str) -> Registry:
    """The registry at a URL, brought up to date. Raises a usage error for a URL without one."""
    service = service_modules()
    try:
        found: Registry = service.registry.Registry(service.database.Database(database))
        found.database.migrate()
    except (ValueError, service.SQLAlchemyError) as error:
        raise click.UsageError(str(error)) from error
    return found


def service_modules() -> Any:
    """The modules of the service, which only this command needs."""
    from types import SimpleNamespace

    try:
        from sqlalchemy.exc import SQLAlchemyError

        from compat.service import (
            ServiceSettings,
            admission,
            backup,
            create_app,
            database,
            memory,
            records,
            registry,
            requests,
            server,
            telemetry,
            tls,
        )
        from compat.service import settings as settings_module
        from compat.service.building import build as building
    except ModuleNotFoundError as error:
        raise click.UsageError(
            f"The service needs {error.name!r}, which is not installed: pip install 'stream-compat[service]'."
        ) from error
    return SimpleNamespace(
        SQLAlchemyError=SQLAlchemyError,
        ServiceSettings=ServiceSettings,
        admission=admission,
        backup=backup,
        building=building,
        create_app=create_app,
        database=database,
        memory=memory,
        records=records,
        registry=registry,
        requests=requests,
        server=server,
        settings=settings_module,
        telemetry=telemetry,
        tls=tls,
    )
