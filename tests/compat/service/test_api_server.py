"""The webhook behind a real API server: what is denied there is not stored, and a dead webhook lets nothing through."""

from __future__ import annotations

import copy

import pytest

from tests.certificates import certificate
from tests.compat.service.api_server import api_server, gate, namespace
from tests.compat.service.reviews import changed, deployment
from tests.compat.service.running import OLD, RENUMBERED
from tests.compat.service.test_webhook import NAME, webhook

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with api_server(tmp_path_factory.mktemp("kubernetes")) as client:
        yield client


def sent(resource, within="streams"):
    """A resource as a person applies it."""
    made = copy.deepcopy(resource)
    kept = ("name", "labels", "annotations")
    made["metadata"] = {key: made["metadata"][key] for key in kept} | {"namespace": within}
    del made["status"]
    return made


def at(job, number, name="word-count", within="streams"):
    return sent(deployment(f"registry.example/job:{number}", name, job=job, version=str(number)), within)


def test_a_cluster_is_gated(service, client, job, tmp_path):
    assert service.push(job, *OLD).is_success
    assert service.promote(job).is_success
    assert service.push(job, *RENUMBERED).is_success
    gated = namespace(client, "streams", **{"stream-compat/gate": "enabled"})
    free = namespace(client, "elsewhere")
    with webhook(service.database, certificate(tmp_path / "tls", NAME), tmp_path) as hook:
        gate(client, str(hook.base_url), tmp_path / "tls")
        made = client.post(gated, json=at(job, 1))
        assert made.status_code == 201, made.text

        tried = client.post(gated, params={"dryRun": "All"}, json=at(job, 2, "another"))
        assert tried.status_code == 403, tried.text
        assert client.get(f"{gated}/another").status_code == 404
        assert (
            client.post(free, json=at(job, 2, within="elsewhere")).status_code == 201
        )  # nobody asks the webhook there

        one = f"{gated}/word-count"
        stored = made.json()
        refused = client.put(one, json=stored | {"spec": at(job, 2)["spec"]})
        assert refused.status_code == 403, refused.text
        patch = {"metadata": {"annotations": {"stream-compat/version": "2"}}, "spec": at(job, 2)["spec"]}
        merge = {"Content-Type": "application/merge-patch+json"}
        unchecked = client.patch(one, json=patch, headers=merge)
        assert unchecked.status_code == 403
        assert "Nobody checked" in unchecked.json()["message"]
        assert service.promote(job).status_code == 409
        denied = client.patch(one, json=patch, headers=merge)
        assert denied.status_code == 403
        assert "CMP" in denied.json()["message"]
        assert client.get(one).json()["spec"]["image"].endswith(":1")

        status = changed(client.get(one).json()) | {"status": {"lifecycleState": "STABLE"}}
        assert client.put(f"{one}/status", json=status).status_code == 200  # the operator writes it, and is not asked

        assert service.promote(job, role="admin", force=True, reason="a fresh start").is_success
        passed = client.patch(one, json=patch, headers=merge)
        assert passed.status_code == 200, passed.text
        assert "forced" in passed.headers["Warning"]
        assert client.get(one).json()["spec"]["image"].endswith(":2")
        scaled = client.patch(one, json={"spec": {"job": {"parallelism": 4}}}, headers=merge)
        assert scaled.status_code == 200, scaled.text
    dead = client.post(gated, json=at(job, 2, "later"))
    assert dead.status_code == 500
    assert "failed calling webhook" in dead.json()["message"]
    assert client.get(f"{gated}/later").status_code == 404
    assert client.delete(one).status_code == 200
