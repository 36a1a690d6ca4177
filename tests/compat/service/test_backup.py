"""The registry as one file and back, and the log of what was decided."""

from __future__ import annotations

import gzip
import json
import os
import time

import httpx
import pytest
from alembic import command
from click.testing import CliRunner
from msgspec.structs import replace
from sqlalchemy import MetaData, create_engine, select, text

from compat.cli import main
from compat.service.backup import BackupError, export, restore, verify
from compat.service.database import Database, migrate
from compat.service.database.tables import METADATA
from compat.service.records import Acceptance, Action, Role
from compat.service.registry import Conflict, NotFound, Registry
from tests.compat.service.running import OLD, RENUMBERED, plan, serve
from tests.compat.service.test_faults import postgres, postgres_database  # noqa: F401 - fixtures
from tests.compat.service.test_registry import new_check, packed, push

ACCEPTED = Acceptance(
    fingerprint="CMP103|count", rule="CMP103", title="count goes elsewhere", reason="agreed", by="ann"
)


@pytest.fixture
def registry(tmp_path):
    made = Registry(Database(f"sqlite:///{tmp_path}/compat.db"))
    made.database.migrate()
    yield made
    made.database.close()


def fill(registry):
    """Something in every table; the text of a token."""
    token = registry.tokens.create("ci", Role.PUSH)
    for number, name in enumerate(("one", "two", "Ünï\u202ecode <b>")):
        push(registry, "job", name, commit=str(number), author="Ada")
    check = registry.checks.record(replace(new_check("job", "one", "two"), accepted=(ACCEPTED,)), kept=9)
    registry.jobs.promote("job", 1, expected=None, by="ann", check=None)
    registry.jobs.promote("job", 2, expected=1, by="ann", check=check.id, accepted=(ACCEPTED,))
    registry.jobs.promote("job", 3, expected=2, by="bob", check=None, reason="a fresh start")
    with registry.database.write() as connection:
        connection.execute(
            text(
                "INSERT INTO savepoints "
                "(id, path, kind, status, checkpoint, bytes, modified_at, seen_at, fingerprint, inspection) "
                "VALUES ('a', '/x', 'flink', 'ok', 9223372036854775807, 1e18, -5.5, 0, 'f', :bytes)"
            ),
            {"bytes": bytes(range(256))},
        )
    return token


def contents(database):
    with database.read() as connection:
        return {
            table.name: sorted(map(repr, (tuple(row) for row in connection.execute(select(table)))))
            for table in METADATA.sorted_tables
        }


def test_what_was_exported_comes_back_whole(registry, tmp_path):
    token = fill(registry)
    path = tmp_path / "registry.compat.gz"
    made = export(registry.database, str(path))
    assert made.rows["versions"] == 3
    assert all(made.rows.values()), made.rows
    assert path.stat().st_mode & 0o077 == 0
    assert sorted(each.name for each in tmp_path.iterdir() if "tmp" in each.name) == []
    other = Registry(Database(f"sqlite:///{tmp_path}/other.db"))
    restore(other.database, str(path))
    before, after = contents(registry.database), contents(other.database)
    imported = [entry for entry in other.audit.list() if entry.action is Action.IMPORT]
    assert len(imported) == 1
    assert len(after.pop("audit")) == len(before.pop("audit")) + 1
    assert after == before
    assert other.tokens.identify(token) == registry.tokens.identify(token)
    assert push(other, "job", "four").number == 4
    assert other.database.ready()
    other.database.close()


def test_it_goes_to_another_kind_of_database_and_on_there(registry, tmp_path, postgres_database):  # noqa: F811
    fill(registry)
    path = str(tmp_path / "registry.compat.gz")
    export(registry.database, path)
    other = Registry(Database(postgres_database))
    restore(other.database, path)
    assert [job.versions for job in other.jobs.all()] == [3]
    assert push(other, "job", "four").number == 4
    other.jobs.promote("job", 4, expected=3, by="ann", check=None)
    back = Database(f"sqlite:///{tmp_path}/back.db")
    export(other.database, path)
    restore(back, path)
    assert [version.number for version in Registry(back).jobs.versions("job")] == [4, 3, 2, 1]
    other.database.close()
    back.close()


