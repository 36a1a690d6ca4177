"""The registry keeps and forgets what it should, and its migrations make the tables that it asks for."""

from __future__ import annotations

import json

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from msgspec.structs import replace
from sqlalchemy import create_engine, func, select, text

from compat.service.database import Database, DatabaseUrlError, migrate
from compat.service.database.tables import METADATA, plans
from compat.service.options import Accepted, Options
from compat.service.records import Acceptance, Action, CheckSide, Plan, Role
from compat.service.registry import Conflict, NotFound, Registry
from compat.service.registry.checks import NewCheck
from compat.service.registry.packing import canonical, digest_of, pack
from compat.service.registry.plans import PackedPlan


@pytest.fixture
def registry(tmp_path):
    made = Registry(Database(f"sqlite:///{tmp_path}/compat.db"))
    made.database.migrate()
    yield made
    made.database.close()


def packed(text):
    body = canonical({"job_name": text})
    return PackedPlan(Plan(digest=digest_of(body), job_name=text, flink="2.3", operators=1, size=len(body)), pack(body))


def push(registry, job, text, **more):
    return registry.jobs.push(job, packed(text), **{"commit": None, "author": None, "by": "me"} | more).version


def new_check(job, old, new, verdict="compatible"):
    given = (packed(old), packed(new))
    sides = [CheckSide(label=each.plan.job_name, kind="plan", digest=each.plan.digest) for each in given]
    return NewCheck(
        job=job,
        old=sides[0],
        new=sides[1],
        verdict=verdict,
        sentence="…",
        errors=0,
        warnings=0,
        commit=None,
        author=None,
        by="me",
        seconds=0.1,
        report=pack(json.dumps({"verdict": verdict}).encode()),
        plans=given,
    )


def test_the_migrations_make_the_tables(registry):
    with registry.database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    assert registry.database.ready()
    registry.database.migrate()


def test_a_database_of_another_version_is_not_ready(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/compat.db")
    assert not database.ready()
    database.close()


@pytest.mark.parametrize(
    "url", ["", "compat.db", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "sqlite:////none/x.db"]
)
def test_a_url_that_is_none_says_what_is_one(url):
    with pytest.raises(DatabaseUrlError):
        Database(url)


def test_the_file_is_its_owners_only(registry, tmp_path):
    assert (tmp_path / "compat.db").stat().st_mode & 0o077 == 0


def test_the_oldest_checks_are_forgotten_with_their_plans(registry):
    push(registry, "job", "kept plan")
    made = [registry.checks.record(new_check("job", "kept plan", f"plan {number}"), kept=3) for number in range(6)]
    assert [check.id for check in registry.checks.list("job")] == [made[5].id, made[4].id, made[3].id]
    with registry.database.read() as connection:
        names = set(connection.execute(select(plans.c.job_name)).scalars())
    assert names == {"kept plan", "plan 3", "plan 4", "plan 5"}
    with pytest.raises(NotFound):
        registry.checks.report(made[0].id)


def test_a_check_that_a_promotion_stands_on_stays(registry):
    push(registry, "job", "one")
    first = registry.checks.record(new_check("job", "one", "two"), kept=2)
    registry.jobs.promote("job", 1, expected=None, by="me", check=first.id)
    for number in range(4):
        registry.checks.record(new_check("job", "one", f"plan {number}"), kept=2)
    assert registry.checks.get(first.id) == first
    assert len(registry.checks.list("job")) == 3


def test_checks_of_one_job_do_not_push_out_those_of_others(registry):
    push(registry, "quiet", "one")
    push(registry, "busy", "one")
    quiet = registry.checks.record(new_check("quiet", "one", "two"), kept=2)
    for number in range(5):
        registry.checks.record(new_check("busy", "one", f"plan {number}"), kept=2)
    assert registry.checks.list("quiet") == [quiet]


def test_a_plan_is_kept_once(registry):
    for number in range(3):
        push(registry, f"job {number}", "same")
    with registry.database.read() as connection:
        assert connection.execute(select(func.count()).select_from(plans)).scalar() == 1


def test_the_last_check_is_the_jobs_own(registry):
    push(registry, "a", "one")
    push(registry, "b", "one")
    registry.checks.record(new_check("a", "one", "two"), kept=9)
    last = registry.checks.record(new_check("a", "one", "three", "incompatible"), kept=9)
    assert [job.last_check for job in registry.jobs.all()] == [last, None]


def test_a_check_decides_about_its_plans_job_and_options(registry):
    push(registry, "a", "one")
    push(registry, "b", "one")
    plans = packed("one").plan.digest, packed("three").plan.digest
    asked = Options()
    others = (
        Options(allow_non_restored=True),
        Options(flink="1.20"),
        Options(accept=(Accepted("CMP103|count", "known"),)),
    )
    assert len({each.key for each in (asked, *others)}) == 4
    registry.checks.record(new_check("a", "one", "three"), kept=9)  # as an older server left it
    assert registry.checks.between("a", *plans, asked) is None
    decides = registry.checks.record(replace(new_check("a", "one", "three"), options=asked.key), kept=9)
    registry.checks.record(replace(new_check("a", "one", "three"), options=others[0].key), kept=9)
    assert registry.checks.between("a", *plans, asked) == decides
    assert registry.checks.between("a", *plans, others[1]) is None
    assert registry.checks.between("b", *plans, asked) is None
    assert registry.checks.between("a", *reversed(plans), asked) is None


def test_another_checker_decides_anew(monkeypatch):
    key = Options().key
    monkeypatch.setattr("compat.service.options.engine", lambda: "another")
    assert Options().key != key


def test_a_registry_of_the_first_version_is_brought_up_to_date(tmp_path):
    path = tmp_path / "compat.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = migrate.config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO jobs (id, name, created_at, current) VALUES (1, 'job', 0, 1)"))
        connection.execute(text("INSERT INTO plans VALUES ('d', 'job', '2.3', 1, 2, x'00')"))
        connection.execute(text("INSERT INTO versions VALUES (1, 1, 1, 'd', NULL, NULL, 'me', 0)"))
        connection.execute(text("INSERT INTO promotions VALUES (1, 1, 1, 'me', 0, NULL, 0, NULL)"))
    engine.dispose()
    registry = Registry(Database(f"sqlite:///{path}"))
    registry.database.migrate()
    assert registry.database.ready()
    assert [(one.number, one.accepted) for one in registry.jobs.promotions("job")] == [(1, ())]
    registry.database.close()


