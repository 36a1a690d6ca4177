"""``compat webhook``: the admission webhook for a Kubernetes cluster."""

from __future__ import annotations

import sys

import click

from compat.cli.serve import DATABASE, listening, service_modules


@click.command("webhook")
@DATABASE
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; in a pod, 0.0.0.0.")
@click.option("--port", type=click.IntRange(0, 65535), default=8643, show_default=True, help="0 takes a free one.")
@click.option("--tls-cert", "chain", required=True, metavar="FILE", help="The certificate and its chain, PEM.")
@click.option(
    "--tls-key",
    "key",
    required=True,
    metavar="FILE",
    help="The certificate's key. Both files are read again when they change.",
)
@click.option(
    "--fail",
    type=click.Choice(["open", "closed"]),
    default="closed",
    show_default=True,
    help="Whether to accept (open) or refuse (closed) requests that the registry cannot decide.",
)
@click.option(
    "--database-timeout",
    type=click.FloatRange(0.1),
    default=2.0,
    show_default=True,
    help="Seconds; fewer than the timeoutSeconds of the webhook's configuration.",
)
def webhook(database: str, host: str, port: int, chain: str, key: str, fail: str, database_timeout: float) -> None:
    """Serve an admission webhook: Kubernetes accepts a FlinkDeployment or FlinkSessionJob only if the registry allows it.

    A version is identified by the annotations stream-compat/job and stream-compat/version, or by its image's digest,
    given to 'compat registry push --image'. Nothing is checked or run here: it takes milliseconds. deploy/kubernetes
    has the manifests.

    Example: compat webhook --host 0.0.0.0 --tls-cert /tls/tls.crt --tls-key /tls/tls.key
    """
    service = service_modules()
    try:
        certificate = service.tls.Certificate(chain, key)
        settings = service.admission.WebhookSettings(
            database=database, fail_open=fail == "open", database_timeout=database_timeout
        )
        app = service.admission.create_webhook(settings, certificate)
    except (ValueError, service.SQLAlchemyError) as error:
        click.echo(f"The webhook cannot start: {error}", err=True)
        sys.exit(2)
    with listening(host, port, "https") as listener:
        service.telemetry.log_to_stderr()
        service.server.serve(app, listener, head_timeout=10.0, certificate=certificate)
