"""Attacks on a service that fail, a case each."""

from __future__ import annotations

import contextlib
import gzip
import hmac
import html
import json
import pickle
import resource
import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest

from compat.service.access import CONTENT_SECURITY_POLICY
from compat.service.database import Database
from compat.service.records import Role
from compat.service.registry import Registry, tokens
from tests.compat.service.running import JSON, OLD, plan, serve


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A service with narrow limits that shows nothing without a token."""
    limits = ("--max-body", "20000", "--body-timeout", "1", "--head-timeout", "2")
    running = serve(tmp_path_factory.mktemp("strict"), *limits, "--no-anonymous")
    yield running
    running.stop()


class Plant:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def push(service, job, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return service.client("push").post(f"/jobs/{job}/versions", content=content, headers={**JSON, **headers})


# No code of a client runs.


def test_a_planted_pickle_is_not_opened(service, job, tmp_path):
    planted = tmp_path / "planted"
    body = pickle.dumps(Plant(planted))
    assert push(service, job, body).status_code == 400
    text = body.decode("latin-1")
    given = plan(*OLD)
    for operator in given["operators"]:
        operator["detail"] |= {"pickle": text, "function": text.replace("\0", "")}
        for state in operator["states"] or ():
            state["type"] = f"pickled({text})".replace("\0", "")
    given["settings"]["state"] = text
    assert push(service, job, {"plan": given}).status_code == 400  # text with NUL
    given = json.loads(json.dumps(given).replace("\\u0000", ""))
    assert push(service, job, {"plan": given}).status_code == 201
    check = {"old": {"job": job, "version": 1}, "new": {"plan": given}}
    assert service.client("push").post("/checks", json=check).status_code == 201
    assert not planted.exists()


def test_names_of_modules_are_names(service, job, tmp_path):
    given = plan(*OLD)
    for operator in given["operators"]:
        operator |= {"kind": "os.system", "name": f"__import__('os').system('touch {tmp_path}/ran')"}
        operator["detail"] |= {"class": "subprocess.Popen", "module": "antigravity", "function": "builtins.exec"}
    given["operators"][0]["states"] = [
        {"name": "s", "kind": "value", "scope": "keyed", "type": "java:os.system", "py/object": "subprocess.Popen"}
    ]
    assert push(service, job, {"plan": given}).status_code == 201
    check = {"old": {"job": job, "version": 1}, "new": {"plan": given}}
    assert service.client("push").post("/checks", json=check).status_code == 201
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "body",
    [
        b"!!python/object/apply:os.system ['touch /tmp/compat-ran']",
        b'{"plan": !!python/name:os.system }',
        b"&a [*a, *a, *a, *a]",
        b"{plan: {format: 1}}",
        b"plan:\n  format: 1\n",
        b"<<: {a: 1}",
    ],
)
@pytest.mark.parametrize("media", ["application/json", "application/yaml", "text/x-yaml"])
def test_yaml_is_no_json(service, job, body, media):
    answer = push(service, job, body, **{"Content-Type": media})
    assert answer.status_code == (400 if media == "application/json" else 415)


def test_a_compressed_body_is_not_blown_up(service, job):
    bomb = gzip.compress(b" " * 10_000_000)
    assert push(service, job, bomb, **{"Content-Encoding": "gzip"}).status_code == 400


# Paths.


@pytest.mark.parametrize(
    "id",
    [
        "..%2f..%2fetc%2fpasswd",
        "../../../etc/passwd",
        "%2fetc%2fpasswd",
        "a" * 31 + "/",
        "A" * 32,
        "%00" * 32,
        "a" * 5000,
    ],
)
def test_a_savepoint_is_no_path(service, id):
    for path in (f"/savepoints/{id}", f"/savepoints/{id}/inspection"):
        assert service.client("read").get(path).status_code in (404, 422)
    sides = {"old": {"savepoint": id}, "new": {"plan": plan(*OLD)}}
    assert service.client("push").post("/checks", json=sides).status_code in (400, 422)


def test_static_files_are_only_those(service):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2f..%2fsettings.py"):
        assert httpx.get(service.url + path).status_code in (404, 405)


# Bodies.


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 100_000, 400),
        (b'{"plan":' + b"[" * 80 + b"]" * 80 + b"}", 400),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 400),
        (b'{"plan": {}, "plan": {}}', 400),
        (b'{"plan": NaN}', 400),
        (b'{"plan": 1e999}', 400),
        (b'{"plan": ' + b"9" * 5000 + b"}", 400),
        (b'{"plan": "\\ud800"}', 400),
        (b'{"plan": "\\u0000"}', 400),
        (b'"\xff"', 400),
        (b"", 400),
        (b"null", 422),
        (b"[]", 422),
        (b'{"plan": []}', 422),
    ],
)
def test_a_body_that_is_not_taken(service, job, body, status):
    answer = push(service, job, body)
    assert answer.status_code in (status, 400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_that_is_too_large(strict):
    assert push(strict, "job", b" " * 20_001).status_code == 413

    def unannounced():
        while True:
            yield b" " * 10_000

    with contextlib.suppress(httpx.WriteError):  # the server may close the connection while we go on writing
        answer = strict.client("push").post("/jobs/job/versions", content=unannounced(), headers=JSON)
        assert answer.status_code == 413
    lies = "POST /api/v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n"
    lies += f"Authorization: Bearer {strict.tokens['push']}\r\nContent-Type: application/json\r\n\r\n"
    assert raw(strict, lies.encode())[9:12] in (b"408", b"413")
    assert strict.client("push").get("/jobs").status_code == 200


def raw(service, data: bytes, wait: float = 20) -> bytes:
    """A server's answer to bytes, until it closes or ``wait`` seconds passed."""
    address = urlsplit(service.url)
    with socket.create_connection((address.hostname, address.port), timeout=wait) as connection:
        connection.sendall(data)
        got = b""
        try:
            while chunk := connection.recv(65536):
                got += chunk
                if b"\r\n\r\n" in got:
                    break
        except TimeoutError:
            pass
        return got


