"""Object stores on this machine, in processes of their own: delta-rs holds Python's lock while it waits for an answer.

``python -m tests.object_store`` is an S3 server, and prints its port. With ``unconditional`` it is one that does not know
conditional puts; with ``faulty`` and a seed one that fails, see :mod:`tests.faulty_store`; with ``gs`` it speaks as Google's
storage does, whose XML interface has the same form. Azure's is Azurite, where the environment variable COMPAT_AZURITE names
its program ``azurite-blob``, or the path has it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path

from tests.faulty_store import Faulty

ROOT = Path(__file__).parents[1]
_WITHOUT = "unconditional"
_FAULTY = "faulty"
_GOOGLE = "gs"
_AZURE = "devstoreaccount1"
_AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account that every Azurite has, as its documentation says, and its key."""
SECRETS = ("an-id", "a-secret-key", _AZURE_KEY)


def variables(address: str) -> dict[str, str]:
    """The environment in which a server is reached."""
    return {
        "AWS_ACCESS_KEY_ID": "an-id",
        "AWS_SECRET_ACCESS_KEY": "a-secret-key",
        "AWS_ENDPOINT_URL": address,
        "AWS_REGION": "us-east-1",
    }


def azurite() -> str | None:
    """The program that is Azure's storage on this machine."""
    return os.environ.get("COMPAT_AZURITE") or shutil.which("azurite-blob")


@contextmanager
def bucket_of(kind: str) -> Iterator[tuple[str, dict[str, str]]]:
    """A bucket of a storage, ``s3``, ``gs`` or ``abfss``: its address, and the environment in which it is reached."""
    if kind == "abfss":
        with _serving_azure() as address:
            make_container(address, "bucket")
            yield (
                f"abfss://bucket@{_AZURE}.dfs.core.windows.net",
                {
                    "AZURE_STORAGE_USE_EMULATOR": "true",
                    "AZURITE_BLOB_STORAGE_URL": address,
                    "AZURE_STORAGE_ACCOUNT_NAME": _AZURE,
                    "AZURE_STORAGE_ACCOUNT_KEY": _AZURE_KEY,
                },
            )
        return
    with serving(*([_GOOGLE] if kind == _GOOGLE else [])) as address:
        make_bucket(address, "bucket")
        yield f"{kind}://bucket", {"STORAGE_EMULATOR_HOST": address} if kind == _GOOGLE else variables(address)


@contextmanager
def _serving_azure() -> Iterator[str]:
    program = azurite()
    assert program is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ["--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    how = ["--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    server = subprocess.Popen([program, *where, *how], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def make_container(address: str, name: str) -> None:
    """Make a container of Azurite's, with a request that is signed as Azure wants it."""
    at, version = formatdate(usegmt=True), "2021-08-06"
    headers = f"x-ms-date:{at}\nx-ms-version:{version}"
    told = "PUT" + "\n" * 12 + f"{headers}\n/{_AZURE}/{_AZURE}/{name}\nrestype:container"
    signature = hmac.new(base64.b64decode(_AZURE_KEY), told.encode(), hashlib.sha256).digest()
    request = urllib.request.Request(
        f"{address}/{_AZURE}/{name}?restype=container",
        method="PUT",
        headers={
            "x-ms-date": at,
            "x-ms-version": version,
            "Authorization": f"SharedKey {_AZURE}:{base64.b64encode(signature).decode()}",
            "Content-Length": "0",
        },
    )
    urllib.request.urlopen(request).close()


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


def main(kind: str = "", *arguments: str) -> None:
    """Serve until stdin is closed: whoever asked for the server is gone."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)
    if kind == _FAULTY:
        application = Faulty(application, arguments[0], float(arguments[1]))

    def serve(environment: dict[str, object], start: object) -> object:
        if kind == _WITHOUT:
            environment.pop("HTTP_IF_NONE_MATCH", None)
        if kind == _GOOGLE:
            _as_amazon_says(environment)
        return application(environment, start)

    server = make_server("127.0.0.1", 0, serve, threaded=True)
    print(server.server_port, flush=True)
    import threading

    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


def _as_amazon_says(environment: dict[str, object]) -> None:
    """A request to Google's storage as one to Amazon's. This server wants to be told who asks, and proves nothing."""
    signed = "Credential=an-id/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    environment["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 {signed}"
    if environment.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None) == "0":
        environment["HTTP_IF_NONE_MATCH"] = "*"
    if (source := environment.pop("HTTP_X_GOOG_COPY_SOURCE", None)) is not None:
        environment["HTTP_X_AMZ_COPY_SOURCE"] = source


if __name__ == "__main__":
    main(*sys.argv[1:])