def test_a_check_of_no_job_is_kept_too_and_one_of_an_unknown_job_is_not(registry):
    check = registry.checks.record(new_check(None, "one", "two"), kept=9)
    assert registry.checks.get(check.id).job is None
    with pytest.raises(NotFound):
        registry.checks.record(new_check("nobody", "one", "two"), kept=9)


def test_names_of_tokens_are_taken_once(registry):
    registry.tokens.create("ci", Role.PUSH)
    with pytest.raises(Conflict):
        registry.tokens.create("ci", Role.ADMIN)
    assert [(token.name, token.role) for token in registry.tokens.list()] == [("ci", Role.PUSH)]
    with pytest.raises(NotFound):
        registry.tokens.revoke("nobody")


def test_what_is_withdrawn_is_of_one_job_and_of_the_plans_that_are_named(registry):
    given = Acceptance(fingerprint="f", rule="CMP103", title="count moves", reason="agreed", by="ann")
    for job in ("one", "two"):
        push(registry, job, "a")
        for new in ("b", "c"):
            registry.checks.record(replace(new_check(job, "a", new), accepted=(given,)), kept=9)
    plans = {new: packed(new).plan.digest for new in "abc"}
    (gone,) = registry.acceptances.withdraw("one", "f", reason="r", by="bob", new_plan=plans["b"])
    assert (gone.acceptance, gone.old_plan, gone.new_plan) == (given, plans["a"], plans["b"])
    assert registry.acceptances.between("one", plans["a"], plans["b"]) == ()
    assert [each.new_plan for each in registry.acceptances.standing("one")] == [plans["c"]]
    assert len(registry.acceptances.standing("two")) == 2
    for name, job, old in (("no finding", "one", None), ("f", "nobody", None), ("f", "one", plans["b"])):
        with pytest.raises(NotFound):
            registry.acceptances.withdraw(job, name, reason="r", by="bob", old_plan=old)
    assert len(registry.acceptances.withdraw("two", "f", reason="r", by="bob")) == 2
    assert [entry.detail["new_plan"] for entry in registry.audit.list() if entry.action is Action.WITHDRAW][-1:] == [
        plans["b"]
    ]
