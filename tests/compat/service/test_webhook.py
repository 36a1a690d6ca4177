"""``compat webhook`` over HTTPS beside a service: AdmissionReviews in, the registry's answer out."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.service.database import Database
from compat.service.registry import Registry
from tests.certificates import certificate
from tests.compat.service.reviews import IMAGE, OTHER_IMAGE, changed, deployment, encoded, review
from tests.compat.service.running import OLD, RENUMBERED, ROOT, make_tokens
from tests.compat.service.test_gate import V1, V2, compat

NAME = "compat-webhook.compat.svc"


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("tls"), NAME)


@contextmanager
def webhook(database: str, tls: Path, folder: Path, *options: str):
    """A webhook that runs: a client that trusts its certificate."""
    log = folder / "webhook.log"
    command = [
        "webhook",
        "--database",
        database,
        "--port",
        "0",
        "--tls-cert",
        tls / "tls.crt",
        "--tls-key",
        tls / "tls.key",
    ]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "compat", *map(str, command), *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    try:
        url = process.stdout.readline().decode().strip()
        assert url.startswith("https://"), log.read_text()
        trusted = ssl.create_default_context(cafile=str(tls / "tls.crt"))
        with httpx.Client(base_url=url, verify=trusted, timeout=60) as client:
            assert client.get("/livez").status_code == 200
            yield client
    finally:
        process.terminate()
        assert process.wait(30) in (0, -15), log.read_text()
        process.stdout.close()


@pytest.fixture(scope="module")
def asked(service, tls, tmp_path_factory):
    with webhook(service.database, tls, tmp_path_factory.mktemp("webhook")) as client:
        yield client


def ask(client, new, old=None, **more):
    answer = client.post("/validate", json=review(new, old, **more))
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert (document["apiVersion"], document["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert document["response"]["uid"] == review(new, old)["request"]["uid"]
    return document["response"]


def at(job, number, **more):
    return deployment(f"registry.example/job:{number}", job=job, version=str(number), **more)


def test_a_job_goes_through_the_gate_and_then_through_the_cluster(service, asked, job):
    assert service.push(job, *OLD).is_success
    assert service.promote(job).is_success
    assert service.push(job, *RENUMBERED).is_success
    first, second = at(job, 1), at(job, 2)
    assert ask(asked, first)["allowed"]
    unchecked = ask(asked, second, first)
    assert not unchecked["allowed"]
    assert "Nobody checked" in unchecked["status"]["message"]
    assert service.promote(job).status_code == 409
    refused = ask(asked, second, first)
    assert (refused["allowed"], refused["status"]["code"]) == (False, 403)
    assert "CMP" in refused["status"]["message"]
    assert f"{job}@2" in refused["status"]["message"]
    assert refused["auditAnnotations"]["outcome"] == "denied"
    assert service.promote(job, role="admin", force=True, reason="a fresh start").is_success
    passed = ask(asked, second, first)
    assert passed["allowed"]
    assert any("forced" in warning for warning in passed["warnings"])


def test_a_version_is_known_by_the_image_that_it_was_pushed_with(service, asked, job):
    images = [f"registry.example/words@{image}" for image in (IMAGE, OTHER_IMAGE)]
    for program, image in ((V1, images[0]), (V2, images[1])):
        pushed = compat(service, "push", "--job", job, program, "--image", image)
        assert pushed.exit_code == 0, pushed.output
    assert compat(service, "promote", "--job", job, "--version", "1").exit_code == 0
    assert compat(service, "check", "--job", job, V2).exit_code == 1
    found = service.client().get(f"/jobs/{job}/versions").json()["versions"]
    assert [version["image"] for version in found] == [OTHER_IMAGE, IMAGE]
    one, two = (deployment(image) for image in images)
    assert ask(asked, one)["allowed"]
    refused = ask(asked, two, one)
    assert not refused["allowed"]
    assert "CMP103" in refused["status"]["message"]


def test_a_version_is_known_by_the_digest_of_its_artifact(service, asked, job, tmp_path):
    jar = tmp_path / "job.jar"
    jar.write_bytes(b"a jar")
    digest = f"sha256:{hashlib.sha256(b'a jar').hexdigest()}"
    pushed = compat(service, "push", "--job", job, V1, "--artifact-digest", str(jar))
    assert pushed.exit_code == 0, pushed.output
    assert f"stream-compat/digest: {digest}" in pushed.output
    again = compat(service, "push", "--job", job, V1, "--artifact-digest", digest)
    assert f"{job}@1 registered" in again.output
    (found,) = service.client().get(f"/jobs/{job}/versions").json()["versions"]
    assert found["image"] == digest
    marks = {"job": job, "version": "1", "digest": digest}
    moved = deployment(**marks, jarURI="https://mirror.example/job.jar")
    assert ask(asked, moved, deployment(**marks))["allowed"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--artifact-digest", "sha256:12"), "64 digits"),
        (("--artifact-digest", "/nowhere/job.jar"), "No such file or directory. Give a file, or a digest"),
        (("--artifact-digest", f"sha256:{'1' * 64}", "--image", f"x@sha256:{'1' * 64}"), "has one digest"),
    ],
)
def test_a_digest_that_is_none_is_refused(service, job, given, told):
    done = compat(service, "push", "--job", job, V1, *given)
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())


def test_an_image_is_named_by_its_digest(service, job):
    told = compat(service, "push", "--job", job, V1, "--image", "registry.example/words:latest")
    assert told.exit_code == 2
    assert "a tag may move" in told.output


def test_decisions_are_written_down_once_and_dry_runs_are_not(service, asked, job):
    assert service.push(job, *OLD).is_success
    assert service.promote(job).is_success
    database = Database(service.database)
    try:
        audit = Registry(database).audit
        assert ask(asked, at(job, 1), dryRun=True)["allowed"]
        assert audit.admissions(job) == []
        for _ in range(3):  # a controller that tries again
            ask(asked, at(job, 9), at(job, 1))
        ask(asked, at(job, 1))
        found = [(entry.detail["outcome"], entry.detail["version"], entry.by) for entry in audit.admissions(job)]
    finally:
        database.close()
    assert found == [("allowed", f"{job}@1", "the webhook"), ("undecided", None, "the webhook")]


def test_answers_take_milliseconds(service, asked, job):
    assert service.push(job, *OLD).is_success
    assert service.promote(job).is_success
    body = encoded(review(at(job, 1, allowNonRestoredState=False), at(job, 1)))
    for _ in range(30):
        assert asked.post("/validate", content=body, headers={"Content-Type": "application/json"}).json()["response"][
            "allowed"
        ]
    text = asked.get("/metrics").text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    answered, seconds = (float(values[f"compat_admission_seconds_{what}"]) for what in ("count", "sum"))
    assert seconds / answered < 0.2  # some milliseconds, on a machine with nothing else to do
    assert float(values['compat_admission_seconds_bucket{le="2.5"}']) == answered


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{}", {}, 415),
        (b"{}", {"Content-Type": "application/json"}, 400),
        (b"\xff\xfe", {"Content-Type": "application/json"}, 400),
        (b"[" * 100_000, {"Content-Type": "application/json"}, 400),
        (b'{"a": "' + b"x" * 9_000_000 + b'"}', {"Content-Type": "application/json"}, 413),
        (
            encoded(review(deployment()) | {"apiVersion": "admission.k8s.io/v1beta1"}),
            {"Content-Type": "application/json"},
            400,
        ),
    ],
)
def test_what_is_no_review_is_refused(asked, content, headers, status):
    assert asked.post("/validate", content=content, headers=headers).status_code == status


def test_there_is_nothing_else(asked):
    assert asked.get("/readyz").text == "ready\n"
    assert asked.get("/validate").status_code == 405
    assert asked.post("/validate/").status_code == 404
    assert asked.get("/api/v1/jobs").status_code == 404
    with pytest.raises(httpx.HTTPError):
        httpx.get(str(asked.base_url).replace("https", "http"), timeout=10)


@pytest.mark.parametrize(("options", "allowed"), [((), False), (("--fail", "open"), True)])
def test_it_fails_as_set(tls, tmp_path, options, allowed):
    path = tmp_path / "compat.db"
    make_tokens(f"sqlite:///{path}")
    with webhook(f"sqlite:///{path}", tls, tmp_path, *options) as client:
        unknown = ask(
            client, at("nobody", 1), dryRun=True
        )  # what is not written leaves no page of the database in memory
        assert unknown["allowed"] is allowed
        assert "no job 'nobody'" in json.dumps(unknown)
        assert ask(client, changed(at("nobody", 1), "spec", job=None))["allowed"]
        path.write_bytes(b"no database at all")
        for beside in tmp_path.glob("compat.db-*"):
            beside.unlink()
        broken = ask(client, at("nobody", 1))
        assert broken["allowed"] is allowed
        assert "does not answer" in json.dumps(broken)
        assert client.get("/readyz").status_code == 503
        assert client.get("/livez").status_code == 200


def test_a_certificate_is_renewed_without_a_restart(service, tls, tmp_path, monkeypatch):
    mine = tmp_path / "tls"
    shutil.copytree(tls, mine)
    with webhook(service.database, mine, tmp_path) as client:
        address = (client.base_url.host, client.base_url.port)
        before = ssl.get_server_certificate(address)
        (mine / "tls.key").write_text("half of a pair")
        certificate(mine, NAME)
        end = time.monotonic() + 60
        while (after := ssl.get_server_certificate(address)) == before:
            assert time.monotonic() < end
            time.sleep(0.5)
        assert ssl.PEM_cert_to_DER_cert(after) == ssl.PEM_cert_to_DER_cert((mine / "tls.crt").read_text())


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "tls.key").unlink(), "cannot be read"),
        (lambda folder: (folder / "tls.crt").write_text("nothing"), "no certificate and its key"),
        (
            lambda folder: certificate(folder / "other", NAME) and shutil.copy(folder / "other" / "tls.key", folder),
            "no certificate",
        ),
    ],
)
def test_a_certificate_that_cannot_be_used_is_told(tls, tmp_path, spoil, says):
    mine = tmp_path / "tls"
    shutil.copytree(tls, mine)
    spoil(mine)
    given = [
        "--tls-cert",
        str(mine / "tls.crt"),
        "--tls-key",
        str(mine / "tls.key"),
        "--database",
        f"sqlite:///{tmp_path}/x.db",
    ]
    told = CliRunner().invoke(main, ["webhook", *given])
    assert told.exit_code == 2
    assert "The webhook cannot start" in told.output
    assert says in told.output