def damaged(path, change):
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(change(lines))))


def swap_a_plan(lines):
    """The body of one plan under the digest of another one."""
    rows = [json.loads(line) if line.startswith(b"[") else None for line in lines]
    first, second = [number for number, row in enumerate(rows) if row is not None and row[0] == "plans"][:2]
    rows[first][1]["body"] = rows[second][1]["body"]
    lines[first] = json.dumps(rows[first]).encode() + b"\n"
    return lines


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[:-1], "its end is missing"),
        (lambda lines: lines[:3] + lines[4:], "damaged"),
        (
            lambda lines: [*lines[:3], lines[3].replace(b"job", b"jab"), *lines[4:]],
            "damaged|not the one of that digest",
        ),
        (lambda lines: [*lines, lines[1]], "behind the end"),
        (lambda lines: [lines[0].replace(b'"format":1', b'"format":2'), *lines[1:]], "format 2"),
        (lambda lines: [b"{}\n"], "not a line of a backup"),
        (lambda lines: [b"[" * 100_000], "not a line of a backup"),
        (lambda lines: [], "its end is missing"),
        (swap_a_plan, "not the one of that digest"),
    ],
)
def test_what_is_not_whole_is_refused_before_anything_is_written(registry, tmp_path, change, says):
    fill(registry)
    path = tmp_path / "registry.compat.gz"
    export(registry.database, str(path))
    damaged(path, change)
    other = Database(f"sqlite:///{tmp_path}/other.db")
    with pytest.raises(BackupError, match=says):
        restore(other, str(path))
    with other.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar() == 0
    other.close()


def test_a_file_cut_off_anywhere_is_refused(registry, tmp_path):
    fill(registry)
    path = tmp_path / "registry.compat.gz"
    export(registry.database, str(path))
    whole = path.read_bytes()
    for length in (0, 1, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(BackupError):
            verify(str(path))
    path.write_bytes(b"no archive at all")
    with pytest.raises(BackupError, match="no whole backup"):
        verify(str(path))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BackupError, match="named pipe"):
        verify(str(path))


def test_a_registry_in_use_is_not_overwritten(registry, tmp_path):
    fill(registry)
    path = str(tmp_path / "registry.compat.gz")
    export(registry.database, path)
    before = contents(registry.database)
    with pytest.raises(BackupError, match="an empty database"):
        restore(registry.database, path)
    assert contents(registry.database) == before


def test_a_failed_export_leaves_the_last_one(registry, tmp_path):
    path = tmp_path / "registry.compat.gz"
    path.write_bytes(b"the last one")
    registry.database.close()
    broken = Database(f"sqlite:///{tmp_path}/none.db")  # it has no tables
    with pytest.raises(Exception, match="no such table"):
        export(broken, str(path))
    assert path.read_bytes() == b"the last one"
    assert [each.name for each in tmp_path.iterdir() if "tmp" in each.name] == []
    with pytest.raises(BackupError, match="cannot be written"):
        export(broken, str(tmp_path / "no" / "folder"))
    broken.close()


def test_a_backup_of_an_older_version_is_brought_up_to_date(tmp_path, monkeypatch):
    engine = create_engine(f"sqlite:///{tmp_path}/old.db")
    with engine.begin() as connection:
        config = migrate.config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO jobs (id, name, created_at) VALUES (1, 'old job', 0)"))
    there = MetaData()
    there.reflect(engine)
    engine.dispose()
    tables = [table for table in there.sorted_tables if table.name != "alembic_version"]  # as that version had them
    with monkeypatch.context() as patch:
        patch.setattr(METADATA.__class__, "sorted_tables", property(lambda _: tables))
        export(Database(f"sqlite:///{tmp_path}/old.db"), str(tmp_path / "old.gz"))
    registry = Registry(Database(f"sqlite:///{tmp_path}/new.db"))
    restore(registry.database, str(tmp_path / "old.gz"))
    assert registry.database.ready()
    assert [job.name for job in registry.jobs.all()] == ["old job"]
    registry.database.close()


