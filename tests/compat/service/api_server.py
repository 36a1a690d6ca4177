"""A real API server of Kubernetes, with etcd, on free ports of this machine: to be asked over HTTPS by a token."""

from __future__ import annotations

import base64
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from compat.deployment.resources import GROUP, KINDS
from tests import needs
from tests.compat.service.running import ROOT
from tests.needs import Need

_TOKEN = "an-admin-of-the-test"
_PATIENCE = 120


@contextmanager
def api_server(folder: Path) -> Iterator[httpx.Client]:
    """A client of an API server that knows the resources of Flink's operator. Skips without the programs."""
    etcd, server = (os.environ.get(name, "") for name in ("COMPAT_ETCD", "COMPAT_KUBE_APISERVER"))
    if not shutil.which(etcd) or not shutil.which(server):
        needs.without(Need.KUBERNETES)
    if shutil.which("openssl") is None:
        needs.without(Need.OPENSSL)
    key, public = folder / "sa.key", folder / "sa.pub"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    subprocess.run(["openssl", "rsa", "-in", str(key), "-pubout", "-out", str(public)], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f'{_TOKEN},admin,1,"system:masters"\n')
    store, peers, port = free_ports(3)
    at, beside = f"http://127.0.0.1:{store}", f"http://127.0.0.1:{peers}"
    asked = [
        *(etcd, "--data-dir", str(folder / "etcd"), "--listen-client-urls", at, "--advertise-client-urls", at),
        *("--listen-peer-urls", beside, "--initial-advertise-peer-urls", beside),
        *("--initial-cluster", f"default={beside}", "--unsafe-no-fsync"),
    ]
    served = [
        *(server, "--etcd-servers", at, "--secure-port", str(port), "--bind-address", "127.0.0.1"),
        *("--cert-dir", str(folder / "certs"), "--service-account-issuer", "https://127.0.0.1"),
        *("--service-account-key-file", str(public), "--service-account-signing-key-file", str(key)),
        *("--authorization-mode", "AlwaysAllow", "--token-auth-file", str(folder / "tokens.csv")),
        *("--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount"),
    ]
    with ExitStack() as running:
        running.enter_context(_runs(asked, folder / "etcd.log"))
        running.enter_context(_runs(served, folder / "server.log"))
        headers = {"Authorization": f"Bearer {_TOKEN}"}
        client = running.enter_context(
            httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=False, headers=headers, timeout=60)  # its own
        )
        _until(lambda: client.get("/readyz").status_code == 200, folder / "server.log")
        for each in _definitions():
            made = client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=each)
            assert made.status_code == 201, made.text
        _until(lambda: client.get(f"/apis/{GROUP}/v1beta1/flinkdeployments").status_code == 200, folder / "server.log")
        yield client


def gate(client: httpx.Client, url: str, trusted: Path) -> None:
    """Have the API server ask a webhook, as ``deploy/kubernetes/webhook.yaml`` says but for where it is."""
    configuration = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "webhook.yaml").read_text())
    (hook,) = configuration["webhooks"]
    hook["clientConfig"] = {
        "url": f"{url.rstrip('/')}{hook['clientConfig']['service']['path']}",
        "caBundle": base64.b64encode((trusted / "tls.crt").read_bytes()).decode(),
    }
    where = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    client.delete(f"{where}/{configuration['metadata']['name']}")
    made = client.post(where, json=configuration)
    assert made.status_code == 201, made.text


def namespace(client: httpx.Client, name: str, **labels: str) -> str:
    """The address of the deployments of a new namespace."""
    made = client.post(
        "/api/v1/namespaces",
        json={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}},
    )
    assert made.status_code == 201, made.text
    return f"/apis/{GROUP}/v1beta1/namespaces/{name}/flinkdeployments"


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _definitions() -> Iterator[dict[str, Any]]:
    """The operator's own definitions from the folder COMPAT_FLINK_CRDS, else ones that take every field."""
    folder = os.environ.get("COMPAT_FLINK_CRDS")
    if folder:
        yield from (yaml.safe_load(path.read_text()) for path in sorted(Path(folder).glob("*.yml")))
        return
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for kind in KINDS:
        plural = kind.lower() + "s"
        names = {"kind": kind, "plural": plural, "singular": kind.lower()}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
        version = {"name": "v1beta1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
        }


@contextmanager
def _runs(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def _until(holds: Any, log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            if holds():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(re.sub(r"^[IW].*\n", "", log.read_text(), flags=re.MULTILINE)[-4000:])
