"""Programs that the service builds itself: only where its operator allows it, and confined to their own folder."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from compat.service.building.build import require_confinement
from compat.service.building.confinement import CannotConfine
from tests import needs
from tests.compat.service.running import OLD, serve
from tests.compat.service.test_gate import V1, compat
from tests.needs import Need

try:
    require_confinement()
    WHY = ""
except CannotConfine as error:
    WHY = str(error.strerror)

confined = needs.unless(not WHY, Need.CONFINEMENT)

JOB = """
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(["a"]).map(lambda word: word).print()
env.execute("job")
"""


@pytest.fixture(scope="module")
def building(tmp_path_factory):
    running = serve(tmp_path_factory.mktemp("building"), "--allow-programs")
    yield running
    running.stop()


def sent(service, job, source, **more):
    body = {"program": "job.py", "files": {"job.py": source}, **more}
    return service.client("push").post(f"/jobs/{job}/programs", json=body)


def test_a_service_builds_nothing_by_itself(service, job):
    answer = sent(service, job, JOB)
    assert (answer.status_code, "--allow-programs" in answer.json()["detail"]) == (403, True)
    assert service.client("read").post(f"/jobs/{job}/programs", json={}).status_code == 403


@confined
def test_the_plan_is_the_one_that_the_client_would_have_made(building, job):
    mine = compat(building, "push", "--job", job, V1, "--commit", "a")
    theirs = compat(building, "push", "--job", job, V1, "--program", "--commit", "b")
    assert (mine.exit_code, theirs.exit_code) == (0, 0), theirs.output
    second, first = building.client().get(f"/jobs/{job}/versions").json()["versions"]
    assert (first["built"], second["built"]) == (False, True)
    assert first["plan"]["program"] == second["plan"]["program"]
    assert first["plan"]["operators"] == second["plan"]["operators"]
    for number, told in ((1, "built by who pushed it"), (2, "built by this service")):
        assert told in httpx.get(f"{building.url}/jobs/{job}/versions/{number}").text


TRIED = """
import os, socket
tried = {{}}
def attempt(name, act):
    try:
        act()
    except OSError as error:
        tried[name] = type(error).__name__
    else:
        tried[name] = "done"
attempt("read the database", lambda: open({database!r}, "rb").read())
attempt("read its own folder", lambda: open("job.py").read())
attempt("write there", lambda: open("mine", "w").write("x"))
attempt("write elsewhere", lambda: open({elsewhere!r}, "w").write("x"))
attempt("list a folder", lambda: os.listdir({folder!r}))
attempt("reach the service", lambda: socket.create_connection(("127.0.0.1", {port}), 2))
attempt("send to somebody", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {port})))
attempt("see the server's environment", lambda: open("/proc/{server}/environ").read())
attempt("end the server", lambda: os.kill({server}, 9))
raise SystemExit("tried " + " ".join(f"{{name}}={{what}};" for name, what in tried.items()) + str(sorted(os.environ)))
"""


@confined
def test_a_program_reaches_nothing_but_its_own_folder(building, job, tmp_path):
    database = building.database.removeprefix("sqlite:///")
    given = {
        "database": database,
        "elsewhere": str(tmp_path / "written"),
        "folder": os.path.dirname(database),
        "port": int(building.url.rpartition(":")[2]),
        "server": building.process.pid,
    }
    answer = sent(building, job, TRIED.format(**given))
    told = answer.json()["detail"]
    assert answer.status_code == 422, told
    for allowed in ("read its own folder", "write there"):
        assert f"{allowed}=done;" in told
    for refused in ("read the database", "write elsewhere", "list a folder", "reach the service", "send to somebody",
                    "see the server's environment", "end the server"):  # fmt: skip
        assert f"{refused}=" in told
        assert f"{refused}=done;" not in told
    assert "COMPAT" not in told
    assert not Path(given["elsewhere"]).exists()
    assert building.client().get("/jobs").status_code == 200


@confined
@pytest.mark.parametrize(
    "body",
    [
        {"program": "../job.py", "files": {"../job.py": JOB}},
        {"program": "/job.py", "files": {"/job.py": JOB}},
        {"program": "job.py", "files": {"other.py": JOB}},
        {"program": "job.jar", "files": {"job.jar": JOB}},
        {"program": "job.py", "files": {"job.py": JOB, "a": "x", "a/b": "y"}},
        {"program": "job.py", "files": {"job.py": 1}},
        {"program": "job.py", "files": {"job.py": JOB}, "arguments": [1]},
        {"program": "job.py", "files": {"job.py": JOB}, "more": 1},
        {"program": "job.py", "files": {"job.py": "raise ValueError('no job')"}},
        {"program": "job.py", "files": {"job.py": "x = 1"}},
    ],
)
def test_what_is_no_program_is_refused(building, job, body):
    answer = building.client("push").post(f"/jobs/{job}/programs", json=body)
    assert answer.status_code in (400, 422), answer.text


@confined
def test_a_program_gets_no_more_memory_than_it_may(building, job):
    assert sent(building, job, "held = bytearray(8 * 1024**3)").status_code in (413, 422)
    assert building.push(job, *OLD).status_code == 201