# The audit log.


def test_what_was_decided_is_told(registry):
    fill(registry)
    registry.tokens.revoke("ci")
    told = [(entry.by, entry.action, entry.job, dict(entry.detail)) for entry in reversed(registry.audit.list())]
    assert [(by, action) for by, action, _, _ in told] == [
        ("the command line", Action.CREATE_TOKEN),
        ("ann", Action.ACCEPT),
        ("ann", Action.PROMOTE),
        ("ann", Action.PROMOTE),
        ("bob", Action.FORCE),
        ("the command line", Action.REVOKE_TOKEN),
    ]
    assert told[0][3] == {"name": "ci", "role": "push"}
    assert told[1][2:] == (
        "job",
        {"check": 1, "fingerprint": "CMP103|count", "rule": "CMP103", "reason": "agreed"},
    )
    assert told[4][2:] == (
        "job",
        {"version": 3, "instead_of": 2, "check": None, "reason": "a fresh start", "accepted": 0},
    )
    assert [entry.id for entry in registry.audit.list(limit=2, before=3)] == [2, 1]


def test_what_failed_is_not_told(registry):
    registry.jobs.push("job", packed("one"), commit=None, author=None, by="me")
    with pytest.raises(Conflict):
        registry.jobs.promote("job", 1, expected=7, by="me", check=None)
    with pytest.raises(NotFound):
        registry.tokens.revoke("nobody")
    registry.tokens.create("ci", Role.PUSH)
    with pytest.raises(Conflict):
        registry.tokens.create("ci", Role.ADMIN)
    assert [entry.action for entry in registry.audit.list()] == [Action.CREATE_TOKEN]


def test_the_log_is_for_admins(service, job):
    service.push(job, *OLD)
    service.promote(job)
    service.push(job, *RENUMBERED)
    service.promote(job, "admin", force=True, reason="a fresh start")
    for role, status in ((None, 401), ("read", 403), ("push", 403), ("admin", 200)):
        answer = service.client(role).get("/audit")
        assert answer.status_code == status
        assert "etag" not in answer.headers
    mine = [entry for entry in service.client().get("/audit").json()["audit"] if entry["job"] == job]
    assert [(entry["by"], entry["action"]) for entry in mine] == [("a admin", "force"), ("a push", "promote")]
    assert mine[0]["detail"]["reason"] == "a fresh start"


# The command line.


def compat(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_the_commands(registry, tmp_path):
    fill(registry)
    url, path = f"sqlite:///{tmp_path}/compat.db", tmp_path / "registry.compat.gz"
    assert compat("registry", "export", path, "--database", url).exit_code == 0
    restored = f"sqlite:///{tmp_path}/restored.db"
    assert compat("registry", "import", path, "--database", restored).exit_code == 0
    again = compat("registry", "import", path, "--database", restored)
    assert (again.exit_code, "an empty database" in again.output) == (2, True)
    told = compat("registry", "audit", "--database", restored)
    assert told.exit_code == 0
    assert "bob: force job; version 3, instead_of 2, reason a fresh start" in told.output
    lines = compat("registry", "audit", "--database", restored, "--format", "json", "--limit", "2").output.splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["import", "force"]
    assert compat("registry", "import", tmp_path / "nothing", "--database", restored).exit_code == 2


def test_a_server_exports_by_itself(tmp_path):
    path = tmp_path / "backup.gz"
    running = serve(tmp_path, "--backup", str(path), "--backup-interval", "1")
    try:
        running.push("job", *OLD)
        end = time.monotonic() + 60
        while not path.exists() or verify(str(path)).rows["versions"] != 1:
            assert time.monotonic() < end, running.lines()
            time.sleep(0.2)
        assert "compat_last_backup_timestamp_seconds" in httpx.get(f"{running.url}/metrics").text
    finally:
        running.stop()
    assert plan(*OLD)
