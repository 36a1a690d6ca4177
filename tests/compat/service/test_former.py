"""Registries that former builds of compat made, with plans, versions, a promotion and checks in them, are served as our own."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from click.testing import CliRunner
from sqlalchemy import create_engine, text

from compat.cli import main
from compat.service.database import Database
from compat.service.database.migrate import revisions
from compat.service.database.tables import METADATA
from tests.compat.service.running import Running, serve

KEPT = sorted((Path(__file__).parents[2] / "golden" / "formats" / "registries").glob("*.db.gz"))


@pytest.fixture(scope="module", params=KEPT, ids=lambda path: path.name.removesuffix(".db.gz"))
def former(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("former")
    (folder / "compat.db").write_bytes(gzip.decompress(request.param.read_bytes()))
    running = serve(folder)
    yield running
    running.stop()


def test_data_of_each_form_is_kept() -> None:
    assert revisions() == {path.name[:4] for path in KEPT}


def test_the_tables_are_brought_to_the_present_form(former: Running) -> None:
    engine = create_engine(former.database)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_plans_and_what_ran_are_told(former: Running) -> None:
    client = former.client("read")
    assert client.get("/jobs/word_count").json()["current"]["number"] == 1
    versions = client.get("/jobs/word_count/versions").json()["versions"]
    assert [each["number"] for each in versions] == [2, 1]
    for each in versions:
        assert client.get(f"/jobs/word_count/versions/{each['number']}/plan").status_code == 200


def test_each_page_is_shown(former: Running) -> None:
    with httpx.Client(base_url=former.url, timeout=60, follow_redirects=True) as client:
        seen, waiting = set[str](), ["/"]
        while waiting:
            page = waiting.pop()
            seen.add(page)
            answer = client.get(page)
            assert answer.status_code == 200, (page, answer.text)
            if "html" in answer.headers["content-type"]:
                links = re.findall(r'href="(/[^"#?]*)"', answer.text)
                waiting += [each for each in dict.fromkeys(links) if each not in seen and each not in waiting]
    assert {"/jobs/word_count/versions/1", "/jobs/word_count/versions/2"} <= seen, seen


def test_the_gate_decides_about_the_plans_that_are_there(former: Running) -> None:
    refused = former.promote("word_count", version=2)
    assert (refused.status_code, refused.json()["check"]["verdict"]) == (409, "incompatible")
    plan = former.client("read").get("/jobs/word_count/versions/1/plan").json()
    again = former.client("push").post("/jobs/word_count/versions", json={"plan": plan, "commit": "again"})
    assert again.status_code in (200, 201), again.text
    promoted = former.promote("word_count", version=again.json()["number"])
    assert promoted.status_code == 200, promoted.text


def test_a_token_of_then_still_counts(former: Running) -> None:
    engine = create_engine(former.database)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM tokens WHERE name = 'tester'")).scalar() == 1
    engine.dispose()


def test_a_registry_of_a_later_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/compat.db"
    database = Database(url)
    database.migrate()
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    told = CliRunner().invoke(main, ["serve", "--database", url, "--port", "0"])
    assert told.exit_code == 2
    assert "have form 9999" in told.output
    assert "Update compat" in told.output
    assert told.output.splitlines()[-1].startswith("The service cannot start: The tables of sqlite:///")
