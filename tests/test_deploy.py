"""What is in ``deploy``: the image definition and the manifests hold together, and with what the commands take."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import kubernetes_validate
import pytest
import yaml

from compat.cli import main
from compat.deployment.resources import GROUP, KINDS
from tests import needs
from tests.needs import Need

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
MANIFESTS = DEPLOY / "kubernetes"
KUBERNETES = "1.32"
CUSTOM = ("Issuer", "Certificate")
"""Kinds of cert-manager: Kubernetes has no schema of them."""


def manifests() -> list[dict[str, Any]]:
    kustomization = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())
    return [
        document
        for name in kustomization["resources"]
        for document in yaml.safe_load_all((MANIFESTS / name).read_text())
    ]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [document for document in manifests() if document["kind"] == kind]


def containers() -> dict[str, dict[str, Any]]:
    (pod,) = of_kind("StatefulSet")
    return {each["name"]: each for each in pod["spec"]["template"]["spec"]["containers"]}


def instructions(name: str = "Dockerfile") -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, each on a line of its own."""
    lines = (DEPLOY / name).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#")).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def test_every_manifest_is_listed():
    listed = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(path.name for path in MANIFESTS.glob("*.yaml") if path.name != "kustomization.yaml")


def test_the_manifests_fit_the_schemas_of_kubernetes():
    checked = [document for document in manifests() if document["kind"] not in CUSTOM]
    for document in checked:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    assert {"StatefulSet", "ValidatingWebhookConfiguration", "NetworkPolicy"} <= {each["kind"] for each in checked}
    (wrong,) = of_kind("ValidatingWebhookConfiguration")
    wrong["webhooks"][0]["failPolicy"] = "Fail"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES, strict=True)


@needs.unless(shutil.which("kubectl"), Need.KUBECTL)
def test_kustomize_puts_them_together():
    made = subprocess.run(["kubectl", "kustomize", str(MANIFESTS)], capture_output=True, text=True, check=True).stdout
    images = re.findall(r"image: (\S+)", made)
    assert images == ["registry.example.org/compat:1.0.0"] * 2
    names = [
        document["metadata"].get("namespace") for document in yaml.safe_load_all(made) if document["kind"] == "Service"
    ]
    assert names == ["compat", "compat"]


def commands() -> Iterator[tuple[str, list[str]]]:
    """The command lines of the manifests and of the image."""
    for container in containers().values():
        yield container["args"][0], container["args"][1:]
    words = json.loads(dict(instructions())["CMD"])
    yield words[0], [f"{words[at]}={words[at + 1]}" for at in range(1, len(words), 2)]


def test_the_options_are_those_of_the_commands():
    for name, given in commands():
        command = main.get_command(click.Context(main), name)
        assert command is not None
        with command.make_context(name, list(given), resilient_parsing=False) as context:
            assert context.params


def test_containers_may_do_nothing_but_serve():
    (pod,) = of_kind("StatefulSet")
    spec = pod["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["automountServiceAccountToken"] is False
    for container in containers().values():
        locked = container["securityContext"]
        assert locked == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "limits" in container["resources"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container[probe]["httpGet"]["path"] == ("/livez" if probe == "livenessProbe" else "/readyz")
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):  # the service is asked by a name that it goes by
        assert {"name": "Host", "value": "localhost"} in containers()["service"][probe]["httpGet"]["httpHeaders"]


def test_the_webhook_is_asked_about_flink_where_it_listens():
    (configuration,) = of_kind("ValidatingWebhookConfiguration")
    (hook,) = configuration["webhooks"]
    (rule,) = hook["rules"]
    assert rule["apiGroups"] == [GROUP]
    assert [each.lower() + "s" for each in KINDS] == rule["resources"]  # no status: the operator writes that
    assert hook["sideEffects"] == "NoneOnDryRun"
    where = hook["clientConfig"]["service"]
    service = next(each for each in of_kind("Service") if each["metadata"]["name"] == where["name"])
    ports = {port["name"] for port in containers()["webhook"]["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} == ports
    (certificate,) = of_kind("Certificate")
    assert f"{where['name']}.{where['namespace']}.svc" in certificate["spec"]["dnsNames"]
    volumes = of_kind("StatefulSet")[0]["spec"]["template"]["spec"]["volumes"]
    assert {"secretName": certificate["spec"]["secretName"]} in [volume.get("secret") for volume in volumes]
    database_timeout = next(
        option.default
        for option in main.get_command(click.Context(main), "webhook").params
        if option.name == "database_timeout"
    )
    assert database_timeout < hook["timeoutSeconds"]


def test_the_image_runs_as_nobody_in_particular():
    given = instructions()
    users = [rest for word, rest in given if word == "USER"]
    (pod,) = of_kind("StatefulSet")
    context = pod["spec"]["template"]["spec"]["securityContext"]
    assert users == [f"{context['runAsUser']}:{context['runAsGroup']}"]
    assert [word for word, _ in given].index("USER") > max(
        at for at, (word, _) in enumerate(given) if word in ("RUN", "COPY")
    )
    assert sum(word == "HEALTHCHECK" for word, _ in given) == 1
    exposed = dict(given)["EXPOSE"].split()
    ports = [str(port["containerPort"]) for container in containers().values() for port in container["ports"]]
    assert exposed == ports


def test_the_image_for_checks_has_all_that_commands_need_and_a_place_for_what_they_fetch():
    given = instructions("check.Dockerfile")
    (build, extras) = re.findall(r"pip install --no-cache-dir '(\.)\[([\w,]+)\]'", " ".join(rest for _, rest in given))[
        0
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    of_others = {"browser", "docs", "lint", "mutants", "postgresql", "pyflink", "service", "test"}
    assert (build, set(extras.split(","))) == (".", project["optional-dependencies"].keys() - of_others)
    assert json.loads(dict(given)["ENTRYPOINT"]) == ["compat"]
    variables = dict(pair.split("=", 1) for word, rest in given if word == "ENV" for pair in rest.split())
    assert variables["XDG_CACHE_HOME"] == dict(given)["VOLUME"] == "/cache"
    assert [word for word, _ in given].index("USER") > [word for word, _ in given].index("ENV")


@pytest.mark.parametrize("image", ["Dockerfile", "check.Dockerfile"])
def test_all_that_is_built_is_sent_to_the_builder(image: str):
    sent = [line[1:] for line in (DEPLOY / f"{image}.dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in sent)
    project = (ROOT / "pyproject.toml").read_text()
    for name in re.findall(r'(?:readme = |license-files = \[)"([^"]+)"', project):
        assert name in sent
