"""Savepoints in the operator's folders: found, read, checked against; nothing outside of the folders is."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import delete

from compat.service import discovery
from compat.service.admission.judgement import Outcome, judge
from compat.service.admission.reviews import read_review
from compat.service.database import Database
from compat.service.database.tables import savepoints
from compat.service.pages import contents
from compat.service.pages.rendering import render
from compat.service.records import savepoint_json
from compat.service.registry import Registry
from compat.service.registry.packing import unpack
from compat.service.settings import Folder
from compat.state.flink import read_metadata
from compat.state.stores.paths import place_of
from tests.compat.service.reviews import deployment, encoded, review
from tests.compat.service.running import OLD, RENUMBERED, plan, serve

GOLDEN = Path(__file__).parents[2] / "golden" / "savepoints"
FLINK = sorted(path.parent for path in GOLDEN.rglob("_metadata"))[0]


def write_snapshot(folder: Path, *names: str, description: object = None, job: bool = False) -> Path:
    """Write what a job on Spark leaves behind: a savepoint, or the job's own directory."""
    (folder / "state" / "_delta_log" if job else folder / "_delta_log").mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(plan(*names)))
    told = (
        {"job_id": "0" * 32, "job_name": "counts", "name": "counts", "epoch": 7} if description is None else description
    )
    (folder / ("job.json" if job else "_savepoint.json")).write_text(json.dumps(told))
    return folder


def found(folder: Path, job: str | None = None) -> dict[str, discovery.Place]:
    real = os.path.realpath(folder)
    return {os.path.relpath(place.path, real): place for place in discovery.places(Folder(real, job))}


def test_snapshots_of_every_kind_are_found(tmp_path):
    shutil.copytree(FLINK, tmp_path / "flink" / "savepoint-1")
    write_snapshot(tmp_path / "delta" / "savepoint-2", *OLD)
    write_snapshot(tmp_path / "delta" / "jobs" / "j", *OLD, job=True)
    (tmp_path / "empty").mkdir()
    kinds = {path: place.kind for path, place in found(tmp_path).items()}
    assert kinds == {
        "flink/savepoint-1": discovery.FLINK,
        "delta/savepoint-2": discovery.DELTA_SAVEPOINT,
        "delta/jobs/j": discovery.DELTA_JOB,
    }


def test_a_savepoint_of_flink_has_the_digest_that_a_migration_tells(tmp_path):
    shutil.copytree(FLINK, tmp_path / "savepoint-1")
    (place,) = found(tmp_path).values()
    kept = json.loads(unpack(discovery.read(place).inspection))["digest"]
    assert kept == read_metadata(FLINK).digest == f"sha256:{sha256((FLINK / '_metadata').read_bytes()).hexdigest()}"


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    shutil.copytree(FLINK, outside / "flink")
    write_snapshot(outside / "delta", *OLD)
    write_snapshot(outside / "job", *OLD, job=True)
    inside.mkdir()
    (inside / "folder").symlink_to(outside / "flink")
    for name, target in (
        ("_metadata", outside / "flink" / "_metadata"),
        ("_savepoint.json", outside / "delta" / "_savepoint.json"),
    ):
        (inside / name.strip("_")).mkdir()
        (inside / name.strip("_") / name).symlink_to(target)
    (inside / "job").mkdir()
    shutil.copy(outside / "job" / "job.json", inside / "job")
    (inside / "job" / "state").symlink_to(outside / "job" / "state")
    assert found(inside) == {}


def test_a_plan_behind_a_link_is_not_read(tmp_path):
    folder = write_snapshot(tmp_path / "savepoint", *OLD)
    (folder / "plan.json").rename(tmp_path / "plan.json")
    (folder / "plan.json").symlink_to(tmp_path / "plan.json")
    [place] = found(tmp_path).values()
    assert discovery.read(place).status == "unreadable"


def test_a_loop_of_links_and_a_deep_tree_end(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path)
    deep = tmp_path.joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    shutil.copy(FLINK / "_metadata", deep)
    assert found(tmp_path) == {}


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "[" * 100_000, "\xff"])
def test_what_cannot_be_read_says_why(tmp_path, text):
    folder = write_snapshot(tmp_path / "savepoint", *OLD)
    (folder / "_savepoint.json").write_text(text, encoding="latin-1")
    [place] = found(tmp_path).values()
    seen = discovery.read(place)
    assert (seen.status, seen.inspection) == ("unreadable", None)
    assert "_savepoint.json" in seen.error


def test_what_is_nested_too_deeply_says_so(tmp_path):
    write_snapshot(tmp_path / "savepoint", *OLD, description={"job_id": "0" * 32, "metrics": nested(600)})
    [place] = found(tmp_path).values()
    assert discovery.read(place).status == "unreadable"
    assert "it is nested too deeply" in discovery.read(place).error


def nested(depth: int) -> list[object]:
    made: list[object] = []
    for _ in range(depth):
        made = [made]
    return made


def test_a_cut_off_flink_savepoint_says_why(tmp_path):
    (tmp_path / "savepoint").mkdir()
    (tmp_path / "savepoint" / "_metadata").write_bytes((FLINK / "_metadata").read_bytes()[:100])
    [place] = found(tmp_path).values()
    assert discovery.read(place).status == "unreadable"


