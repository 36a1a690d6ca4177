"""An S3 server on this machine, in a process of its own: delta-rs holds Python's lock while it waits for an answer.

``python -m tests.object_store`` prints its port. With ``unconditional`` it is one that does not know conditional puts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
_WITHOUT = "unconditional"


def variables(address: str) -> dict[str, str]:
    """The environment in which a server is reached."""
    return {
        "AWS_ACCESS_KEY_ID": "an-id",
        "AWS_SECRET_ACCESS_KEY": "a-secret-key",
        "AWS_ENDPOINT_URL": address,
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """The address of a server, as long as the context lasts."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.object_store", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.communicate()


def make_bucket(address: str, name: str) -> None:
    """Make a bucket; the server asks nobody who they are."""
    request = urllib.request.Request(f"{address}/{name}", method="PUT", headers={"Content-Length": "0"})
    urllib.request.urlopen(request).close()


def main(kind: str) -> None:
    """Serve until stdin is closed: whoever asked for the server is gone."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)

    def serve(environment: dict[str, object], start: object) -> object:
        if kind == _WITHOUT:
            environment.pop("HTTP_IF_NONE_MATCH", None)
        return application(environment, start)

    server = make_server("127.0.0.1", 0, serve, threaded=True)
    print(server.server_port, flush=True)
    import threading

    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
