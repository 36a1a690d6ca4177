"""The pages as they are sent. What a browser makes of them is tested in tests/compat/browser."""

from __future__ import annotations

import html
import re
from urllib.parse import quote

import httpx
import pytest

from tests.compat.service.filled import HOSTILE, UNREGISTERED, filled


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    service = filled(tmp_path_factory.mktemp("pages"))
    with httpx.Client(base_url=service.url, timeout=60) as client:
        service.pages = client.get
        yield service
    service.stop()


def savepoint(running, name, folder="savepoints"):
    found = re.search(rf'href="(/{folder}/[0-9a-f]+)" title="[^"]*/{name}"', running.pages(f"/{folder}").text)
    return running.pages(found[1]).text


def on_spark(running, name):
    return savepoint(running, name, "running")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/", ["word count", "orders", "Incompatible", "Compatible", "word count@1"]),
        ("/checks", ["Incompatible", "job.py", "2 <span"]),
        ("/checks/1", ["cannot restore the state of word count@1", "CMP102", "Where each state goes", "view-data"]),
        ("/jobs/word%20count", ["word count@2", "0a1b2c3d4e5f", "Promotions", "Asked by the cluster", "streams/words"]),
        ("/jobs/word%20count/versions/2", ["Operators", "job vertices", "view-data"]),
        ("/jobs/word%20count/compare?old=1&new=2", ["CMP102", "word count@1", "The other way", "view-data"]),
        ("/savepoints", ["windows", "savepoint on Spark", "unreadable"]),
        ("/running", ["jobs/6f2c", "word count", "Refresh by itself"]),
        ("/login", ["Token", 'action="/login"']),
    ],
)
def test_pages(running, address, told):
    answer = running.pages(address)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    for text in told:
        assert text.lower() in answer.text.lower()
    for script in re.findall(r"<script[^>]*>", answer.text):
        assert 'src="/static/' in script or "application/json" in script
    assert " style=" not in answer.text
    assert "<style" not in answer.text


@pytest.mark.parametrize(
    "address",
    [
        "/checks/999",
        "/checks/x",
        "/checks/0",
        "/jobs/nobody",
        "/jobs/orders/versions/9",
        "/savepoints/" + "0" * 32,
        "/savepoints/..%2f..%2fetc",
        "/jobs/%3Cscript%3E",
        "/jobs/orders/compare?old=1&new=9",
        "/jobs/orders/compare?old=x&new=1",
        "/jobs/nobody/compare?old=1&new=1",
        "/running/" + "0" * 32,
        "/checks?before=x",
    ],
)
def test_what_is_not_there(running, address):
    answer = running.pages(address)
    assert answer.status_code == 404
    assert "<script>" not in answer.text


def test_names_from_clients_are_text(running):
    for address in ("/jobs/orders", "/checks", "/"):
        text = running.pages(address).text
        assert "<img" not in text
        assert "\u202e" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;\\u202e" in running.pages("/jobs/orders").text
    assert HOSTILE not in running.pages("/jobs/orders").text


@pytest.mark.parametrize(
    "address", ["/static/view/../../__init__.py", "/static/view/%2e%2e/page.py", "/static/service/..%2f..%2fapp.py"]
)
def test_only_styles_and_scripts_are_served(running, address):
    assert running.pages(address).status_code == 404


def test_every_link_leads_somewhere(running):
    addresses, seen = ["/"], set()
    while addresses:
        address = addresses.pop()
        seen.add(address)
        answer = running.pages(address)
        assert answer.status_code == 200, address
        links = {html.unescape(link).partition("#")[0] for link in re.findall(r' href="(/[^"]*)"', answer.text)}
        addresses += links - seen - set(addresses)
    assert {"/jobs/word%20count", "/checks/1", "/savepoints", "/running"} < seen


def test_a_job_that_nobody_pushed_has_its_savepoints(running):
    answer = running.pages("/jobs/" + quote(UNREGISTERED))
    assert answer.status_code == 200
    assert "compat registry push" in answer.text
    assert "jobs/loner" in answer.text
    assert UNREGISTERED in answer.text


