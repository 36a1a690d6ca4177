"""What a new version has to restore, job by job: what is set is told, and kept to by check, push, promote and webhook."""

from __future__ import annotations

import json
import shutil

import httpx
import pytest
from msgspec.structs import replace

from compat.service import gate
from compat.service.admission.judgement import Outcome, judge
from compat.service.admission.reviews import read_review
from compat.service.options import Options
from compat.service.records import Action, Compatibility, Mode
from compat.service.registry import NotFound
from tests.compat.service.reviews import deployment, review
from tests.compat.service.running import OLD, RENUMBERED, serve
from tests.compat.service.test_deletions import promote
from tests.compat.service.test_gate import V1, V2, compat
from tests.compat.service.test_registry import new_check, packed, push, registry  # noqa: F401 - a fixture

ROLLBACK = Compatibility(mode=Mode.ROLLBACK, versions=3)
SAVEPOINT = "tests/golden/savepoints/windows_no_uid_p3_canonical"


def labels(registry):  # noqa: F811
    return [version.label for version in gate.states(registry, registry.jobs.get("job"))]


def test_the_versions_that_may_be_rolled_back_to_are_those_promoted_last(registry):  # noqa: F811
    for name in "abcde":
        push(registry, "job", name)
    assert labels(registry) == []
    for number in (1, 2, 3, 2, 5):
        promote(registry, number)
    assert labels(registry) == ["job@5"]
    registry.jobs.ask("job", ROLLBACK, "ann")
    assert labels(registry) == ["job@5", "job@2", "job@3"]
    registry.deletions.version("job", 2, reason="r", by="ann", even_promoted=True)
    assert labels(registry) == ["job@5", "job@3", "job@1"]
    assert registry.jobs.get("job").compatibility == ROLLBACK
    told = [entry.detail for entry in registry.audit.list() if entry.action is Action.MODE]
    assert [(one["restores"], one["instead_of"]) for one in told] == [(ROLLBACK.told, "the version that runs")]
    with pytest.raises(NotFound):
        registry.jobs.ask("nobody", ROLLBACK, "ann")


def test_a_promotion_goes_by_the_mode(service, job):
    """The third version is the second one again, and does not restore the first one's state, which one may roll back to."""
    service.push(job, *OLD)
    service.promote(job)
    service.push(job, *RENUMBERED)
    assert service.promote(job, "admin", version=2, force=True, reason="a fresh start").is_success
    assert service.push(job, *RENUMBERED, commit="again").json()["number"] == 3
    admin = service.client("admin")
    sent = {"mode": "rollback", "versions": 2}
    assert service.client("push").post(f"/jobs/{job}/compatibility", json=sent).status_code == 403
    assert admin.post(f"/jobs/{job}/compatibility", json=sent).json()["against"] == [2, 1]
    refused = service.promote(job)
    assert (refused.status_code, refused.json()["check"]["old"]["label"]) == (409, f"{job}@1")
    page = httpx.get(f"{service.url}/jobs/{job}").text
    assert "the last 2 versions that were promoted" in page
    assert admin.post(f"/jobs/{job}/compatibility", json={"mode": "current"}).json()["against"] == [2]
    done = service.promote(job)
    assert (done.status_code, done.json()["check"]) == (200, None)
    assert service.client().get(f"/jobs/{job}").json()["compatibility"]["mode"] == "current"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"mode": "backward"},
        {"mode": "rollback"},
        {"mode": "rollback", "versions": 21},
        {"mode": "current", "versions": 2},
        {"mode": "savepoint"},
        {"mode": "savepoint", "savepoint": "../x"},
        {"mode": "current", "savepoint": "0" * 32},
    ],
)
def test_a_mode_that_is_none_is_refused(service, job, body):
    service.push(job, *OLD)
    assert service.client("admin").post(f"/jobs/{job}/compatibility", json=body).status_code == 422


