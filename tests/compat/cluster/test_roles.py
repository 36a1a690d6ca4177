"""Who may do what at a cluster: every address, for every role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Mount, Route

from compat.cluster.app import SUBMISSION
from compat.cluster.records import Action
from compat.service.access import COOKIE
from compat.service.records import Role
from tests.compat.cluster.served import DESCRIBED, VERTEX, Served, submission

JSON = "application/json"
PAGE, BUTTON, QUESTION = (401, 200, 200, 200, 200), (401, 403, 403, 303, 403), (401, 403, 403, 200, 403)
LOOK, CHANGE = (401, 200, 200, 200, 200), (401, 403, 403, 202, 403)

STATUSES: dict[tuple[str, str], tuple[int, int, int, int, int]] = {
    ("GET", "/livez"): (200, 200, 200, 200, 200),
    ("GET", "/overview"): LOOK,
    ("GET", "/jobs"): LOOK,
    ("GET", "/jobs/overview"): LOOK,
    ("GET", "/jobs/entries"): LOOK,
    ("GET", "/jobs/{job}"): LOOK,
    ("GET", "/jobs/{job}/checkpoints"): LOOK,
    ("GET", "/jobs/{job}/events"): LOOK,
    ("GET", "/jobs/{job}/exceptions"): LOOK,
    ("GET", "/jobs/{job}/log"): LOOK,
    ("GET", "/jobs/{job}/vertices/{vertex}"): LOOK,
    ("GET", "/jobs/{job}/savepoints/{request}"): LOOK,
    ("GET", "/jobs/{job}/state/{operator:path}"): LOOK,
    ("PUT", "/jobs/{job}"): CHANGE,
    ("PATCH", "/jobs/{job}"): CHANGE,
    ("DELETE", "/jobs/{job}"): (401, 403, 403, 409, 403),
    ("POST", "/jobs/{job}/savepoints"): CHANGE,
    ("POST", "/jobs/{job}/stop"): CHANGE,
    ("GET", "/situation"): (401, 400, 400, 400, 400),
    ("GET", "/deployments"): LOOK,
    ("GET", "/deployments/{deployment}"): (401, 404, 404, 404, 404),
    ("PUT", "/deployments/{deployment}"): (401, 403, 403, 415, 403),
    ("GET", "/"): PAGE,
    ("GET", "/ui/deployments"): PAGE,
    ("GET", "/ui/deployments/{deployment}"): (401, 404, 404, 404, 404),
    ("GET", "/ui/jobs"): PAGE,
    ("GET", "/ui/jobs/{job}"): PAGE,
    ("GET", "/ui/jobs/{job}/graph"): PAGE,
    ("GET", "/ui/jobs/{job}/log"): PAGE,
    ("GET", "/ui/jobs/{job}/stop"): QUESTION,
    ("GET", "/ui/jobs/{job}/cancel"): QUESTION,
    ("POST", "/ui/jobs/{job}/savepoint"): BUTTON,
    ("POST", "/ui/jobs/{job}/stop"): BUTTON,
    ("POST", "/ui/jobs/{job}/cancel"): BUTTON,
    ("GET", "/login"): (200, 200, 200, 200, 200),
    ("POST", "/login"): (401, 401, 401, 401, 401),
    ("POST", "/logout"): (303, 303, 303, 303, 303),
    ("GET", "/static/cluster"): (200, 200, 200, 200, 200),
    ("GET", "/static/service"): (200, 200, 200, 200, 200),
    ("GET", "/static/view"): (200, 200, 200, 200, 200),
}
"""What is answered to no token and to tokens of the roles read, push, deploy and admin; the job has not ended, nothing is known
of a situation without a name, there is no such deployment, and what is sent for one is a job."""
FILES = {"/static/cluster": "/numbers.js", "/static/service": "/pages.css", "/static/view": "/base.css"}
OWN = {"Origin": "http://localhost"}
"""What a browser says of what our own pages send."""

BODIES = {"PUT": (SUBMISSION, submission(slots=4)), "POST": (JSON, b"{}")}
"""A job that needs all slots waits: no process is started for it."""
CASES = [(*address, role, status) for address, row in STATUSES.items() for role, status in zip(Role, row, strict=True)]
CHANGES = [(method, path) for method, path in STATUSES if method != "GET"]


def _is_form(path: str) -> bool:
    return path.startswith("/ui/") or path in ("/login", "/logout")


FORMS = [(method, path) for method, path in CHANGES if path.startswith("/ui/")]
INTERFACE = [(method, path) for method, path in CHANGES if not _is_form(path)]


class Cluster(Served):
    """A cluster with a job that was asked for something."""

    def __post_init__(self) -> None:
        super().__post_init__()
        job = self.job()
        self.names = {
            "job": job.id,
            "request": self.jobs.ask(job.id, Action.SAVEPOINT),
            "operator": DESCRIBED,
            "vertex": VERTEX,
            "deployment": "0" * 32,
        }

    def answer(self, method: str, path: str, role: Role = Role.NONE, **headers: str) -> Any:
        """The answer to what a route stands for."""
        kind, body = ("application/x-www-form-urlencoded", b"") if _is_form(path) else BODIES.get(method, ("", None))
        if path.startswith("/ui/") and method == "POST" and "Sec-Fetch-Site" not in headers:
            headers = {**OWN, **headers}
        named = {"Content-Type": kind} if kind else {}
        address = re.sub(r"\{(\w+)(:path)?\}", lambda part: self.names[part[1]], path) + FILES.get(path, "")
        return self.ask(method, address, role, content=body, headers={**named, **headers})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    served = Cluster(tmp_path_factory.mktemp("roles"))
    yield served
    served.close()


def test_every_address_is_in_the_table(cluster: Cluster) -> None:
    served = set()
    for route in cluster.app.routes:
        if isinstance(route, Mount):
            served.add(("GET", route.path))
            continue
        assert isinstance(route, Route)
        served |= {(method, route.path) for method in route.methods or () if method != "HEAD"}
    assert served == set(STATUSES)


@pytest.mark.parametrize(("method", "path", "role", "status"), CASES)
def test_a_role_may_do_what_the_table_says(cluster: Cluster, method: str, path: str, role: Role, status: int) -> None:
    answer = cluster.answer(method, path, role)
    assert answer.status_code == status, answer.text
    if status >= 400 and path != "/login" and not (path.startswith("/ui/") and status in (403, 404)):
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(("method", "path"), CHANGES)
def test_no_page_of_another_site_changes_anything(cluster: Cluster, method: str, path: str) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert cluster.answer(method, path, Role.DEPLOY, **headers).status_code == 403


@pytest.mark.parametrize(("method", "path"), INTERFACE)
def test_a_cookie_changes_nothing_over_the_interface(cluster: Cluster, method: str, path: str) -> None:
    cookie = {"Cookie": f"{COOKIE}={cluster.tokens[Role.DEPLOY]}", "Origin": "http://localhost"}
    assert cluster.answer(method, path, **cookie).status_code == 401


@pytest.mark.parametrize(("method", "path"), list(STATUSES))
def test_no_other_name_and_no_wrong_token_is_let_in(cluster: Cluster, method: str, path: str) -> None:
    assert cluster.answer(method, path, Role.ADMIN, Host="evil.example").status_code == 421
    assert cluster.answer(method, path, Authorization="Bearer wrong").status_code == 401


@pytest.mark.parametrize(("method", "path"), FORMS)
def test_a_form_is_sent_with_the_cookie_and_only_by_a_page_of_ours(cluster: Cluster, method: str, path: str) -> None:
    for role, status in ((Role.PUSH, 403), (Role.DEPLOY, 303), (Role.ADMIN, 403)):
        cookie = {"Cookie": f"{COOKIE}={cluster.tokens[role]}"}
        assert cluster.answer(method, path, **cookie).status_code == status
        for origin in ("http://evil.example", "null", "http://localhost:8080", "http://localhost.evil.example", ""):
            assert cluster.answer(method, path, **cookie, Origin=origin).status_code == 403
        assert (
            cluster.answer(method, path, **cookie, **{"Sec-Fetch-Site": "same-site"}, Origin="null").status_code == 403
        )


@pytest.mark.parametrize(("method", "path"), FORMS)
def test_a_form_of_which_nobody_says_where_it_is_from_is_refused(cluster: Cluster, method: str, path: str) -> None:
    address = path.replace("{job}", cluster.names["job"])
    cookie = {"Cookie": f"{COOKIE}={cluster.tokens[Role.DEPLOY]}"}
    assert cluster.ask(method, address, headers=cookie).status_code == 403
    assert cluster.ask(method, address, Role.DEPLOY).status_code == 403


def test_a_cookie_lets_look(cluster: Cluster) -> None:
    cookie = {"Cookie": f"{COOKIE}={cluster.tokens[Role.READ]}"}
    assert cluster.answer("GET", "/overview", **cookie).status_code == 200


def test_nobody_learns_by_a_refusal_whether_there_is_a_job(cluster: Cluster) -> None:
    for job in (cluster.names["job"], "0" * 32):
        for rest in ("", "/checkpoints", "/events"):
            assert cluster.get(f"/jobs/{job}{rest}", Role.NONE).status_code == 401
        assert cluster.ask("PATCH", f"/jobs/{job}", Role.READ).status_code == 403


def test_on_this_machine_anybody_may_do_all(tmp_path: Path) -> None:
    served = Cluster(tmp_path, Role.DEPLOY)
    for (method, path), row in STATUSES.items():
        assert served.answer(method, path).status_code == row[Role.DEPLOY], path
    for method, path in CHANGES:
        assert served.answer(method, path, Origin="http://evil.example").status_code == 403
    served.close()


@pytest.mark.parametrize("query", ["limit=²", "limit=-1", "limit=x", "limit=" + "9" * 5000])
def test_a_limit_that_is_none_is_refused(cluster: Cluster, query: str) -> None:
    job = cluster.names["job"]
    answer = cluster.get(f"/jobs/{job}/state/{DESCRIBED}?{query}")
    assert answer.status_code == 422, answer.text


def test_an_operator_that_is_not_there_is_not_found(cluster: Cluster) -> None:
    answer = cluster.get(f"/jobs/{cluster.names['job']}/state/nobody")
    assert answer.status_code == 404
    assert "no operator 'nobody'" in answer.json()["detail"]


def test_a_mistake_is_told_as_one_and_nothing_of_it(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(cluster.jobs, "all", broken)
    answer = cluster.get("/jobs")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "secret" not in answer.text