# Slow clients.


def test_slow_clients_are_cut_off_and_hold_up_nobody(strict):
    address = urlsplit(strict.url)
    heads = [b"", b"GET / HT", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: "]
    slow = [socket.create_connection((address.hostname, address.port)) for _ in range(60)]
    try:
        for number, connection in enumerate(slow):
            connection.settimeout(30)
            connection.sendall(heads[number % len(heads)])
        assert httpx.get(f"{strict.url}/livez", timeout=9).status_code == 200
        for _ in range(15):
            for connection in slow[2::3]:
                with contextlib.suppress(OSError):
                    connection.sendall(b"x")
            time.sleep(0.1)
        for connection in slow:
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1000) == b""
    finally:
        for connection in slow:
            connection.close()


def test_a_second_request_may_not_be_slow_either(strict):
    address = urlsplit(strict.url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /livez HTTP/1.1\r\nHo")
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(1000):
                pass


def test_a_form_with_many_fields_is_refused(service, strict):
    for running in (service, strict):
        for body in ("&".join(f"a{number}=1" for number in range(11)), "&" * 4000):
            answer = httpx.post(f"{running.url}/login", content=body)
            assert answer.status_code in (400, 401), answer.text
        assert httpx.post(f"{running.url}/login", content=b"x" * 5000).status_code == 413


def test_a_client_that_reads_nothing_is_cut_off(tmp_path):
    running = serve(tmp_path, "--write-timeout", "1")
    try:
        running.push("job", *(f"operator {number}" for number in range(400)))
        address = urlsplit(running.url)
        deaf = []
        for _ in range(5):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((address.hostname, address.port))
            connection.settimeout(30)
            get = b"GET /api/v1/jobs/job/versions/1/plan HTTP/1.1\r\nHost: localhost\r\n\r\n"
            connection.sendall(get * 5)
            deaf.append(connection)
        time.sleep(4)
        for connection in deaf:
            got = 0
            with contextlib.suppress(ConnectionResetError):
                while chunk := connection.recv(1 << 20):
                    got += len(chunk)
            assert got < 5_000_000
            connection.close()
        assert httpx.get(f"{running.url}/livez").status_code == 200
    finally:
        running.stop()


def test_more_connections_than_descriptors_are_closed_and_told_once(tmp_path):
    running = serve(tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (460, 460)))
    try:
        address = urlsplit(running.url)
        before = running.log.stat().st_size
        crowd = [socket.create_connection((address.hostname, address.port)) for _ in range(600)]
        time.sleep(2)
        assert running.process.poll() is None
        assert running.log.stat().st_size - before < 20_000
        assert [line["event"] for line in running.lines()].count("connections") == 1
        for connection in crowd:
            connection.close()
        time.sleep(0.5)
        assert httpx.get(f"{running.url}/api/v1/jobs").status_code == 200
    finally:
        running.stop()


