"""Exit code 2 and a sentence of ours for whatever nobody foresaw: 1 means findings, and a traceback says nothing to a user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import faults, main

ROOT = Path(__file__).parents[3]
V1, V2 = (str(ROOT / "compat" / "examples" / "word_count" / name) for name in ("v1.py", "v2.py"))


def compat(*arguments, **env):
    return CliRunner().invoke(main, [str(one) for one in arguments], env=env)


def undecided(result, says=""):
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    assert says in " ".join(result.output.split())
    assert len(result.output) < 60_000
    return True


@pytest.mark.parametrize("command", [("check", V1, V2), ("plan", V1), ("explain", V1, V2, "count")])
@pytest.mark.parametrize("seconds", ["inf", "nan", "-1", "0", "1e300"])
def test_a_time_that_no_clock_has_is_wrong_usage(command, seconds):
    undecided(compat(*command, "--timeout", seconds), "not a number of seconds above 0")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ('baseline = "a\\u0000b"', "the character NUL"),
        ('output = "json=a\\u0000b"', "the character NUL"),
        ('classpath = "a\\u0000b"', "the character NUL"),
        ('pyflink = "a\\u0000b"', "the character NUL"),
        ("timeout = inf", "a number of seconds above 0"),
        ('baseline = "/dev/zero"', "a device, not a file"),
        (f'baseline = "{"b" * 5000}"', "File name too long"),
        (f'fail-on = "{"x" * 1_000_000}"', "characters more"),
        (f"{'k' * 1_000_000} = 1", "is not a setting"),
        (f'timeout = "{"9" * 1_000_000}"', "characters more"),
        (f"ignore = [{'[' * 20_000}{']' * 20_000}]", "nested too deeply"),
    ],
    ids=range(11),
)
def test_settings_that_cannot_be_used(tmp_path, monkeypatch, settings, says):
    (tmp_path / "compat.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    undecided(compat("check", V1, V2), says)


def test_settings_that_are_a_device_or_a_pipe_are_not_read(tmp_path, monkeypatch):
    (tmp_path / "compat.toml").symlink_to("/dev/zero")
    monkeypatch.chdir(tmp_path)
    assert compat("check", V1, V2).exit_code == 1  # no file: no settings


@pytest.mark.parametrize("ending", [".py", ".json", ".jar", ".sql", ""])
def test_a_pipe_as_a_program_is_not_waited_for(tmp_path, ending):
    pipe = tmp_path / f"job{ending}"
    os.mkfifo(pipe)
    started = time.monotonic()
    for arguments in (("check", pipe, V2), ("check", V1, pipe), ("plan", pipe)):
        undecided(compat(*arguments, "--timeout", "5"), "a named pipe, not a file")
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("option", ["--baseline", "--pairs", "--token-file"])
def test_a_pipe_as_an_option_is_not_waited_for(tmp_path, option):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    files = () if option == "--pairs" else (V1,) if option == "--token-file" else (V1, V2)
    more = ("--server", "http://127.0.0.1:1", "--job", "x") if option == "--token-file" else ()
    undecided(compat("check", *files, option, pipe, *more))


@pytest.mark.parametrize("name", ["a" * 5000, "a" * 5000 + ".py", "a/" * 3000 + "job.json", "git:HEAD:" + "a" * 5000])
def test_a_name_that_is_too_long(name):
    undecided(compat("check", V1, name))
    undecided(compat("check", name, V1))
    undecided(compat("inspect", name))
    undecided(compat("check", V1, V2, "--baseline", name))


@pytest.mark.parametrize(
    "plan",
    [
        {"format": 1, "error": {}},
        {"format": 1, "error": []},
        {"format": 1},
        {"format": 1, "operators": None, "job_graph": {}},
        [1],
        None,
    ],
)
def test_a_plan_that_is_none(tmp_path, plan):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    for arguments in (("check", V1, path), ("check", path, V1), ("plan", path)):
        undecided(compat(*arguments))


PROGRAMS = {
    "an endless text": "raise ValueError('x' * 50_000_000)",
    "a text that cannot be told": "class E(Exception):\n    def __str__(self): raise KeyError(1)\nraise E()",
    "an exit with much to say": "import sys; sys.exit('x' * 50_000_000)",
    "an endless line": "x = '" + "y" * 3_000_000 + "'; 1 / 0",
    "much on stderr": "import sys, os; sys.stderr.write('x' * 50_000_000); os._exit(3)",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_a_program_says_is_bounded(tmp_path, program):
    path = tmp_path / "job.py"
    path.write_text(program)
    result = compat("check", V1, path)
    assert result.exit_code == 2
    assert len(result.output) < 50_000


FORGED = (
    b"[" * 100_000,
    b'{"jobs":[{"plan":' + b'{"a":' * 50_000,
    b"null",
    b'{"jobs":[{}]}',
    b'{"jobs":[{"plan":{"format":1}}]}',
    b'{"jobs":"x"}\n',
    b"\xff\xfe",
)


@pytest.mark.parametrize("forged", FORGED, ids=range(len(FORGED)))
def test_a_result_that_a_program_forged_decides_nothing(tmp_path, forged):
    path = tmp_path / "job.py"
    text = "import os\nfor fd in range(3, 60):\n    try: os.write(fd, FORGED)\n    except OSError: pass\nos._exit(0)\n"
    path.write_text(text.replace("FORGED", repr(forged)))
    undecided(compat("check", V1, path))


@pytest.fixture
def answering():
    """Starts servers that answer everything with one text."""
    servers = []

    def start(body, status=200, media="application/json"):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(status)
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(body)))
                if status in (301, 302, 307):
                    self.send_header("Location", "http://127.0.0.1:1/login")
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815 - as the class above calls it

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


ANSWERS = [
    (b"<html>Welcome to our wireless</html>", 200),
    (b"{}", 200),
    (b"[]", 200),
    (b"null", 200),
    (b'"x"', 200),
    (b'{"number": "one", "label": 1}', 200),
    (b'{"number": -1, "job": "x", "label": "x"}', 200),
    (b'{"number": 1e400}', 200),
    (b'{"promotion": {"job": "x"}}', 200),
    (b'{"check": {"id": "x"}, "report": []}', 409),
    (b'{"check": 1}', 409),
    (b'{"detail": ' + b"[" * 5000 + b"}", 500),
    (b"[" * 100_000, 200),
    (b"[" * 100_000, 403),
    (b"\xff\xfe", 200),
    (b"", 204),
    (b"", 302),
    (b'{"detail": "' + b"x" * 1_000_000 + b'"}', 400),
]


@pytest.mark.parametrize(("body", "status"), ANSWERS, ids=range(len(ANSWERS)))
def test_a_server_that_is_another_one(answering, body, status):
    url = answering(body, status)
    for arguments in (("push", "--job", "x", V1), ("promote", "--job", "x"), ("check", "--job", "x", V1)):
        undecided(compat(*arguments, COMPAT_SERVER=url, COMPAT_TOKEN="compat_a_b"))


@pytest.mark.parametrize(
    "url", ["http://[evil", "http://a:b:c", "http://127.0.0.1:99999", "http://:80", "x", "http://"]
)
def test_an_address_that_is_none(url):
    undecided(compat("promote", "--job", "x", "--server", url), "is not an address")


def test_a_mistake_of_ours_says_so(monkeypatch):
    def broken(*_, **__):
        raise KeyError("vertex\x1b[2J" + "x" * 5000)

    monkeypatch.setattr("compat.cli.check.compare", broken)
    result = compat("check", V1, V2)
    undecided(result, "This is a bug of compat, not a mistake of yours: KeyError")
    assert "\x1b" not in result.output
    assert "compat/cli/check.py" in result.output or "test_faults.py" in result.output
    assert "Traceback" in compat("check", V1, V2, COMPAT_TRACEBACK="1").output


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(13, "Permission denied", "/x"), "/x: Permission denied. Nothing was decided."),
        (OSError(36, "File name too long", "a" * 5000), "File name too long"),
        (MemoryError(), "not enough memory"),
        (RecursionError("deep"), "a bug of compat"),
        (BrokenPipeError(32, "Broken pipe"), ""),
    ],
)
def test_what_is_said(monkeypatch, error, says):
    assert says in faults.sentence(error)
    assert len(faults.sentence(error)) < 1000


def test_ctrl_c_is_no_finding(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("compat.cli.check.compare", interrupted)
    assert compat("check", V1, V2).exit_code == 130


def test_a_reader_that_leaves_is_no_finding():
    command = [sys.executable, "-P", "-m", "compat", "rules"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait(60) == 2
    assert "Traceback" not in said


LEAVES = """
import os, sys, time
def left():
    try:
        os.setsid()
    except OSError:
        pass
    open(MARK + str(os.getpid()), "w").close()
    os.close(1), os.close(2)
    time.sleep(600)
    os._exit(0)
for detached in (False, True):
    pid = os.fork()
    if pid == 0:
        if detached and os.fork() == 0:
            left()
        if not detached:
            left()
        os._exit(0)
    if detached:
        os.waitpid(pid, 0)
while len(os.listdir(os.path.dirname(MARK))) < 2:
    time.sleep(0.01)
exec(open(PROGRAM).read())
"""


def test_processes_that_a_program_leaves_behind_end_with_the_check(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    path = tmp_path / "job.py"
    path.write_text(LEAVES.replace("MARK", repr(f"{marks}/")).replace("PROGRAM", repr(V1)))
    started = time.monotonic()
    result = compat("check", V1, path, "--timeout", "60")
    assert result.exit_code in (0, 1), result.output  # its plan is there, though a process keeps the pipe
    assert time.monotonic() - started < 30
    pids = [int(mark.name) for mark in marks.iterdir()]
    assert len(pids) >= 2
    end = time.monotonic() + 5
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < end, pids
        time.sleep(0.05)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