def test_a_savepoint_of_flink(running):
    text = savepoint(running, "windows")
    assert "CountTumblingWindowAssigner" in text
    assert "python-state-window-contents" in text
    assert "42 to 43 key groups a subtask; 4 of 128 hold data; the fullest subtask holds 1.3 times its share." in text
    assert "key groups 0 to 42" in text
    assert text.count('class="fill"') > 20


def test_a_job_on_spark(running):
    text = on_spark(running, "6f2c")
    for chart in ("Records per second", "Watermark lag", "State on disk", "Time between epochs"):
        assert f"<figcaption>{chart}</figcaption>" in text
    assert re.findall(r'<th scope="row">(\d)</th>', text) == ["4", "3", "2", "1"]
    assert "1 min" in text
    sizes = '<td data-label="Metric">sizes</td><td class="number" data-label="Value">1 to 5, mean 3.0 of 2</td>'
    assert f'<th scope="row">count</th>{sizes}' in text


def test_a_savepoint_on_spark_has_no_epochs(running):
    text = savepoint(running, "savepoint-6f2c")
    assert "<h2>Epochs</h2>" not in text
    assert "savepoint-6f2c" in text


@pytest.mark.parametrize(("name", "reason"), [("linked", None), ("stray", "names a file outside of it")])
def test_nothing_outside_of_the_folder_is_read(running, name, reason):
    if reason is None:
        assert f"/{name}" not in running.pages("/savepoints").text + running.pages("/running").text
    else:
        assert reason in on_spark(running, name)


def test_jobs_on_spark_are_pages_of_their_own(running):
    listed = running.pages("/running").text
    assert "jobs/6f2c" in listed
    assert "windows" not in listed
    assert "jobs/6f2c" not in running.pages("/savepoints").text
    job, flink = (
        re.search(rf'href="/{folder}/([0-9a-f]+)"', running.pages(f"/{folder}").text)[1]
        for folder in ("running", "savepoints")
    )
    moved = running.pages(f"/savepoints/{job}")
    assert (moved.status_code, moved.headers["location"]) == (303, f"/running/{job}")
    assert running.pages(f"/running/{flink}").headers["location"] == f"/savepoints/{flink}"


def test_any_two_versions_are_compared_and_nothing_is_kept(running):
    checks = len(running.client().get("/checks").json()["checks"])
    job = running.pages("/jobs/orders").text
    assert re.search(r'<form class="compare" method="get" action="/jobs/orders/compare">', job)
    assert re.findall(r'<option value="(\d)" selected', job) == ["1", "2"]
    there, back, same = (
        running.pages(f"/jobs/word%20count/compare?old={old}&new={new}").text for old, new in ((1, 2), (2, 1), (1, 1))
    )
    assert "cannot restore the state of word count@1" in there
    assert "cannot restore the state of word count@2" in back
    assert "word count@1 restores the state of word count@1" in same
    assert len(running.client().get("/checks").json()["checks"]) == checks


def test_addresses_of_people_are_not_shown(tmp_path_factory):
    service = filled(tmp_path_factory.mktemp("people"))
    try:
        author = "Ada Lovelace <ada@example.org>"
        assert service.push("orders", "other", commit="77", author=author).is_success
        with httpx.Client(base_url=service.url, timeout=60) as client:
            text = client.get("/jobs/orders").text
        assert "Ada Lovelace" in text
        assert "example.org" not in text
    finally:
        service.stop()


def test_what_cannot_be_read_says_why(running):
    assert "unreadable" in savepoint(running, "broken")


def test_with_tokens_looking_takes_a_login(tmp_path):
    service = filled(tmp_path, "--no-anonymous")
    try:
        with httpx.Client(base_url=service.url, timeout=60) as client:
            answer = client.get("/checks/1", headers={"Accept": "text/html"})
            assert (answer.status_code, answer.headers["location"]) == (303, "/login")
            assert client.post("/login", data={"token": "no such"}).status_code == 401
            assert client.post("/login", data={"token": service.tokens["read"]}).status_code == 303
            assert client.get("/checks/1").status_code == 200
            assert "Log out" in client.get("/").text
            assert client.post("/logout").status_code == 303
            assert client.get("/", headers={"Accept": "text/html"}).status_code == 303
            strange = {"Origin": "http://elsewhere.example"}
            assert client.post("/login", data={"token": service.tokens["read"]}, headers=strange).status_code == 403
    finally:
        service.stop()