def test_a_body_that_does_not_end_is_given_up(strict):
    head = (
        f"POST /api/v1/checks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {strict.tokens['push']}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    assert raw(strict, head.encode()).startswith(b"HTTP/1.1 408")


# Injection through names.

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"onmouseover="alert(1)',
    "a\r\nSet-Cookie: stolen=1",
    "a\n{\"time\": 0, \"event\": \"forged\"}",
    "=HYPERLINK(\"http://evil\")",
    "\x1b[2J\x1b]0;owned\x07",
    "::error file=x::owned",
    "\u202egpj.exe",
    "{{7*7}}${7*7}",
    "'; DROP TABLE jobs; --",
    "javascript:alert(1)",
)  # fmt: skip


def hostile_plan(name):
    given = plan(name, f"{name}2", uids=True)
    given["job_name"] = name
    for operator in given["operators"]:
        if operator["source"]:
            operator["source"]["file"] = name
    for node in given["stream_graph"]["nodes"]:
        node |= {"name": name, "description": name}
    for vertex in given["job_graph"]["vertices"]:
        vertex |= {"name": name, "description": name}
    return given


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_name_stays_a_name(service, job, name):
    body = {"plan": hostile_plan(name), "commit": name, "author": name}
    pushed = push(service, job, body)
    assert pushed.status_code == 201
    assert pushed.json()["commit"] == name
    assert "set-cookie" not in pushed.headers
    sides = {"old": {"job": job, "version": 1, "label": name}, "new": {"plan": hostile_plan("x" + name), "label": name}}
    answer = service.client("push").post("/checks", json={**sides, "commit": name})
    assert answer.status_code == 201
    assert answer.headers["content-type"] == "application/json"
    assert service.client("read").get(f"/jobs/{job}").status_code == 200
    listed = service.client("read").get("/jobs", params={"x": name, "limit": 1000}, headers={"X-Name": "y"})
    assert job in {one["name"] for one in listed.json()["jobs"]}
    check = answer.json()["check"]["id"]
    for page in ("/", f"/jobs/{job}", f"/checks/{check}"):
        shown = httpx.get(service.url + page, headers={"Accept": "text/html"})
        if shown.status_code == 200 and name != html.escape(name):
            assert name not in shown.text


def test_a_path_cannot_forge_a_log_line(service):
    forged = '%0A{"event":"forged"}%0d%0a%1b[2J'
    httpx.get(f"{service.url}/api/v1/jobs/{forged}")
    httpx.get(f"{service.url}/{forged}")
    lines = service.lines()  # every line is JSON
    assert all(line["event"] != "forged" for line in lines)
    assert "\x1b" not in service.log.read_text()


def test_a_method_or_header_cannot_be_smuggled(service):
    both = (
        b"POST /api/v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert not raw(service, both).startswith(b"HTTP/1.1 2")
    assert raw(service, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n X: folded\r\nHost: evil\r\n\r\n")[9:12] in (
        b"400",
        b"421",
    )


# Other sites.


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil", "", "evil:80", "[::2]"),
        *("[::1].evil.com", "[::1]@evil.com", "localhost@evil.com", "localhost:80.evil.com", "[::1", "localhost:80:80"),
    ],
)
def test_a_foreign_host_is_turned_away(service, host):
    for path in ("/api/v1/jobs", "/livez", "/", "/login", "/static/x"):
        assert httpx.get(service.url + path, headers={"Host": host}).status_code in (400, 421)