def test_a_mode_of_nothing_is_refused(service, job):
    admin = service.client("admin")
    assert admin.post(f"/jobs/{job}/compatibility", json={"mode": "current"}).status_code == 404
    service.push(job, *OLD)
    unknown = {"mode": "savepoint", "savepoint": "0" * 32}
    assert admin.post(f"/jobs/{job}/compatibility", json=unknown).status_code == 404


def test_the_command_line_goes_by_the_mode(service, job):
    compat(service, "push", "--job", job, V2)
    compat(service, "promote", "--job", job)
    compat(service, "push", "--job", job, V1)
    forced = ("--force", "--reason", "back")
    assert compat(service, "promote", "--job", job, *forced, role="admin").exit_code == 0
    assert compat(service, "check", "--job", job, V1).exit_code == 0
    set_ = compat(service, "mode", "rollback", "--versions", 2, "--job", job, role="admin")
    assert set_.output == (
        f"A new version of {job} restores the last 2 versions that were promoted: {job}@2, {job}@1.\n"
    )
    assert compat(service, "mode", "--job", job).output == set_.output
    checked = compat(service, "check", "--job", job, V1)
    assert checked.exit_code == 1
    assert f"cannot restore the state of {job}@1" in checked.output
    assert checked.output.count("Recorded as check") == 2
    pushed = compat(service, "push", "--job", job, V1, "--commit", "again")
    assert "It has to restore the last 2 versions that were promoted." in pushed.output
    assert compat(service, "mode", "--job", job, "--versions", 2).exit_code == 2
    assert compat(service, "mode", "current", "--job", job, role="push").exit_code == 2


@pytest.fixture(scope="module")
def with_savepoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("savepoints")
    (folder / "store").mkdir()
    shutil.copytree(SAVEPOINT, folder / "store" / "windows")
    running = serve(folder, "--folder", str(folder / "store"))
    assert running.client("admin").post("/savepoints/scan").is_success
    yield running
    running.stop()


def test_a_job_that_starts_from_a_savepoint_has_to_restore_that(with_savepoint, job):
    service = with_savepoint
    admin = service.client("admin")
    (found,) = admin.get("/savepoints").json()["savepoints"]
    service.push(job, *OLD)
    sent = {"mode": "savepoint", "savepoint": found["id"]}
    assert admin.post(f"/jobs/{job}/compatibility", json=sent).json()["against"] == []
    refused = service.promote(job)
    assert refused.status_code == 409
    assert refused.json()["check"]["old"]["savepoint"] == found["id"]
    again = service.promote(job)
    assert again.json()["check"]["id"] == refused.json()["check"]["id"]  # of the same savepoint, it is decided
    checked = compat(service, "check", "--job", job, V1)
    assert checked.exit_code == 1
    assert "cannot restore the state of windows" in checked.output
    assert compat(service, "check", "--job", job, V1, "--format", "json").exit_code == 2
    assert f'href="/savepoints/{found["id"]}"' in httpx.get(f"{service.url}/jobs/{job}").text
    forced = service.promote(job, "admin", force=True, reason="it is empty")
    assert forced.json()["promotion"]["check"] == refused.json()["check"]["id"]


def test_the_webhook_asks_for_all_that_may_be_rolled_back_to(registry):  # noqa: F811
    for name in "abc":
        push(registry, "job", name)
    promote(registry, 1)
    promote(registry, 2)
    options = Options(flink="2.3")

    def decided(old):
        made = replace(new_check("job", old, "c"), options=options.key)
        registry.checks.record(made, kept=9)

    def asked():
        new, old = (deployment(image=f"job:{number}", version=f"job@{number}", name="job") for number in (3, 2))
        return judge(registry, read_review(json.dumps(review(new, old)).encode()))

    decided("b")
    assert asked().outcome is Outcome.ALLOWED
    registry.jobs.ask("job", Compatibility(mode=Mode.ROLLBACK, versions=2), "ann")
    found = asked()
    assert (found.outcome, "restores the state of job@1" in found.message) == (Outcome.UNDECIDED, True)
    decided("a")
    assert asked().outcome is Outcome.ALLOWED
