"""Versions and jobs that are deleted, by hand and by the rule, and what still knows them afterwards."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest
from alembic import command
from msgspec.structs import replace
from sqlalchemy import create_engine, func, select, text, update

from compat.service import ServiceSettings, create_app
from compat.service.database import Database, migrate
from compat.service.database.tables import METADATA, plans, versions
from compat.service.expiring import keep_expiring
from compat.service.records import Acceptance, Action
from compat.service.registry import Conflict, NotFound, Registry, Rule
from tests.compat.service.running import OLD, RENUMBERED, plan
from tests.compat.service.test_gate import compat
from tests.compat.service.test_registry import new_check, packed, push, registry  # noqa: F401 - a fixture

GIVEN = {"reason": "old", "by": "ann"}


def numbers(registry, job="job"):  # noqa: F811
    return [version.number for version in registry.jobs.versions(job)]


def count(registry, table):  # noqa: F811
    with registry.database.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def promote(registry, number, job="job"):  # noqa: F811
    current = registry.jobs.get(job).current
    registry.jobs.promote(job, number, expected=current and current.number, by="me", check=None)


def test_a_version_goes_with_its_plan_and_its_number_stays_its_own(registry):  # noqa: F811
    for name in "abc":
        push(registry, "job", name)
    registry.deletions.version("job", 3, **GIVEN)
    assert (numbers(registry), count(registry, plans)) == ([2, 1], 2)
    assert push(registry, "job", "d").number == 4
    (entry,) = registry.audit.list()
    assert (entry.action, entry.by, entry.job, entry.detail["version"]) == (Action.DELETE, "ann", "job", 3)
    assert entry.detail["reason"] == "old"
    for job, number in (("job", 3), ("nobody", 1)):
        with pytest.raises(NotFound):
            registry.deletions.version(job, number, **GIVEN)


def test_what_runs_or_ran_goes_only_where_that_is_said(registry):  # noqa: F811
    for name in "abc":
        push(registry, "job", name)
    promote(registry, 1)
    promote(registry, 2)
    with pytest.raises(Conflict, match="job@2 runs"):
        registry.deletions.version("job", 2, **GIVEN)
    with pytest.raises(Conflict, match="job@1 ran"):
        registry.deletions.version("job", 1, **GIVEN)
    with pytest.raises(Conflict, match="job@2 runs"):
        registry.deletions.job("job", **GIVEN)
    assert numbers(registry) == [3, 2, 1]
    registry.deletions.version("job", 2, **GIVEN, even_promoted=True)
    assert registry.jobs.get("job").current is None
    assert registry.audit.list()[0].detail["ran"] == "now"


def test_a_plan_stays_as_long_as_a_check_or_another_job_has_it(registry):  # noqa: F811
    push(registry, "job", "a")
    push(registry, "other", "a")
    push(registry, "job", "b")
    registry.checks.record(new_check("job", "a", "b"), kept=9)
    registry.deletions.version("job", 2, **GIVEN)
    assert count(registry, plans) == 2
    registry.deletions.job("job", **GIVEN)
    assert [registry.plans.get(packed("a").plan.digest).job_name, count(registry, plans)] == ["a", 1]


def test_a_job_goes_whole_and_one_of_its_name_begins_behind_its_numbers(registry):  # noqa: F811
    accepted = Acceptance(fingerprint="f", rule="CMP103", title="t", reason="r", by="ann")
    for name in "ab":
        push(registry, "job", name)
    promote(registry, 1)
    check = registry.checks.record(replace(new_check("job", "a", "b"), accepted=(accepted,)), kept=9)
    assert registry.deletions.job("job", **GIVEN, even_promoted=True) == [1, 2]
    left = {table.name: count(registry, table) for table in METADATA.sorted_tables}
    assert {name for name, rows in left.items() if rows} == {"numbers", "audit"}
    with pytest.raises(NotFound):
        registry.jobs.get("job")
    assert push(registry, "job", "c").number == 3
    assert registry.acceptances.between("job", packed("a").plan.digest, packed("b").plan.digest) == ()
    assert registry.checks.record(new_check("job", "a", "b"), kept=9).id > check.id


def test_numbers_go_on_in_a_registry_of_before(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/compat.db")
    with engine.begin() as connection:
        config = migrate.config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0005")
        connection.execute(text("INSERT INTO plans VALUES ('d', 'job', '2.3', 1, 2, x'00')"))
        for id, name in ((1, "job"), (2, "empty")):
            connection.execute(text("INSERT INTO jobs VALUES (:id, :name, 0, NULL)"), {"id": id, "name": name})
        connection.execute(text("INSERT INTO versions VALUES (1, 1, 4, 'd', NULL, NULL, 'me', 0, NULL)"))
        connection.execute(
            text(
                "INSERT INTO checks (id, old_label, old_kind, new_label, new_kind, verdict, sentence, errors, warnings, "
                "\"by\", at, seconds, report) VALUES (7, 'a', 'plan', 'b', 'plan', 'v', 's', 0, 0, 'me', 0, 0, x'')"
            )
        )
    engine.dispose()
    old = Registry(Database(f"sqlite:///{tmp_path}/compat.db"))
    old.database.migrate()
    assert (push(old, "job", "a").number, push(old, "empty", "a").number) == (5, 1)
    assert old.checks.get(7).verdict == "v"
    old.database.close()


# The rule.


def aged(registry, days, *wanted):  # noqa: F811
    """Have some versions been pushed days ago."""
    with registry.database.write() as connection:
        pushed = time.time() - days * 86_400
        connection.execute(update(versions).where(versions.c.number.in_(wanted)).values(pushed_at=pushed))


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        (Rule(keep=2), [6, 5, 3]),
        (Rule(days=30), [6, 5, 4, 3]),
        (Rule(keep=5, days=30), [6, 5, 4, 3, 2]),
        (Rule(keep=3, days=100), [6, 5, 4, 3, 2, 1]),
    ],
)
def test_the_rule_takes_what_was_never_promoted(registry, rule, left):  # noqa: F811
    for name in "abcdef":
        push(registry, "job", name)
    push(registry, "young", "a")
    promote(registry, 3)
    aged(registry, 40, 1, 2, 3)
    gone = registry.deletions.expire(rule)
    assert (numbers(registry), gone) == (left, 6 - len(left))
    assert numbers(registry, "young") == [1]
    assert count(registry, plans) == len(left) + (0 if 1 in left else 1)
    told = [entry.detail["versions"] for entry in registry.audit.list() if entry.action is Action.EXPIRE]
    expected = ", ".join(str(number) for number in range(1, 7) if number not in left)
    assert told == ([expected] if gone else [])


def test_many_versions_go_in_several_transactions(registry, monkeypatch):  # noqa: F811
    monkeypatch.setattr("compat.service.registry.deletions.AT_ONCE", 3)
    for number in range(11):
        push(registry, "job", f"plan {number}")
    assert registry.deletions.expire(Rule()) == 10
    assert (numbers(registry), count(registry, plans)) == ([11], 1)


@pytest.mark.parametrize(("rule", "left"), [(None, 3), (Rule(keep=2), 2)])
def test_a_service_keeps_to_its_rule_and_has_none_by_itself(tmp_path, rule, left):
    app = create_app(ServiceSettings(database=f"sqlite:///{tmp_path}/compat.db", expiry=rule, workers=1))
    registry = app.state.registry  # noqa: F811
    for name in "abc":
        push(registry, "job", name)

    async def a_while():
        task = asyncio.create_task(keep_expiring(app.state.service))
        await asyncio.wait([task], timeout=0.5)
        task.cancel()

    asyncio.run(a_while())
    assert len(numbers(registry)) == left
    registry.database.close()


# The service.


def test_what_was_deleted_is_neither_shown_nor_decided_from_memory(service, job):
    for names in (OLD, RENUMBERED, (*OLD, "more")):
        service.push(job, *names)
    admin = service.client("admin")
    page = f"{service.url}/jobs/{job}/versions/2"
    check = {"old": {"job": job, "version": 2}, "new": {"plan": plan(*OLD)}}
    for _ in range(2):  # by now it is in memory
        assert httpx.get(page).status_code == 200
        assert admin.get(f"/jobs/{job}/versions/2").status_code == 200
        assert admin.post("/checks", json=check).status_code == 201
    sent = {"version": 2, "reason": "a mistake"}
    assert service.client("push").post(f"/jobs/{job}/deletions", json=sent).status_code == 403
    answer = admin.post(f"/jobs/{job}/deletions", json=sent)
    assert (answer.status_code, answer.json()["versions"]) == (200, [2])
    assert httpx.get(page).status_code == 404
    assert admin.get(f"/jobs/{job}/versions/2").status_code == 404
    assert admin.post("/checks", json=check).status_code == 404
    assert admin.post(f"/jobs/{job}/deletions", json=sent).status_code == 404


def test_the_command_deletes_and_says_what_it_takes(service, job):
    service.push(job, *OLD)
    service.promote(job)
    service.push(job, *RENUMBERED)
    asked = ("delete", "--job", job, "--reason", "no more")
    assert compat(service, *asked, role="admin").exit_code == 2
    assert compat(service, *asked, "--version", 1, "--whole-job", role="admin").exit_code == 2
    done = compat(service, *asked, "--version", 2, role="admin")
    assert (done.exit_code, done.output) == (0, f"{job}@2 is deleted.\n")
    refused = compat(service, *asked, "--version", 1, role="admin")
    assert (refused.exit_code, f"{job}@1 runs" in refused.output) == (1, True)
    done = compat(service, *asked, "--whole-job", "--even-promoted", role="admin")
    assert (done.exit_code, done.output) == (0, f"{job} is deleted, with 1 version.\n")
    assert service.client().get(f"/jobs/{job}").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"version": 1},
        {"version": 1, "reason": " "},
        {"reason": "r"},
        {"version": 1, "whole_job": True, "reason": "r"},
        {"versions": [1], "reason": "r"},
    ],
)
def test_a_deletion_says_what_and_why(service, job, body):
    service.push(job, *OLD)
    assert service.client("admin").post(f"/jobs/{job}/deletions", json=body).status_code in (400, 422)