def test_two_hosts_or_none_are_turned_away(service):
    assert raw(service, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n")[9:12] in (b"400", b"421")
    assert raw(service, b"GET /livez HTTP/1.0\r\n\r\n")[9:12] in (b"400", b"421")


def test_a_host_of_ours_may_have_a_port(service):
    for host in ("localhost:1", "127.0.0.1", "[::1]:8642", "LOCALHOST"):
        assert httpx.get(f"{service.url}/livez", headers={"Host": host}).status_code == 200


def test_two_origins_are_turned_away(service):
    ours = service.url.encode()
    for origins in ((ours, b"https://evil.example"), (b"https://evil.example", ours), (ours, ours)):
        head = b"POST /logout HTTP/1.1\r\nHost: " + ours.removeprefix(b"http://") + b"\r\nContent-Length: 0\r\n"
        head += b"".join(b"Origin: " + origin + b"\r\n" for origin in origins)
        assert raw(service, head + b"\r\n").startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://[evil"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_others_cannot_change_anything(service, job, headers):
    assert push(service, job, {"plan": plan(*OLD)}, **headers).status_code == 403
    for path in ("/login", "/logout"):
        assert httpx.post(service.url + path, headers=headers).status_code == 403


def test_a_cookie_lets_look_and_nothing_else(service, job):
    cookie = {"Cookie": f"compat_token={service.tokens['admin']}"}
    body = json.dumps({"plan": plan(*OLD)})
    answer = httpx.post(f"{service.url}/api/v1/jobs/{job}/versions", content=body, headers={**JSON, **cookie})
    assert answer.status_code == 401
    scan = httpx.post(f"{service.url}/api/v1/savepoints/scan", headers=cookie)
    assert scan.status_code == 401


def test_no_answer_invites_other_sites(service):
    answer = service.client("read").get("/jobs", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control-")]


# Tokens.


def test_a_token_is_not_kept(service):
    secret = service.tokens["push"].split("_", 2)[2]  # which may have a "_" itself
    assert len(secret) == 43
    database = service.database.removeprefix("sqlite:///")
    for suffix in ("", "-wal"):
        with open(database + suffix, "rb") as file:
            content = file.read()
        assert secret.encode() not in content
    assert secret not in service.log.read_text()


def test_tokens_are_compared_in_constant_time(tmp_path, monkeypatch):
    registry = Registry(Database(f"sqlite:///{tmp_path}/compat.db"))
    registry.database.migrate()
    token = registry.tokens.create("a", Role.PUSH)
    compared = []
    same = hmac.compare_digest

    def compare(one, other):
        compared.append((one, other))
        return same(one, other)

    monkeypatch.setattr(tokens.hmac, "compare_digest", compare)
    id = token.split("_")[1]
    assert registry.tokens.identify(token).role is Role.PUSH
    for wrong in (
        "",
        "x",
        f"compat_{id}_",
        f"compat_{id}_{'x' * 43}",
        f"compat_{'0' * 16}_{'x' * 43}",
        token + "x",
        "ü",
    ):
        assert registry.tokens.identify(wrong) is None
    assert len(compared) == 8  # each once, known or not
    assert {len(text) for pair in compared for text in pair} == {64}
    registry.database.close()


def test_a_revoked_token_is_worth_nothing(service):
    registry = service.registry
    token = registry.tokens.create("short-lived", Role.ADMIN)
    call = {"headers": {"Authorization": f"Bearer {token}"}}
    assert httpx.get(f"{service.url}/api/v1/jobs", **call).status_code == 200
    registry.tokens.revoke("short-lived")
    assert httpx.get(f"{service.url}/api/v1/jobs", **call).status_code == 401
    registry.database.close()


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("POST", "/jobs/x/versions", "push"),
        ("POST", "/jobs/x/promotions", "push"),
        ("POST", "/checks", "read"),
        ("POST", "/savepoints/scan", "admin"),
        ("POST", "/jobs/x/withdrawals", "admin"),
        ("POST", "/jobs/x/deletions", "admin"),
        ("POST", "/jobs/x/compatibility", "admin"),
    ],
)
def test_roles(service, method, path, needed):
    order = [None, "read", "push", "deploy", "admin"]
    for role in order:
        answer = service.client(role).request(method, path, content=b"{}", headers=JSON)
        allowed = order.index(role) >= order.index(needed) or (needed == "read" and role is None)
        assert (answer.status_code not in (401, 403)) == allowed, (role, answer.status_code)


def test_without_a_token_nothing_is_shown_where_the_operator_said_so(strict):
    for path in ("/api/v1/jobs", "/metrics", "/", "/checks/1"):
        assert httpx.get(strict.url + path).status_code == 401
    page = httpx.get(strict.url + "/", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/login")
    assert httpx.get(strict.url + "/livez").status_code == 200
    wrong = httpx.post(f"{strict.url}/login", data={"token": "compat_x_y"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    right = httpx.post(f"{strict.url}/login", data={"token": strict.tokens["read"]})
    assert right.status_code == 303
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert httpx.get(f"{strict.url}/api/v1/jobs", headers={"Cookie": cookie.partition(";")[0]}).status_code == 200
    out = httpx.post(f"{strict.url}/logout", headers={"Origin": strict.url})
    assert (out.status_code, "Max-Age=0" in out.headers["set-cookie"]) == (303, True)


# What every answer carries.


@pytest.mark.parametrize(
    "path", ["/", "/login", "/livez", "/metrics", "/api/v1/jobs", "/api/v1/none", "/none", "/static/none"]
)
def test_every_answer_has_a_strict_policy(service, path):
    answer = httpx.get(service.url + path)
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "server" not in answer.headers


def test_the_policy_runs_nothing_inline():
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY
    assert "http" not in CONTENT_SECURITY_POLICY