def test_a_name_that_is_no_text_is_shown_as_far_as_it_is(tmp_path):
    folder = write_snapshot(tmp_path / "savepoint", *OLD)
    os.rename(os.fsencode(folder), os.fsencode(tmp_path) + b"/\xff\xfe")
    [place] = found(tmp_path).values()
    assert place.path.encode("utf-8")


@pytest.mark.parametrize("name", ["_savepoint.json", "plan.json", "_metadata", "job.json"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path, name):
    folder = tmp_path / "snapshot"
    if name == "_metadata":
        shutil.copytree(FLINK, folder)
    else:
        write_snapshot(folder, *OLD, job=name == "job.json")
    [place] = found(tmp_path).values()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    seen = discovery.read(place)
    assert seen.status == "unreadable"
    assert "no file `_metadata`" in seen.error or "a named pipe, not a file" in seen.error


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats() | st.text(st.characters(), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["operators", "job_name", "name", "epoch", "states", "metrics", "checkpoints", "id", "totals"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(told=ODD, plan_told=ODD, job=st.booleans())
def test_whatever_stands_in_a_description_is_kept_and_shown(registry, told, plan_told, job):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "snapshot"
        write_snapshot(folder, *OLD, job=job)
        (folder / ("job.json" if job else "_savepoint.json")).write_text(json.dumps(told))
        (folder / "plan.json").write_text(json.dumps(plan_told))
        [place] = found(Path(name)).values()
        seen = discovery.read(place)
    registry.savepoints.put(seen)
    kept = registry.savepoints.get(seen.id)
    assert savepoint_json(kept)["status"] in ("ok", "unreadable")
    inside = {} if seen.inspection is None else registry.savepoints.inspection(seen.id)
    told_inside = {
        "facts": contents.facts(inside),
        "operators": contents.operators(inside),
        "metrics": contents.metrics(inside),
    }
    if job:
        render("running.html", job=kept, history=None, seconds=5, **told_inside)
        render("runnings.html", jobs=[kept], folders=(), seconds=5)
    else:
        render("savepoint.html", savepoint=kept, missing=contents.missing(inside), **told_inside)
        render("savepoints.html", savepoints=[kept], folders=())


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    made = Registry(Database(f"sqlite:///{tmp_path_factory.mktemp('registry')}/compat.db"))
    made.database.migrate()
    yield made
    made.database.close()


@pytest.mark.parametrize("at", [1e12, -1e12, 1e300, float("inf"), 253402300800.0])
def test_times_that_no_calendar_has_break_no_page(watched, at):
    running, _ = watched
    [place, *_] = discovery.places(Folder(str(watched[1])))
    seen = discovery.unreadable(replace(place, id="f" * 32, path="/far/off", modified_at=at), "odd")
    running.registry.savepoints.put(seen)
    try:
        for state in ("there", "gone"):
            if state == "gone":
                running.registry.savepoints.gone([seen.id])
            listed = running.client("read").get("/savepoints")
            assert listed.status_code == 200
            [one] = [each for each in listed.json()["savepoints"] if each["id"] == seen.id]
            assert one["modified_at"] is None
            for address in ("/", "/savepoints", f"/savepoints/{seen.id}", "/jobs/counts"):
                page = httpx.get(running.url + address)
                assert page.status_code == 200, page.text
            assert "no date" in httpx.get(f"{running.url}/savepoints").text
    finally:
        with running.registry.database.write() as connection:
            connection.execute(delete(savepoints).where(savepoints.c.id == seen.id))


def test_what_a_snapshot_says(tmp_path):
    write_snapshot(tmp_path / "savepoint", *OLD)
    [place] = found(tmp_path).values()
    seen = discovery.read(place)
    assert (seen.job, seen.checkpoint, seen.operators) == ("counts", 7, len(plan(*OLD)["operators"]))
    assert json.loads(unpack(seen.inspection))["plan"] == plan(*OLD)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A service that watches a folder with a savepoint of Flink and one of ours."""
    folder = tmp_path_factory.mktemp("savepoints")
    shutil.copytree(FLINK, folder / "flink")
    write_snapshot(folder / "delta", *OLD)
    running = serve(tmp_path_factory.mktemp("watched"), "--folder", f"counts={folder}", "--scan-interval", "3600")
    running.client().post("/savepoints/scan").raise_for_status()
    yield running, folder
    running.stop()


def ids(running):
    listed = running.client("read").get("/savepoints").json()["savepoints"]
    return {Path(one["path"]).name: one for one in listed}


def test_savepoints_are_listed_and_inspected(watched):
    running, _ = watched
    listed = ids(running)
    there = {name: one for name, one in listed.items() if one["status"] != "gone"}  # other tests had some, for a while
    assert {name: (one["kind"], one["status"], one["job"]) for name, one in there.items()} == {
        "flink": ("flink", "ok", "counts"),
        "delta": ("delta-savepoint", "ok", "counts"),
    }
    client = running.client("read")
    flink = client.get(f"/savepoints/{listed['flink']['id']}/inspection").json()
    assert len(flink["operators"]) == listed["flink"]["operators"]
    assert client.get(f"/savepoints/{listed['delta']['id']}").json() == listed["delta"]
    assert client.get("/savepoints", params={"job": "others"}).json() == {"savepoints": []}


def test_a_plan_is_checked_against_savepoints(watched):
    running, _ = watched
    listed = ids(running)

    def verdict(name, *operators):
        sides = {"old": {"savepoint": listed[name]["id"]}, "new": {"plan": plan(*operators)}}
        answer = running.client("read").post("/checks", json={**sides, "record": False})
        assert answer.status_code == 200, answer.text
        return answer.json()["report"]

    assert verdict("delta", *OLD)["verdict"] == "compatible"
    assert verdict("delta", *RENUMBERED)["verdict"] == "incompatible"
    report = verdict("flink", *OLD)
    assert (report["verdict"], report["old"]["kind"]) == ("incompatible", "savepoint")
    assert "CMP101" in {finding["rule"] for finding in report["findings"]}


def test_a_check_against_a_savepoint_is_kept_with_its_job(watched):
    running, _ = watched
    running.push("counts", *OLD)
    sides = {"old": {"savepoint": ids(running)["delta"]["id"]}, "new": {"plan": plan(*OLD)}}
    check = running.client("push").post("/checks", json=sides).json()["check"]
    assert (check["job"], check["old"]["kind"]) == ("counts", "savepoint")


def test_a_savepoint_cannot_be_new(watched):
    running, _ = watched
    sides = {"old": {"plan": plan(*OLD)}, "new": {"savepoint": ids(running)["delta"]["id"]}}
    assert running.client("push").post("/checks", json=sides).status_code == 422


def test_what_comes_and_goes_is_noticed(watched):
    running, folder = watched
    write_snapshot(folder / "late", *OLD)
    assert running.client().post("/savepoints/scan").json() == {"savepoints": 3}
    shutil.rmtree(folder / "late")
    assert running.client().post("/savepoints/scan").json() == {"savepoints": 2}
    late = ids(running)["late"]
    assert late["status"] == "gone"
    sides = {"old": {"savepoint": late["id"]}, "new": {"plan": plan(*OLD)}}
    assert running.client("push").post("/checks", json=sides).status_code == 404


def test_a_savepoint_that_became_a_link_is_not_followed(watched, tmp_path):
    running, folder = watched
    shutil.copytree(FLINK, tmp_path / "secret")
    shutil.copytree(FLINK, folder / "swapped")
    running.client().post("/savepoints/scan")
    id = ids(running)["swapped"]["id"]
    shutil.rmtree(folder / "swapped")
    (folder / "swapped").symlink_to(tmp_path / "secret")
    sides = {"old": {"savepoint": id}, "new": {"plan": plan(*OLD)}, "record": False}
    report = running.client("read").post("/checks", json=sides).json()["report"]
    assert report["verdict"] == "unknown"
    assert "symbolic link" in report["failures"][0]["message"]
    (folder / "swapped").unlink()
    running.client().post("/savepoints/scan")


def test_savepoints_on_an_object_store_are_found_checked_and_judged(s3, tmp_path_factory):
    """The webhook answers for a resource that starts from one, by whichever name Flink has for S3."""
    bucket = place_of(s3) / "watched"
    for file in FLINK.iterdir():
        (bucket / "flink" / "savepoint-1" / file.name).write(file.read_bytes())
    local = write_snapshot(tmp_path_factory.mktemp("written") / "delta", *OLD)
    for name in ("plan.json", "_savepoint.json"):
        (bucket / "delta" / name).write((local / name).read_bytes())
    running = serve(tmp_path_factory.mktemp("watched"), "--folder", f"{bucket}", "--scan-interval", "3600")
    try:
        assert running.client().post("/savepoints/scan").json() == {"savepoints": 2}
        listed = ids(running)
        assert {name: (one["kind"], one["status"]) for name, one in listed.items()} == {
            "savepoint-1": ("flink", "ok"),
            "delta": ("delta-savepoint", "ok"),
        }
        assert httpx.get(f"{running.url}/savepoints/{listed['savepoint-1']['id']}").status_code == 200
        assert httpx.get(f"{running.url}/savepoints/{listed['delta']['id']}").status_code == 200
        running.push("counts", *OLD)
        for name, ending, outcome in (("savepoint-1", "/_metadata", Outcome.DENIED), ("delta", "/", Outcome.ALLOWED)):
            sides = {"old": {"savepoint": listed[name]["id"]}, "new": {"job": "counts", "version": 1}}
            asked = {**sides, "options": {"flink": plan(*OLD)["flink"]}}
            assert running.client("push").post("/checks", json=asked).status_code == 201
            for spelling in ("s3", "s3a", "s3p"):
                path = listed[name]["path"].replace("s3:", f"{spelling}:") + ending
                new = deployment(job="counts", version="1", initialSavepointPath=path)
                assert judge(running.registry, read_review(encoded(review(new)))).outcome is outcome
    finally:
        running.stop()
